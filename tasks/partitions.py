"""Partitions: `<runs_dir>/flow=<flow>/date=<YYYY-MM-DD>`, the folders of the run records.

`<run_id>.parquet` is one run; `part-<hash>.parquet` beside it holds many, after compaction.
"""

from __future__ import annotations

import os
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pickysteve.errors import RunsUnwritable
from pickysteve.registry.models import Problem
from pickysteve.tasks.values import Trace

__all__ = [
    "PART",
    "RUN_ID",
    "Partition",
    "find_partitions",
    "foreign",
    "scan_partition",
    "started",
    "trace_path",
    "unreadable",
    "unwritable",
    "write_atomically",
]

FLOW = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RUN_ID = re.compile(r"(?!part-)[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
PART = re.compile(r"part-[0-9a-f]{16}\.parquet")
TEMPORARY = re.compile(r"\..+\.tmp")
FLOW_FOLDER = re.compile(rf"flow={FLOW.pattern}")
DATE_FOLDER = re.compile(r"date=\d{4}-\d{2}-\d{2}")


class Partition(NamedTuple):
    """The files of one flow's day, by what their names say they are."""

    loose: list[Path]
    parts: list[Path]
    temporary: list[Path]
    foreign: list[Path]


def trace_path(trace: Trace, runs_dir: Path) -> Path:
    """The file of a run. Raises RunsUnwritable when its names or its time cannot form one."""
    for name, pattern in ((trace.run_id, RUN_ID), (trace.flow, FLOW)):
        if not pattern.fullmatch(name):
            raise RunsUnwritable(f'{name!r} cannot name a run record: use letters, digits, "-" and "_".')
    day = started(trace).date().isoformat()
    return runs_dir / f"flow={trace.flow}" / f"date={day}" / f"{trace.run_id}.parquet"


def started(trace: Trace) -> datetime:
    """When the run began, in UTC. Raises RunsUnwritable when the Trace does not say."""
    try:
        began = datetime.fromisoformat(trace.started_at)
    except ValueError as error:
        raise RunsUnwritable(
            f"{trace.started_at!r} is not a time: give started_at as ISO 8601, in UTC."
        ) from error
    return began.astimezone(UTC) if began.tzinfo else began.replace(tzinfo=UTC)


def find_partitions(runs_dir: Path) -> tuple[list[Path], list[Problem]]:
    """Folders `flow=.../date=...`, newest day first, and warnings of what else lies there."""
    problems: list[Problem] = []
    flows = _folders(runs_dir, FLOW_FOLDER, problems)
    days = [day for flow in flows for day in _folders(flow, DATE_FOLDER, problems)]
    return sorted(days, key=lambda day: (day.name, day.parent.name), reverse=True), problems


def scan_partition(folder: Path) -> Partition:
    """Sort the files of a partition by their names; nothing is opened."""
    partition = Partition([], [], [], [])
    for path in _listing(folder):
        if TEMPORARY.fullmatch(path.name):
            partition.temporary.append(path)
        elif path.suffix != ".parquet" or _is_strange(path):
            partition.foreign.append(path)
        elif PART.fullmatch(path.name):
            partition.parts.append(path)
        else:
            (partition.loose if RUN_ID.fullmatch(path.stem) else partition.foreign).append(path)
    return partition


def _listing(folder: Path) -> list[Path]:
    """The folder's paths, listed until no merged file comes or goes.

    One listing is no snapshot: it may miss a new merged file and the sources deleted after it.
    """
    paths, again = sorted(folder.iterdir()), sorted(folder.iterdir())
    while _parts(paths) != _parts(again):
        paths, again = again, sorted(folder.iterdir())
    return paths


def _parts(paths: list[Path]) -> list[Path]:
    return [path for path in paths if PART.fullmatch(path.name)]


def _is_strange(path: Path) -> bool:
    # A file that vanished since it was listed is not strange: its reader must notice that it moved.
    return not path.is_file() and os.path.lexists(path)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file durably: all of it under its name, or nothing. Raises RunsUnwritable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path.parent, error) from error


def unwritable(folder: Path, error: OSError) -> RunsUnwritable:
    """The refusal for a folder that does not take run records."""
    return RunsUnwritable(
        f"Run records cannot be written to {folder} ({error.strerror or error}): "
        "set PS_RUNS_DIR to a folder that can be written, or mend its permissions and free space."
    )


def unreadable(path: Path, error: Exception) -> Problem:
    """The warning for a file that was skipped."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return Problem(
        path=str(path), reason=f"cannot be read ({reason})", remedy="move it out of the runs folder"
    )


def foreign(path: Path) -> Problem:
    """The warning for something whose name already says that it is no run record."""
    return Problem(path=str(path), reason="not a run record", remedy="move it out of the runs folder")


def _folders(parent: Path, pattern: re.Pattern[str], problems: list[Problem]) -> list[Path]:
    try:
        children = sorted(parent.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(unreadable(parent, error))
        return []
    known = [path for path in children if pattern.fullmatch(path.name) and path.is_dir()]
    strange = [path for path in children if path not in known and not TEMPORARY.fullmatch(path.name)]
    problems += [foreign(path) for path in strange]
    return known


def _sync_folder(folder: Path) -> None:
    # A rename is durable once its folder is; Windows has no such call.
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
