"""What the cache of orchestrated runs holds, what is in a key, and what is never cached, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.dag import STAGES
from pickysteve.registry.models import Value
from pickysteve.tasks.cache_files import (
    CACHE_EXPIRATION,
    CacheFile,
    cache_folder,
    list_results,
    remove_results,
)
from pickysteve.tasks.stage import KEY_PARTS

__all__ = ["NEVER_CACHED", "CacheReport", "Cleared", "StageCache", "clear_cache", "describe_cache"]

NEVER_CACHED = {
    "gate-request": "a block must be decided anew, and no kept result may ever decide one",
    "gate-documents": "its verdicts have a sealed store of their own, by the gate that judged",
    "clarify": "the gate reads each question that a model wrote",
    "assemble": "each bundle has a nonce of its own",
    "execute": "a model is asked because its answer is wanted now",
    "log": "each run has a record of its own",
}
"""Why each stage that is not cached is not."""
NEVER_USED = (
    "a result of a model that failed: its stage runs again and replaces it; an error is not kept at all"
)


class StageCache(Value):
    """One stage, its policies, and its results on disk."""

    stage: str
    cached: bool
    never_because: str = ""
    retries: int
    retried_errors: tuple[str, ...] = ()
    timeout_seconds: float
    files: int = 0
    bytes: int = 0


class CacheReport(Value):
    """The cache as it is now."""

    folder: str
    files: int
    bytes: int
    oldest: str = ""
    """When it was written: UTC, ISO 8601; empty in an empty cache."""
    newest: str = ""
    expires_after_seconds: float
    expired: int
    """Results that are too old to be used."""
    stages: tuple[StageCache, ...]
    older_versions: int
    """Results of earlier versions, which nobody reads any more."""
    key: dict[str, str]
    """What is in each key, and so what makes a result another one."""
    never_used: str


class Cleared(Value):
    """What was taken away."""

    files: int
    bytes: int


def describe_cache() -> CacheReport:
    """Count the results. Raises SettingsInvalid for a folder that is a symbolic link."""
    files = list_results(cache_folder())
    return CacheReport(
        folder=str(cache_folder()),
        files=len(files),
        bytes=_size(files),
        oldest=_moment(files[0]) if files else "",
        newest=_moment(files[-1]) if files else "",
        expires_after_seconds=CACHE_EXPIRATION.total_seconds(),
        expired=len(_older(files, CACHE_EXPIRATION)),
        stages=tuple(
            StageCache(
                stage=stage.name,
                cached=stage.cached,
                never_because=NEVER_CACHED.get(stage.name, ""),
                retries=stage.retries,
                retried_errors=tuple(error.__name__ for error in stage.retry_on),
                timeout_seconds=stage.timeout_seconds,
                files=len(mine := [file for file in files if file.stage == stage.name]),
                bytes=_size(mine),
            )
            for stage in STAGES
        ),
        older_versions=sum(not file.stage for file in files),
        key=KEY_PARTS,
        never_used=NEVER_USED,
    )


def clear_cache(
    *, older_than: timedelta | None = None, stage: str | None = None, expired: bool = False
) -> Cleared:
    """Remove results: all, or those that every given condition names.

    Raises SettingsInvalid for a stage that does not exist or is never cached.
    """
    if stage is not None:
        _check_stage(stage)
    files = list_results(cache_folder())
    for age in (older_than, CACHE_EXPIRATION if expired else None):
        files = files if age is None else _older(files, age)
    gone = remove_results(file for file in files if stage in (None, file.stage))
    return Cleared(files=len(gone), bytes=_size(gone))


def _check_stage(name: str) -> None:
    cached = [stage.name for stage in STAGES if stage.cached]
    if name in NEVER_CACHED:
        raise SettingsInvalid(f"The stage {name} is never cached: choose one of {', '.join(cached)}.")
    if name not in cached:
        raise SettingsInvalid(f"There is no stage {name}: choose one of {', '.join(cached)}.")


def _older(files: Sequence[CacheFile], age: timedelta) -> tuple[CacheFile, ...]:
    limit = time.time() - age.total_seconds()
    return tuple(file for file in files if file.written < limit)


def _size(files: Sequence[CacheFile]) -> int:
    return sum(file.size for file in files)


def _moment(file: CacheFile) -> str:
    return datetime.fromtimestamp(file.written, UTC).isoformat(timespec="seconds")
