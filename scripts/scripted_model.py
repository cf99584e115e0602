"""A model server that follows a script: it calls pick_context once, and keeps what the client hands back.

It speaks the four APIs that coding agents use (OpenAI chat completions and responses, Anthropic messages,
Gemini generateContent), and knows of each where tools are declared, where results of tools stand, and how
a call and a text are said. A tool is called by the very name under which the client declares it. Where a
client keeps tools behind a search, the search is called first.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Body = dict[str, Any]
Event = tuple[str, Body]

WANTED = "pick_context"
SEARCH = re.compile("tool_?search", re.IGNORECASE)
HIDDEN = re.compile(rf"\bmcp_\w*{WANTED}\b")
"""How a search names our tool where it stays undeclared, and is called through `tool_call`."""
MOST_CALLS = 4
"""Calls of tools in one conversation: a client that loses them would be asked for ever."""
DONE = "The skill has arrived."


@dataclass(frozen=True)
class Tool:
    """A tool as the client declares it."""

    name: str
    namespace: str = ""


@dataclass(frozen=True)
class Say:
    """What the model says next: a call of a tool, or a text."""

    tool: Tool | None = None
    arguments: Body | None = None
    number: int = 0

    @property
    def call_id(self) -> str:
        """Differs from call to call of a conversation."""
        return f"call_{self.number}"


def declared(tools: Any, namespace: str = "") -> Iterator[Tool]:
    """Every tool of a request, in whichever form its API declares them."""
    for tool in tools or ():
        if tool.get("type") == "namespace":
            yield from declared(tool.get("tools"), tool["name"])
        elif "functionDeclarations" in tool:
            yield from declared(tool["functionDeclarations"])
        elif name := (tool.get("function") or tool).get("name"):
            yield Tool(name, namespace)


def decide(tools: list[Tool], results: list[Any], request: str) -> Say:
    """The next thing to say, from what the client declares and what its tools have answered so far."""
    number = len(results)
    arrived = any("UNTRUSTED-" in text for text in texts(results))
    by_name = {tool.name: tool for tool in tools}
    wanted = next((tool for name, tool in by_name.items() if name.endswith(WANTED)), None)
    search = next((tool for name, tool in by_name.items() if SEARCH.search(name)), None)
    if arrived or number >= MOST_CALLS:
        return Say()
    if wanted is not None:
        return Say(wanted, {"request": request}, number)
    if (hidden := hidden_name(results)) and (through := by_name.get("tool_call")):
        return Say(through, {"name": hidden, "arguments": {"request": request}}, number)
    if search is not None:
        return Say(search, {"query": WANTED}, number)
    return Say()


def hidden_name(results: list[Any]) -> str | None:
    """Our tool's name in what a search has found."""
    return next((found[0] for text in texts(results) if (found := HIDDEN.search(text))), None)


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, and what stands in JSON inside of texts, which clients put words around."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value
        for start in re.finditer(r"^[\[{]", value, re.MULTILINE):
            try:
                inner, _ = json.JSONDecoder().raw_decode(value, start.start())
            except ValueError:
                continue
            yield from texts(inner)


# The four APIs.


def _content_parts(body: Body, kind: str) -> Iterator[Body]:
    for message in body.get("messages", ()):
        content = message.get("content")
        yield from (part for part in content if part.get("type") == kind) if isinstance(content, list) else ()


def messages_results(body: Body) -> list[Any]:
    """Anthropic: results stand in the user's messages."""
    return [part.get("content") for part in _content_parts(body, "tool_result")]


def messages_answer(body: Body, say: Say) -> tuple[Body, list[Event]]:
    """Anthropic: a whole message, and the events of the same."""
    if say.tool:
        block = {
            "type": "tool_use",
            "id": f"toolu_{say.number}",
            "name": say.tool.name,
            "input": say.arguments,
        }
        opened = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(say.arguments)}
    else:
        block = {"type": "text", "text": DONE}
        opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": DONE}
    reason = "tool_use" if say.tool else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "usage": usage}
    parts = [
        ("message_start", {"message": {**whole, "content": [], "stop_reason": None, "stop_sequence": None}}),
        ("content_block_start", {"index": 0, "content_block": opened}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}),
        ("message_stop", {}),
    ]
    return (
        {**whole, "content": [block], "stop_reason": reason, "stop_sequence": None},
        [(name, {"type": name, **part}) for name, part in parts],
    )


def responses_results(body: Body) -> list[Any]:
    """OpenAI responses: results are items of the input."""
    items = body.get("input")
    items = items if isinstance(items, list) else []
    return [item.get("output") for item in items if item.get("type") == "function_call_output"]


def responses_answer(body: Body, say: Say) -> tuple[Body, list[Event]]:
    """OpenAI responses: one item of output."""
    item: Body
    if say.tool:
        item = {"type": "function_call", "name": say.tool.name, "arguments": json.dumps(say.arguments)}
        item |= {"namespace": say.tool.namespace} if say.tool.namespace else {}
    else:
        text = {"type": "output_text", "text": DONE, "annotations": []}
        item = {"type": "message", "role": "assistant", "content": [text]}
    item |= {"id": f"item_{say.number}", "status": "completed"}
    item |= {"call_id": say.call_id} if say.tool else {}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "fake",
        "output": [item],
        "usage": usage,
    }
    parts = [
        ("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": {**whole, "status": "completed"}}),
    ]
    events = [(name, {"type": name, "sequence_number": at, **part}) for at, (name, part) in enumerate(parts)]
    return {**whole, "status": "completed"}, events


def chat_results(body: Body) -> list[Any]:
    """OpenAI chat completions: results are messages of their own."""
    return [message.get("content") for message in body.get("messages", ()) if message.get("role") == "tool"]


def chat_answer(body: Body, say: Say) -> tuple[Body, list[Event]]:
    """OpenAI chat completions: a message, and the chunks of the same."""
    message: Body = {"role": "assistant", "content": DONE}
    if say.tool:
        function = {"name": say.tool.name, "arguments": json.dumps(say.arguments)}
        call = {"index": 0, "id": say.call_id, "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "tool_calls" if say.tool else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "c1", "created": 1, "model": "fake"}
    chunk = {**head, "object": "chat.completion.chunk"}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, [
        ("", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
    ]


def gemini_results(body: Body) -> list[Any]:
    """Gemini: results are parts of the contents."""
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    return [part["functionResponse"] for part in parts if "functionResponse" in part]


def gemini_answer(body: Body, say: Say) -> tuple[Body, list[Event]]:
    """Gemini: one candidate, whole or as the only event."""
    part: Body = {"text": DONE}
    if say.tool:
        part = {"functionCall": {"name": say.tool.name, "args": say.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = {"candidates": [candidate], "usageMetadata": usage}
    return whole, [("", whole)]


@dataclass(frozen=True)
class Api:
    """One API: the part of the path that tells it, and how it is read and spoken."""

    path: str
    results: Callable[[Body], list[Any]]
    answer: Callable[[Body, Say], tuple[Body, list[Event]]]


APIS = (
    Api("/messages", messages_results, messages_answer),
    Api("/responses", responses_results, responses_answer),
    Api("/chat/completions", chat_results, chat_answer),
    Api("enerateContent", gemini_results, gemini_answer),
)


class ScriptedModel(ThreadingHTTPServer):
    """Listens on a free port of this machine. With `keep`, every request is written into that folder."""

    daemon_threads = True

    def __init__(self, request: str, keep: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.request, self.keep = request, keep
        self.tools: dict[str, None] = {}
        """Names under which our tools were declared, in the order in which they were seen."""
        self.bodies: list[Body] = []
        """Every request, in order."""
        self.results: list[Any] = []
        """What the tools had answered by the longest conversation."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its base address, without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def hear(self, path: str, body: Body, api: Api) -> Say:
        """Remember what a client sent, and decide what it is told."""
        self.bodies.append(body)
        if self.keep is not None:
            kept = self.keep / f"{len(self.bodies):03}.json"
            kept.write_text(json.dumps({"path": path, **body}, indent=1))
        results = api.results(body)
        tools = list(declared(body.get("tools")))
        ours = [tool for tool in tools if tool.name.endswith((WANTED, "list_skills", "get_skill"))]
        self.tools |= dict.fromkeys(f"{t.namespace}.{t.name}" if t.namespace else t.name for t in ours)
        if (hidden := hidden_name(results)) and not ours:
            self.tools[f"{hidden} (behind a search)"] = None
        if len(results) > len(self.results):
            self.results = results
        return decide(tools, results, self.request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "fake", "object": "model", "created": 1}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        api = next((one for one in APIS if one.path in self.path), None)
        if api is None or "count_tokens" in self.path.lower() or "counttokens" in self.path.lower():
            self._send(json.dumps({"input_tokens": 10, "totalTokens": 10}))
            return
        whole, events = api.answer(body, self.server.hear(self.path, body, api))
        if not (body.get("stream") or "stream" in self.path):
            self._send(json.dumps(whole))
            return
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events
        ]
        end = "data: [DONE]\n\n" if api.path == "/chat/completions" else ""
        self._send("".join(lines) + end, "text/event-stream")

    def _send(self, text: str, kind: str = "application/json") -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
