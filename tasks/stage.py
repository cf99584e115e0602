"""A stage is defined once and runs in two ways: called directly, or as a Prefect task.

The request DAG calls `run(stage, *values, using=handles, config=...)`. `Direct` calls the
function and times it; `Orchestrated` makes the same call a task run. Both keep the same records.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from pickysteve.registry.models import Value, Verdict
from pickysteve.tasks.values import Degradation, Mark, Spent, StageOutput, StageRecord, Way

if TYPE_CHECKING:
    from prefect import Task

__all__ = [
    "KEY_PARTS",
    "Direct",
    "Handle",
    "Orchestrated",
    "Run",
    "Stage",
    "StageConfig",
    "code_digest",
    "source_digest",
    "stage",
]

Out = TypeVar("Out", bound=Value)

KEY_PARTS = {
    "stage": "the name of the stage",
    "code": "a digest of all our code that a stage can reach",
    "values": "what the stages before it gave, the request with its exclusions first of all",
    "using": "fingerprints of what it drives: index, models with their revision and prompts, calibration",
    "config": "its own settings",
}
"""What is in the key of a cached result."""


class StageConfig(BaseModel):
    """The knobs of one stage: typed, bounded, frozen; a name that does not exist is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Handle(Protocol):
    """Something heavy that a stage drives; its fingerprint stands for it in cache keys."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever an answer of the handle could."""


@cache
def code_digest() -> str:
    """Digest of all the code that a stage can reach: a changed helper changes every cache key."""
    here = Path(__file__).resolve().parent
    return source_digest([here, here.parent / "registry", here.parent / "calibration"])


def source_digest(places: Sequence[Path]) -> str:
    """SHA-256 over files, and over the Python files in folders, by path."""
    files = sorted(path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place]))
    return sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()


@dataclass(frozen=True)
class Stage(Generic[Out]):
    """A named pure function with the policies of its task."""

    name: str
    function: Callable[..., Out]
    cached: bool
    retries: int
    retry_on: tuple[type[Exception], ...]
    timeout_seconds: float

    def cache_key(self, values: tuple[Value, ...], using: tuple[Handle, ...], config: StageConfig) -> str:
        """The stage, and the SHA-256 of the canonical JSON of all that decides its output (KEY_PARTS)."""
        parts = self.key_parts(values, using, config)
        digest = sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        return f"{self.name}-{digest}"

    def key_parts(
        self, values: tuple[Value, ...], using: tuple[Handle, ...], config: StageConfig
    ) -> dict[str, Any]:
        """What decides the output, by the names of KEY_PARTS."""
        return {
            "stage": self.name,
            "code": code_digest(),
            "values": [value.model_dump(mode="json") for value in values],
            "using": [handle.fingerprint for handle in using],
            "config": config.model_dump(mode="json"),
        }

    def call(self, values: tuple[Value, ...], using: tuple[Handle, ...], config: StageConfig) -> Out:
        """Run the function, again on a fault that may pass, with backoff and jitter."""
        for attempt in range(self.retries):
            try:
                return self.function(*values, *using, config)
            except self.retry_on:
                time.sleep(0.2 * 2**attempt * (1 + random.random()))  # noqa: S311
        return self.function(*values, *using, config)


def stage(
    name: str,
    function: Callable[..., Out],
    *,
    cached: bool,
    retries: int = 0,
    retry_on: tuple[type[Exception], ...] = (),
    timeout_seconds: float = 30,
) -> Stage[Out]:
    """Define a stage. The function takes its values, then its handles, then its config."""
    return Stage(name, function, cached, retries, retry_on, timeout_seconds)


class Run(Protocol):
    """How the DAG runs a stage, and the records that it keeps."""

    way: ClassVar[Way]
    records: list[StageRecord]
    degraded: list[Degradation]
    spent: list[Spent]

    def __call__(
        self, stage: Stage[Out], *values: Value, using: tuple[Handle, ...] = (), config: StageConfig
    ) -> Out:
        """Run one stage on its values, the heavy things it uses, and its config."""


@dataclass
class Direct:
    """Runs each stage as a plain call in this process."""

    way: ClassVar[Way] = "direct"
    records: list[StageRecord] = field(default_factory=list)
    degraded: list[Degradation] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)

    def __call__(
        self, stage: Stage[Out], *values: Value, using: tuple[Handle, ...] = (), config: StageConfig
    ) -> Out:
        """Call the stage's function and keep its record."""
        call = _Call(stage, using, config)
        output = call(values)
        self.keep(call, output)
        return output

    def keep(self, call: _Call[Out], output: Out) -> None:
        """Record what a stage gave, and whether it fell back."""
        self.records.append(
            StageRecord(
                stage=call.stage.name,
                milliseconds=round(call.milliseconds, 3),
                output=output.model_dump(mode="json"),
                cached=not call.ran,
            )
        )
        if isinstance(output, StageOutput | Verdict) and output.degraded:
            self.degraded.append(Degradation(stage=call.stage.name, reason=output.degraded))
        if isinstance(output, StageOutput) and call.ran:
            self.spent.extend(output.spent)


@dataclass
class Orchestrated(Direct):
    """Runs each stage as a task run of the surrounding Prefect flow."""

    way: ClassVar[Way] = "orchestrated"

    def __call__(
        self, stage: Stage[Out], *values: Value, using: tuple[Handle, ...] = (), config: StageConfig
    ) -> Out:
        """Run the stage's task; a result from the cache is marked as such."""
        from prefect.utilities.annotations import quote

        key = stage.cache_key(values, using, config) if stage.cached else ""
        call = _Call(stage, using, config, key)
        marks = tuple(value.mark for value in values if isinstance(value, StageOutput))
        output = cast(Out, _task(stage)(marks, quote(values), quote(call)))
        if not call.ran and isinstance(output, StageOutput) and output.degraded:
            # a fault of a model passes, and what it left in the cache must not outlive it
            output = cast(Out, _task(stage, fresh=True)(marks, quote(values), quote(call)))
        self.keep(call, output)
        return output


@dataclass
class _Call(Generic[Out]):
    """One call of a stage, with the parts that Prefect must not look into."""

    stage: Stage[Out]
    using: tuple[Handle, ...]
    config: StageConfig
    key: str = ""
    ran: bool = False
    milliseconds: float = 0.0

    def __call__(self, values: tuple[Value, ...]) -> Out:
        started = time.perf_counter()
        output = self.stage.call(values, self.using, self.config)
        self.milliseconds = (time.perf_counter() - started) * 1000
        self.ran = True
        return output


@cache
def _task(stage: Stage[Any], *, fresh: bool = False) -> Task[..., Any]:
    """The Prefect task around a stage, made on its first use as one. A fresh one replaces its result."""
    from pickysteve.tasks.caching import make_task

    def body(marks: tuple[Mark, ...], values: tuple[Value, ...], call: Any) -> Any:
        return call(values)

    return make_task(
        stage.name, body, cached=stage.cached, timeout_seconds=stage.timeout_seconds, fresh=fresh
    )
