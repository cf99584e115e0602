"""Watch: runs the request flow as elsewhere, and shows each stage on the hub as it starts and ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from pickysteve.connectors.engine.client import Engine, LocalEngine, Progress
from pickysteve.connectors.http.live.hub import Hub
from pickysteve.connectors.http.live.picture import Picture, request_line
from pickysteve.connectors.http.live.words import stage_words
from pickysteve.errors import PickyError
from pickysteve.flows.service import PickService
from pickysteve.flows.settings import Settings
from pickysteve.registry.models import Value, Verdict
from pickysteve.tasks.gate import text_digest
from pickysteve.tasks.log import log
from pickysteve.tasks.stage import Direct, Handle, Stage, StageConfig
from pickysteve.tasks.values import Candidates, Pick, Pool, Trace

__all__ = ["AskedBy", "RunCancelled", "Watch", "WatchedEngine", "WatchedRun", "WatchedService"]

Out = TypeVar("Out", bound=Value)
HASH_DIGITS = 12
"""As in the names of Prefect's runs."""


class RunCancelled(Exception):
    """Whoever asked has hung up, and nobody else waits for the run."""


class Watch:
    """One run on the hub. The request's text is shown once the gate has allowed it, and not before."""

    def __init__(self, hub: Hub, text: str, caller: str) -> None:
        self.hub = hub
        self.text = text
        self.cancelled = threading.Event()
        self._picture = Picture()
        self.run = hub.begin(
            caller=caller,
            sha=text_digest(text)[:HASH_DIGITS],
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            request=None,
        )

    def cancel(self) -> None:
        """Let the run end before its next stage."""
        self.cancelled.set()
        self.hub.change(self.run, state="stopping")

    def begins(self, stage: str) -> None:
        """A stage runs."""
        self.hub.change(self.run, state="running", stage={"name": stage, "state": "running"})

    def fails(self, stage: str) -> None:
        """A stage raised."""
        self.hub.change(self.run, stage={"name": stage, "state": "failed"})

    def ends(self, stage: str, output: Value, using: tuple[object, ...], milliseconds: float) -> None:
        """A stage gave something."""
        self._picture.take(output, using)
        shown = {
            "name": stage,
            "state": "done",
            "milliseconds": milliseconds,
            "words": stage_words(stage, output),
            "degraded": getattr(output, "degraded", ""),
        }
        changes: dict[str, Any] = {"stage": shown}
        if isinstance(output, Verdict) and output.allowed:
            changes["request"] = request_line(self.text)
        if isinstance(output, Candidates | Pool | Pick):
            changes["candidates"] = self._picture.rows()
        self.hub.change(self.run, **changes)

    def done(self, trace: Trace) -> None:
        """The run has ended with a decision."""
        self.hub.change(
            self.run, state="done", outcome=self._picture.outcome(trace), bundle=trace.bundle.text
        )

    def failed(self, error: Exception) -> None:
        """The run has ended with an error. A mistake is told to whoever made it: its words may be theirs."""
        mistake = not isinstance(error, PickyError) or error.exit_code == 2
        said = "Its caller was told why." if mistake else str(error)
        self.hub.change(self.run, state="failed", problem=f"{type(error).__name__}. {said}")

    def stopped(self) -> None:
        """The run was cancelled between two stages: nothing was handed over, and there is no record."""
        self.hub.change(self.run, state="cancelled")


@dataclass
class WatchedRun(Direct):
    """Runs each stage as a plain call, shown on the hub."""

    watch: Watch = field(kw_only=True)

    def __call__(
        self, stage: Stage[Out], *values: Value, using: tuple[Handle, ...] = (), config: StageConfig
    ) -> Out:
        """Call the stage's function; raises RunCancelled where nobody waits for it any more."""
        # what was handed to a model is recorded in any case
        if self.watch.cancelled.is_set() and stage is not log:
            raise RunCancelled
        self.watch.begins(stage.name)
        try:
            output = super().__call__(stage, *values, using=using, config=config)
        except Exception:
            self.watch.fails(stage.name)
            raise
        self.watch.ends(stage.name, output, using, self.records[-1].milliseconds)
        return output


@dataclass(frozen=True)
class Asked:
    """Who asks, and the watch where one was begun before the call."""

    caller: str = "Python"
    watch: Watch | None = None


_ASKED: ContextVar[Asked] = ContextVar("asked")


class WatchedService(PickService):
    """A service whose picks are shown on a hub."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        super().__init__(settings)
        self.hub = hub

    def pick(self, text: str, exclude: Iterable[str] = (), run: Callable[[], Direct] = Direct) -> Trace:
        """As PickService does it; the run is a watched one, whatever `run` would make."""
        asked = _ASKED.get(Asked())
        watch = asked.watch or Watch(self.hub, text, asked.caller)
        try:
            trace = super().pick(text, exclude, lambda: WatchedRun(watch=watch))
        except RunCancelled:
            watch.stopped()
            raise
        except Exception as error:
            watch.failed(error)
            raise
        watch.done(trace)
        return trace


class WatchedEngine(LocalEngine):
    """The engine of the HTTP server: its picks can be watched."""

    def __init__(self, settings: Settings) -> None:
        self.hub = Hub()
        self.service: WatchedService = WatchedService(settings, self.hub)


class AskedBy:
    """An engine whose picks are shown under the name of who asks."""

    def __init__(self, engine: Engine, caller: str, watch: Watch | None = None) -> None:
        self.engine, self.asked = engine, Asked(caller, watch)

    async def call(self, name: str, progress: Progress | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one call; raises the PickyError that it raised."""
        # the engine's thread takes a copy of this context with it
        token = _ASKED.set(self.asked)
        try:
            return await self.engine.call(name, progress, **arguments)
        finally:
            _ASKED.reset(token)
