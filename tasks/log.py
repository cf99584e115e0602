"""Log: write each run as one Parquet file; read runs back, loose or compacted, each once."""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from pickysteve.errors import RunMissing
from pickysteve.registry.models import Problem, Value
from pickysteve.tasks.partitions import (
    RUN_ID,
    find_partitions,
    foreign,
    scan_partition,
    trace_path,
    unreadable,
    unwritable,
    write_atomically,
)
from pickysteve.tasks.records import UNREADABLE, encode_table, read_heads, read_ids, read_run, trace_table
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import StageOutput, Trace

__all__ = [
    "LogConfig",
    "Logged",
    "RunList",
    "RunSummary",
    "check_writable",
    "list_traces",
    "log",
    "new_run_id",
    "read_trace",
    "settled",
    "write_trace",
]

REQUEST_CHARACTERS = 80
RESCANS = 10

Result = TypeVar("Result")


class LogConfig(StageConfig):
    """Where run records are kept."""

    runs_dir: Path = Field(description="folder of the run records")


class Logged(StageOutput):
    """The file that holds the run."""

    path: str


class RunSummary(Value):
    """One line of `pickysteve runs list`."""

    run_id: str
    started_at: str
    flow: str
    status: str
    picks: tuple[str, ...]
    milliseconds: float
    request: str
    """The request's text on one line of printable characters, shortened."""


class RunList(Value):
    """Runs, newest first, and the files that were skipped on the way."""

    runs: tuple[RunSummary, ...]
    warnings: tuple[Problem, ...] = ()


def new_run_id() -> str:
    """A name that sorts by its UTC time, to the microsecond, with 32 random bits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"


def check_writable(runs_dir: Path) -> None:
    """Raise RunsUnwritable before any work is done that could not be recorded."""
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=runs_dir, prefix=".", suffix=".tmp") as probe:
            probe.write(b"PAR1")
    except OSError as error:
        raise unwritable(runs_dir, error) from error


def write_trace(trace: Trace, config: LogConfig) -> Logged:
    """Write the run's one file, all of it or nothing.

    Raises RunsUnwritable, also for a run id, a flow or a time that cannot form a file's name.
    """
    path = trace_path(trace, config.runs_dir)
    write_atomically(path, encode_table(trace_table(trace)))
    return Logged(path=str(path))


def read_trace(runs_dir: Path, run_id: str) -> Trace:
    """The run with that id, or with the only id that starts so. Raises RunMissing."""
    if not RUN_ID.fullmatch(run_id):
        raise RunMissing(f"{run_id[:100]!r} is not a run id: choose one from `pickysteve runs list`.")
    return settled(lambda: _find_trace(runs_dir, run_id))


def list_traces(runs_dir: Path, limit: int = 20) -> RunList:
    """The newest runs by day and id, each once; days that are not needed are not opened."""
    return settled(lambda: _list_traces(runs_dir, limit))


def settled(read: Callable[[], Result]) -> Result:
    """Read again when compaction moves a file away between listing and opening it."""
    for attempt in range(RESCANS):
        try:
            return read()
        except FileNotFoundError:
            time.sleep(0.01 * attempt)
    raise RunMissing("The run records kept moving while they were read: try again after the compaction.")


def _find_trace(runs_dir: Path, wanted: str) -> Trace:
    places, problems = _places(runs_dir, wanted)
    matches = [wanted] if wanted in places else sorted(places)
    skipped = f" ({len(problems)} files cannot be read)" if problems else ""
    if not matches:
        raise RunMissing(f"No run starts with {wanted}{skipped}: choose one from `pickysteve runs list`.")
    if len(matches) > 1:
        raise RunMissing(f"{len(matches)} runs start with {wanted}: give more of the id.")
    for path in places[matches[0]]:
        trace = _attempt(problems, read_run, path, matches[0])
        if trace:
            return trace
    raise RunMissing(f"{problems[-1].path} {problems[-1].reason}: restore it, or choose another run.")


def _places(runs_dir: Path, prefix: str) -> tuple[dict[str, list[Path]], list[Problem]]:
    """The files that hold runs whose id starts so; a loose file before a compacted one."""
    places: dict[str, list[Path]] = {}
    folders, _ = find_partitions(runs_dir)
    problems: list[Problem] = []
    for partition in map(scan_partition, folders):
        ids = {path: [path.stem] for path in partition.loose}
        ids |= {path: sorted(set(_attempt(problems, read_ids, path) or [])) for path in partition.parts}
        for path, run_id in ((path, run_id) for path, found in ids.items() for run_id in found):
            if run_id.startswith(prefix):
                places.setdefault(run_id, []).append(path)
    return places, problems


def _list_traces(runs_dir: Path, limit: int) -> RunList:
    runs: dict[str, tuple[str, RunSummary]] = {}
    folders, warnings = find_partitions(runs_dir)
    for position, folder in enumerate(folders):
        if len(runs) >= limit and folder.name != folders[position - 1].name:
            break
        for summary in _newest(folder, limit, warnings):
            runs.setdefault(summary.run_id, (folder.name, summary))
    # The day first, so that an id which is not of our making keeps its place.
    newest = sorted(runs.values(), key=lambda run: (run[0], run[1].run_id), reverse=True)
    return RunList(runs=tuple(summary for _, summary in newest[: max(limit, 0)]), warnings=tuple(warnings))


def _newest(folder: Path, limit: int, warnings: list[Problem]) -> list[RunSummary]:
    """The newest runs of one partition: each from the first of its copies that can be read."""
    partition = scan_partition(folder)
    warnings += [foreign(path) for path in partition.foreign]
    copies: dict[str, list[tuple[Path, str | None]]] = {path.stem: [(path, None)] for path in partition.loose}
    for path in partition.parts:
        for run_id, head in (_attempt(warnings, read_heads, path) or {}).items():
            copies.setdefault(run_id, []).append((path, head))
    summaries: list[RunSummary] = []
    for run_id in sorted(copies, reverse=True):
        if len(summaries) >= limit:
            break
        tries = (_attempt(warnings, _summarise, path, run_id, head) for path, head in copies[run_id])
        summaries += [summary for summary in tries if summary][:1]
    return summaries


def _summarise(path: Path, run_id: str, head: str | None) -> RunSummary:
    """The line of one run, from its head or from the loose file that holds it."""
    heads = {run_id: head} if head is not None else read_heads(path)
    trace = Trace.model_validate(json.loads(heads.get(run_id, "null")))
    if {trace.run_id, *heads} != {run_id}:
        raise ValueError("its rows name another run")
    return RunSummary(
        run_id=run_id,
        started_at=trace.started_at,
        flow=trace.flow,
        status=trace.pick.status,
        picks=trace.pick.skills,
        milliseconds=trace.milliseconds,
        request=_one_line(trace.request.text),
    )


def _one_line(text: str) -> str:
    """Untrusted text for a terminal: no control characters, no line breaks, at most 80 characters."""
    printable = "".join(character if character.isprintable() else " " for character in text[:1000])
    line = " ".join(printable.split())
    return line if len(line) <= REQUEST_CHARACTERS else line[: REQUEST_CHARACTERS - 1].rstrip() + "…"


def _attempt(
    problems: list[Problem], read: Callable[..., Result], path: Path, *arguments: object
) -> Result | None:
    """The one place where a corrupt file becomes a warning."""
    try:
        return read(path, *arguments)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        problems.append(unreadable(path, error))
        return None


log = stage("log", write_trace, cached=False)
