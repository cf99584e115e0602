"""What a host of models and those who ask it have in common: calls, answers, faults, bounded bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pickysteve.tasks.engines.llm import LlmConfig, Message

__all__ = ["SAID", "BoundedBody", "Call", "Host", "HostFault", "Raw", "status_fault", "whole"]

SERVER_LOG = "see the log of the model's server"
NO_SERVER = "check that PS_LLM__BASE_URL is the address of a model server"
# What is said of a fault, and what mends it.
SAID = {
    "refused": ("is not reached", "start its server, or correct PS_LLM__BASE_URL"),
    "timeout": ("did not answer in time", "raise PS_LLM__TIMEOUT_SECONDS, or take a smaller model"),
    "rate-limited": ("is over its limit of requests", "wait, or ask its host for a higher limit"),
    "server-error": ("failed", SERVER_LOG),
    "key": ("does not accept the key", "set PS_LLM__API_KEY"),
    "missing": ("does not exist there", "correct PS_LLM__MODEL or PS_LLM__BASE_URL"),
    "rejected": ("did not accept the question", "try PS_LLM__DETERMINISTIC=false, or another model"),
    "cut-off": ("broke off its answer", SERVER_LOG),
    "too-long": ("sent more than is read", NO_SERVER),
    "broken": ("sent what is no chat answer", NO_SERVER),
    "unread": ("did not read the whole question", "raise PS_LLM__CONTEXT_TOKENS"),
    "empty": ("answered nothing", "take another model with PS_LLM__MODEL"),
    "unfinished": ("was stopped before its answer ended", "raise PS_LLM__MAX_ANSWER_TOKENS"),
    "invalid-answer": (
        "answered in a form that was not asked for",
        "take a stronger model with PS_LLM__MODEL",
    ),
}


class HostFault(Exception):
    """A call failed. `passes` when asking again may help."""

    def __init__(
        self, fault: str, detail: str = "", *, passes: bool = False, wait_seconds: float | None = None
    ) -> None:
        super().__init__(fault)
        self.fault = fault
        self.detail = detail
        self.passes = passes
        self.wait_seconds = wait_seconds


@dataclass(frozen=True)
class Call:
    """One question, as a host needs it."""

    model: str
    messages: tuple[Message, ...]
    schema: dict[str, Any]
    """Empty for free text."""
    config: LlmConfig


@dataclass(frozen=True)
class Raw:
    """A whole answer as text."""

    text: str
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Host(Protocol):
    """One kind of host."""

    async def ask(self, call: Call) -> Raw:
        """Ask once, without retries; raises HostFault."""

    async def stream(self, call: Call, show: Callable[[str], None]) -> Raw:
        """The same for free text that is shown as it comes."""


def whole(text: str | None, reason: str | None) -> str:
    """The text of an answer that its model ended itself; raises HostFault for another one."""
    if reason not in (None, "", "stop"):
        raise HostFault("unfinished", reason if reason in ("length", "content_filter") else "")
    if not text or not text.strip():
        raise HostFault("empty")
    return text


def status_fault(status: int, retry_after: str | None = None) -> HostFault:
    """The fault that an HTTP status stands for."""
    if status == 429:
        return HostFault("rate-limited", passes=True, wait_seconds=_seconds(retry_after))
    # Ollama tells of a fault in the middle of a stream without a status
    if status >= 500 or status < 0:
        return HostFault("server-error", f"status {status}", passes=True, wait_seconds=_seconds(retry_after))
    name = {401: "key", 403: "key", 404: "missing"}.get(status, "rejected")
    return HostFault(name, f"status {status}")


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds (RFC 9110, 10.2.3); a date counts as unknown."""
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:
        return None


class BoundedBody:
    """The body of a response, no longer than it may be. HTTP libraries mix it with their stream type."""

    def __init__(self, body: Any, max_bytes: int) -> None:
        self.body = body
        self.max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks; HostFault when there are more bytes than may be read."""
        left = self.max_bytes
        async for chunk in self.body:
            left -= len(chunk)
            if left < 0:
                raise HostFault("too-long", f"the limit is {self.max_bytes} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Close the connection's side of the body."""
        await self.body.aclose()
