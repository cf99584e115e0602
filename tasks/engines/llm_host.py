"""A model behind HTTP: one deadline a call, retries only for faults that pass, bounded responses.

What a host speaks is a matter of its own module, loaded when the first question is asked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.llm import LlmConfig, Message, Reply, Usage
from pickysteve.tasks.engines.llm_answer import AnswerError, read_answer, wire_schema

__all__ = ["BoundedBody", "Call", "Host", "HostFault", "HostedModel", "Raw", "status_fault", "whole"]

Answer = TypeVar("Answer", bound=BaseModel)

RETRIES = 2
BACKOFF_SECONDS = 0.5
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
    if status >= 500:
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


class HostedModel:
    """A chat model of a configured host. Making one is cheap; its client loads at the first call."""

    def __init__(self, config: LlmConfig, model: str) -> None:
        self.config = config
        self.model = model

    @property
    def fingerprint(self) -> str:
        """SHA-256 over host kind, model and options; neither address nor key."""
        options = ("provider", "max_answer_tokens", "context_tokens", "deterministic")
        parts = {name: getattr(self.config, name) for name in options} | {"model": self.model}
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _host(self) -> Host:
        if self.config.provider == "ollama":
            from pickysteve.tasks.engines.ollama_host import OllamaHost

            return OllamaHost()
        from pickysteve.tasks.engines.openai_host import OpenAIHost

        return OpenAIHost()

    def chat(
        self, messages: Sequence[Message], answer: type[Answer], *, exact: bool = False
    ) -> Reply[Answer]:
        """Ask, and validate the answer; raises ModelUnavailable, which names the fault and its remedy."""
        from anyio.from_thread import start_blocking_portal

        call = Call(self.model, tuple(messages), wire_schema(answer), self.config)
        try:
            # a loop of its own, so that a caller inside a running loop may ask too
            with start_blocking_portal() as portal:
                raw = portal.call(self._before_deadline, call)
            value, repaired = read_answer(raw.text, answer, exact=exact)
        except HostFault as fault:
            raise self._unavailable(fault.fault, fault.detail) from fault
        except AnswerError as unusable:
            raise self._unavailable("invalid-answer", str(unusable)) from unusable
        return Reply(value, self._usage(raw), repaired)

    def _unavailable(self, fault: str, detail: str) -> ModelUnavailable:
        said, remedy = SAID[fault]
        shown = f" ({detail})" if detail else ""
        return ModelUnavailable(
            f"The model {self.model} at {self.config.address} {said}{shown}: {remedy}.", fault=fault
        )

    def _usage(self, raw: Raw) -> Usage:
        price = self.config.prices.get(self.model)
        if price is None:
            return Usage(raw.prompt_tokens, raw.answer_tokens)
        cost = (price.prompt * raw.prompt_tokens + price.answer * raw.answer_tokens) / 1_000_000
        return Usage(raw.prompt_tokens, raw.answer_tokens, cost)

    async def _before_deadline(self, call: Call) -> Raw:
        import anyio

        try:
            with anyio.fail_after(self.config.timeout_seconds):
                return await self._with_retries(call)
        except TimeoutError:
            raise HostFault("timeout", f"{self.config.timeout_seconds:g} s") from None

    async def _with_retries(self, call: Call) -> Raw:
        import anyio

        for attempt in range(RETRIES):
            try:
                return await self._host.ask(call)
            except HostFault as fault:
                pause = BACKOFF_SECONDS * 2**attempt if fault.wait_seconds is None else fault.wait_seconds
                left = anyio.current_effective_deadline() - anyio.current_time()
                # a server that is being restarted refuses for a moment, one that is off for good
                spent = fault.fault == "refused" and attempt > 0
                if not fault.passes or spent or pause >= left:
                    raise
                await anyio.sleep(pause)
        return await self._host.ask(call)
