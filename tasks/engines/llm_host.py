"""A model behind HTTP: one deadline a call, retries only for faults that pass, bounded responses.

What a host speaks is a matter of its own module, loaded when the first question is asked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from queue import SimpleQueue
from typing import Any, TypeVar

from pydantic import BaseModel

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.llm import LlmConfig, Message, Reply, Usage
from pickysteve.tasks.engines.llm_answer import AnswerError, read_answer, wire_schema
from pickysteve.tasks.engines.llm_wire import SAID, Call, Host, HostFault, Raw

__all__ = ["HostedModel"]

Answer = TypeVar("Answer", bound=BaseModel)

RETRIES = 2
BACKOFF_SECONDS = 0.5


@dataclass(frozen=True)
class _Deadline:
    """When a call is given up."""

    scope: Any

    def restart(self, seconds: float) -> None:
        import anyio

        self.scope.deadline = anyio.current_time() + seconds


Attempt = Callable[[_Deadline], Awaitable[Raw]]


def _unseen(piece: str) -> None:
    """An answer in a given form comes whole."""


class HostedModel:
    """A chat model of a configured host. Making one is cheap; its client loads at the first call."""

    def __init__(self, config: LlmConfig, model: str) -> None:
        self.config = config
        self.model = model

    @property
    def name(self) -> str:
        """What the host calls it."""
        return self.model

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
        call = Call(self.model, tuple(messages), wire_schema(answer), self.config)
        raw = self._run(lambda _: self._host.ask(call), SimpleQueue(), _unseen)
        try:
            value, repaired = read_answer(raw.text, answer, exact=exact)
        except AnswerError as unusable:
            raise self._unavailable("invalid-answer", str(unusable), self._usage(raw)) from unusable
        return Reply(value, self._usage(raw), repaired)

    def stream(self, messages: Sequence[Message], show: Callable[[str], None]) -> tuple[str, Usage]:
        """Ask for free text, and show it as it comes; raises ModelUnavailable, also after some was shown."""
        call = Call(self.model, tuple(messages), {}, self.config)
        pieces: SimpleQueue[str | None] = SimpleQueue()

        async def attempt(deadline: _Deadline) -> Raw:
            begun = False

            def take(piece: str) -> None:
                nonlocal begun
                begun = True
                deadline.restart(self.config.timeout_seconds)
                pieces.put(piece)

            try:
                return await self._host.stream(call, take)
            except HostFault as fault:
                # what was shown cannot be taken back, so it is not begun again
                fault.passes = fault.passes and not begun
                raise

        raw = self._run(attempt, pieces, show)
        return raw.text, self._usage(raw)

    def _run(self, attempt: Attempt, pieces: SimpleQueue[str | None], show: Callable[[str], None]) -> Raw:
        """Run an attempt on a loop of its own, so that a caller inside a running loop may ask too.

        Pieces are shown by the calling thread: what `show` raises ends the call and is the caller's.
        """
        from anyio.from_thread import start_blocking_portal

        _ = self._host  # the time that its client takes to load is not the model's
        try:
            with start_blocking_portal() as portal:
                asked = portal.start_task_soon(self._before_deadline, attempt)
                asked.add_done_callback(lambda _: pieces.put(None))
                while (piece := pieces.get()) is not None:
                    show(piece)
                return asked.result()
        except HostFault as fault:
            raise self._unavailable(fault.fault, fault.detail) from fault

    def _unavailable(self, fault: str, detail: str, usage: Usage | None = None) -> ModelUnavailable:
        said, remedy = SAID[fault]
        shown = f" ({detail})" if detail else ""
        return ModelUnavailable(
            f"The model {self.model} at {self.config.address} {said}{shown}: {remedy}.",
            fault=fault,
            usage=usage,
        )

    def _usage(self, raw: Raw) -> Usage:
        price = self.config.prices.get(self.model)
        if price is None:
            return Usage(raw.prompt_tokens, raw.answer_tokens)
        cost = (price.prompt * raw.prompt_tokens + price.answer * raw.answer_tokens) / 1_000_000
        return Usage(raw.prompt_tokens, raw.answer_tokens, cost)

    async def _before_deadline(self, attempt: Attempt) -> Raw:
        import anyio

        try:
            with anyio.fail_after(self.config.timeout_seconds) as scope:
                return await self._with_retries(attempt, _Deadline(scope))
        except TimeoutError:
            raise HostFault("timeout", f"{self.config.timeout_seconds:g} s") from None

    async def _with_retries(self, attempt: Attempt, deadline: _Deadline) -> Raw:
        import anyio

        for number in range(RETRIES):
            try:
                return await attempt(deadline)
            except HostFault as fault:
                pause = _backoff(number) if fault.wait_seconds is None else fault.wait_seconds
                left = anyio.current_effective_deadline() - anyio.current_time()
                # a server that is being restarted refuses for a moment, one that is off for good
                spent = fault.fault == "refused" and number > 0
                if not fault.passes or spent or pause >= left:
                    raise
                await anyio.sleep(pause)
        return await attempt(deadline)


def _backoff(number: int) -> float:
    """Seconds before another try: doubled each time, with jitter, so that callers do not come together."""
    return float(BACKOFF_SECONDS * 2**number * (1 + random.random()))  # noqa: S311
