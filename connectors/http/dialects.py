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

    def turns(self, body: Body) -> tuple[Turn, ...]:
        """The user's turns, in order; notes that the agent wrote are left out."""
        given = body.get(self.key)
        if isinstance(given, str):
            return tuple(_turn(0, given))
        if not isinstance(given, list):
            return ()
        users = ((at, m) for at, m in enumerate(given) if isinstance(m, dict) and m.get("role") == "user")
        return tuple(turn for at, message in users for turn in _turn(at, self._text(message.get("content"))))

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


def _turn(place: int, text: str) -> Iterator[Turn]:
    said = NOTES.sub("", text).strip()
    if said:
        yield Turn(place, said)


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
RESPONSES = Dialect("/v1/responses", "input", "input_text", _ask_responses, _responses_answer)
MESSAGES = Dialect("/v1/messages", "messages", "text", _ask_messages, _messages_answer)
DIALECTS = (CHAT, RESPONSES, MESSAGES)
