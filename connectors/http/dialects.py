"""Dialects: where the three model APIs keep the user's turns, and how text is added to one.

All functions are pure. A body that does not look as its API says is left alone: the model host
answers for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["CHAT", "DIALECTS", "MESSAGES", "RESPONSES", "Body", "Dialect", "Turn"]

Body = dict[str, Any]
# What agents put into the user's messages on their own account; it is no part of what the user asked.
SYSTEM = ("system", "developer")
SHORTEST_REMINDER, LONGEST_REMINDER = 40, 20_000
"""Characters of an ending that may be the agent's: a shorter one may stand in a prompt by chance."""
MOST_GAPS = 200
"""Paragraphs at the end that are looked at: the search stays short for any text."""
NOTES = re.compile(
    r"<(system-reminder|environment_context|user_instructions|permissions instructions)>.*?</\1>", re.DOTALL
)


@dataclass(frozen=True)
class Turn:
    """One thing that the user said: its place in the list of messages, and the text."""

    place: int
    text: str


@dataclass(frozen=True)
class Dialect:
    """One API: its path, the key of its messages and the type of its text parts."""

    path: str
    key: str
    part: str
    question: Callable[[Body, str, Body], Body]
    """A call of the same API that asks one question, with the JSON schema of the answer."""
    answer: Callable[[Body], str]
    """The text of such a call's response."""
    prompt: str = ""
    """The key of a system prompt that stands beside the messages."""

    def turns(self, body: Body) -> tuple[Turn, ...]:
        """The user's turns, in order; notes that the agent wrote are left out."""
        given = body.get(self.key)
        if isinstance(given, str):
            return tuple(_turn(0, given, self._prompts(body)))
        if not isinstance(given, list):
            return ()
        prompts = self._prompts(body)
        users = ((at, m) for at, m in enumerate(given) if isinstance(m, dict) and m.get("role") == "user")
        return tuple(
            turn for at, message in users for turn in _turn(at, self._text(message.get("content")), prompts)
        )

    def _prompts(self, body: Body) -> str:
        given = body.get(self.key)
        messages = [m for m in given if isinstance(m, dict)] if isinstance(given, list) else []
        contents = [m.get("content") for m in messages if m.get("role") in SYSTEM]
        return "\n\n".join(map(self._text, [body.get(self.prompt), *contents]))

    def _text(self, content: Any) -> str:
        if isinstance(content, str):
            return content
        parts = content if isinstance(content, list) else []
        texts = [p.get("text") for p in parts if isinstance(p, dict) and p.get("type") == self.part]
        return "\n".join(text for text in texts if isinstance(text, str))

    def with_context(self, body: Body, context: dict[int, str]) -> Body:
        """The body with a text added to the messages at these places; nothing else changes."""
        given = body[self.key]
        if isinstance(given, str):
            return {**body, self.key: f"{given}\n\n{context[0]}"} if 0 in context else body
        messages = [
            self._added(message, context[at]) if at in context else message
            for at, message in enumerate(given)
        ]
        return {**body, self.key: messages}

    def _added(self, message: Body, text: str) -> Body:
        content = message["content"]
        if isinstance(content, str):
            return {**message, "content": f"{content}\n\n{text}"}
        return {**message, "content": [*content, {"type": self.part, "text": text}]}


def _turn(place: int, text: str, prompts: str) -> Iterator[Turn]:
    said = _without_reminder(NOTES.sub("", text).strip(), prompts)
    if said:
        yield Turn(place, said)


def _without_reminder(text: str, prompts: str) -> str:
    """The text without paragraphs at its end that stand in a system prompt word for word, as Aider adds."""
    gaps = list(re.finditer(r"\n\s*\n", text[-LONGEST_REMINDER:]))[-MOST_GAPS:]
    before = max(len(text) - LONGEST_REMINDER, 0)
    for gap in gaps:
        ending = text[before + gap.end() :]
        if len(ending) >= SHORTEST_REMINDER and ending in prompts:
            return text[: before + gap.start()].rstrip()
    return text


def _ask_chat(body: Body, question: str, schema: Body) -> Body:
    form = {"type": "json_schema", "json_schema": {"name": "choice", "strict": True, "schema": schema}}
    return {
        "model": body.get("model"),
        "messages": [{"role": "user", "content": question}],
        "response_format": form,
    }


def _ask_responses(body: Body, question: str, schema: Body) -> Body:
    form = {"type": "json_schema", "name": "choice", "strict": True, "schema": schema}
    return {"model": body.get("model"), "input": question, "text": {"format": form}, "store": False}


def _ask_messages(body: Body, question: str, schema: Body) -> Body:
    tool = {"name": "choice", "description": "Give the answer.", "input_schema": schema}
    return {
        "model": body.get("model"),
        "max_tokens": 100,
        "messages": [{"role": "user", "content": question}],
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": "choice"},
    }


def _chat_answer(response: Body) -> str:
    return str(response["choices"][0]["message"]["content"])


def _responses_answer(response: Body) -> str:
    messages = [item for item in response["output"] if item.get("type") == "message"]
    return str(messages[-1]["content"][0]["text"])


def _messages_answer(response: Body) -> str:
    return json.dumps(next(part["input"] for part in response["content"] if part.get("type") == "tool_use"))


CHAT = Dialect("/v1/chat/completions", "messages", "text", _ask_chat, _chat_answer)
RESPONSES = Dialect("/v1/responses", "input", "input_text", _ask_responses, _responses_answer, "instructions")
MESSAGES = Dialect("/v1/messages", "messages", "text", _ask_messages, _messages_answer, "system")
DIALECTS = (CHAT, RESPONSES, MESSAGES)
