"""Filtering: the model's answer without markers and secrets, as a whole or while it streams.

Only text that a person or an agent reads as the answer is looked at. Every other byte of an answer,
unknown events and fields among them, passes unchanged.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Filter", "OutputFilter", "filter_answer", "filter_body", "filter_events"]

Body = dict[str, Any]


class Filter(Protocol):
    """Redacts a text that comes in pieces."""

    def feed(self, text: str) -> str:
        """What can be given out by now."""

    def close(self) -> str:
        """The rest."""


@dataclass(frozen=True)
class OutputFilter:
    """How a text is redacted as a whole, and what redacts one that streams."""

    redact: Callable[[str], str]
    streaming: Callable[[], Filter]


def filter_body(content: bytes, redact: Callable[[str], str]) -> bytes:
    """The bytes of a whole answer, the same where nothing is redacted; what is no JSON is read as a text."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return redact(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    clean = filter_answer(body, redact)
    return content if clean == body else json.dumps(clean, ensure_ascii=False).encode("utf-8", "replace")


def filter_answer(body: Any, redact: Callable[[str], str]) -> Any:
    """A whole answer with its texts redacted; a body that is no answer is left alone."""
    if isinstance(body, list):
        return [filter_answer(item, redact) for item in body]
    if not isinstance(body, dict):
        return body
    return {key: _redacted(key, value, redact) for key, value in body.items()}


TEXT_KEYS = ("content", "text", "reasoning_content", "thinking", "refusal")


def _redacted(key: str, value: Any, redact: Callable[[str], str]) -> Any:
    if key in TEXT_KEYS and isinstance(value, str):
        return redact(value)
    return filter_answer(value, redact)


RESPONSE_DELTAS = frozenset(
    f"response.{kind}.delta"
    for kind in ("output_text", "refusal", "reasoning_text", "reasoning_summary_text")
)


# Server-sent events. Where the delta of an event's text is, and which stream of text it belongs to.


def _delta(event: Body) -> Iterator[tuple[str, Body, str]]:
    """(stream, the object that holds the text, its key) of each piece of text in an event."""
    for choice in event.get("choices") or ():
        if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict):
            for key in TEXT_KEYS:
                if isinstance(delta.get(key), str):
                    yield f"choice {choice.get('index', 0)} {key}", delta, key
    if event.get("type") == "content_block_delta" and isinstance(delta := event.get("delta"), dict):
        for key in ("text", "thinking"):
            if isinstance(delta.get(key), str):
                yield f"block {event.get('index', 0)} {key}", delta, key
    if event.get("type") in RESPONSE_DELTAS and isinstance(event.get("delta"), str):
        places = [event.get(name, 0) for name in ("output_index", "content_index", "summary_index")]
        yield f"{event['type']} {places}", event, "delta"


async def filter_events(parts: AsyncIterator[bytes], output: OutputFilter) -> AsyncIterator[bytes]:
    """Server-sent events with their text redacted, across the borders of deltas.

    What a stream of text holds back is given with its next delta, or as one more delta of the same
    form before the event that ends it.
    """
    state = _Streams(output)
    async for event in _events(parts):
        for line in state.event(event):
            yield line
    # a stream may end without saying so
    for line in state.ended():
        yield line


async def _events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole events, each with the blank line that ends it; the last one may lack it."""
    held = b""
    async for part in parts:
        held += part.replace(b"\r\n", b"\n")
        while b"\n\n" in held:
            event, held = held.split(b"\n\n", 1)
            yield event + b"\n\n"
    if held:
        yield held


class _Streams:
    """The texts of one answer, each with its filter and its latest event as a form."""

    def __init__(self, output: OutputFilter) -> None:
        self.make, self.redact = output.streaming, output.redact
        self.filters: dict[str, tuple[Filter, bytes, Body]] = {}

    def event(self, event: bytes) -> Iterator[bytes]:
        """The event as it may be given out, after what it ends."""
        head, data = _split(event)
        body = _parsed(data)
        if body is None:
            # "[DONE]" and comments: all text is over at the former
            yield from self.ended() if data == b"[DONE]" else ()
            yield event
            return
        pieces = list(_delta(body))
        if not pieces:
            yield from self.ended() if _ends(body) else ()
            clean = filter_answer(body, self.redact)
            yield event if clean == body else _joined(head, clean)
            return
        before = json.dumps(body)
        for stream, holder, key in pieces:
            filtering = self.filters[stream][0] if stream in self.filters else self.make()
            holder[key] = filtering.feed(holder[key])
            self.filters[stream] = (filtering, head, body)
        if _ends(body):
            for stream, holder, key in pieces:
                holder[key] += self.filters.pop(stream)[0].close()
            yield from self.ended()
        yield event if json.dumps(body) == before else _joined(head, body)

    def ended(self) -> Iterator[bytes]:
        """What the texts still hold back, as deltas of their own."""
        for stream in list(self.filters):
            filtering, head, form = self.filters.pop(stream)
            if rest := filtering.close():
                last: Body = json.loads(json.dumps(form))
                for other, holder, key in _delta(last):
                    holder[key] = rest if other == stream else ""
                yield _joined(head, last)


def _ends(body: Body) -> bool:
    """Whether no more text of any stream follows before the event's own kind says otherwise."""
    kind = str(body.get("type", ""))
    finished = any(isinstance(c, dict) and c.get("finish_reason") for c in body.get("choices") or ())
    return (
        finished or kind in ("content_block_stop", "message_stop", "message_delta") or kind.endswith(".done")
    )


def _split(event: bytes) -> tuple[bytes, bytes]:
    """The lines before the data, and the data of all its lines."""
    lines = event.rstrip(b"\n").split(b"\n")
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    head = b"".join(line + b"\n" for line in lines if not line.startswith(b"data:"))
    return head, b"\n".join(data)


def _parsed(data: bytes) -> Body | None:
    try:
        body = json.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _joined(head: bytes, body: Body) -> bytes:
    return head + b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
