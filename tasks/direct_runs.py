"""Which of the recorded runs ran direct, without an orchestrator that would know of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

from pickysteve.registry.models import Problem
from pickysteve.tasks.log import read_trace, settled
from pickysteve.tasks.partitions import find_partitions, scan_partition, unreadable
from pickysteve.tasks.records import UNREADABLE, read_heads, read_run
from pickysteve.tasks.values import Trace, Way

__all__ = ["Recorded", "RecordedRun", "find_runs", "read_recorded"]


class RecordedRun(NamedTuple):
    """A run and the file that holds it."""

    run_id: str
    ran: Way | Literal[""]
    path: Path


class Recorded(NamedTuple):
    """The runs of some days, oldest first, and the files that cannot be read."""

    runs: tuple[RecordedRun, ...]
    warnings: tuple[Problem, ...]


def find_runs(runs_dir: Path, flow: str, first: date | None = None) -> Recorded:
    """The runs of a flow from a day on, each once; of each only the head is read."""
    return settled(lambda: _find_runs(runs_dir, flow, first))


def read_recorded(run: RecordedRun, runs_dir: Path) -> Trace:
    """The whole record. Raises RunMissing where it is gone, one of UNREADABLE where it is damaged."""
    try:
        return read_run(run.path, run.run_id)
    except FileNotFoundError:
        # a compaction moved it
        return read_trace(runs_dir, run.run_id)


def _find_runs(runs_dir: Path, flow: str, first: date | None) -> Recorded:
    folders, problems = find_partitions(runs_dir)
    runs: dict[str, RecordedRun] = {}
    for folder in folders:
        if folder.parent.name == f"flow={flow}" and folder.name >= f"date={first or ''}":
            for run in _runs_in(folder, problems):
                runs.setdefault(run.run_id, run)
    return Recorded(tuple(runs[run_id] for run_id in sorted(runs)), tuple(problems))


def _runs_in(folder: Path, problems: list[Problem]) -> Iterator[RecordedRun]:
    partition = scan_partition(folder)
    for path in (*partition.loose, *partition.parts):
        try:
            yield from [RecordedRun(run_id, _way(head), path) for run_id, head in read_heads(path).items()]
        except FileNotFoundError:
            raise
        except UNREADABLE as error:
            problems.append(unreadable(path, error))


def _way(head: str) -> Way | Literal[""]:
    return Trace.model_validate_json(head).ran
