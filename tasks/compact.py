"""Compact: merge the small files of a partition into one, losing no run and doubling none.

The merged file is durable and read back before a source is deleted, and readers count a run
once however many files hold it; so a crash between any two steps is harmless, and so is
another compaction of the same folder.
"""

from __future__ import annotations

import time
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pydantic import Field

from pickysteve.errors import RunsUnwritable
from pickysteve.registry.models import Problem, Value
from pickysteve.tasks.partitions import (
    Partition,
    find_partitions,
    foreign,
    scan_partition,
    unreadable,
    unwritable,
    write_atomically,
)
from pickysteve.tasks.records import UNREADABLE, encode_table, read_ids, read_run, read_table
from pickysteve.tasks.stage import StageConfig

__all__ = ["CompactConfig", "Compacted", "compact_partition", "compact_runs"]

ABANDONED_SECONDS = 24 * 3600


class CompactConfig(StageConfig):
    """When a partition is worth merging."""

    runs_dir: Path = Field(description="folder of the run records")
    minimum_files: int = Field(16, ge=2, description="small files of a partition that make it worth merging")


class Compacted(Value):
    """What was done to one partition."""

    folder: str
    part: str = ""
    """The merged file; empty when nothing was merged."""
    runs: int = 0
    """Runs in the merged file."""
    files: int = 0
    """Files that it replaced."""
    warnings: tuple[Problem, ...] = ()


class _Source:
    """A file as it was when the compaction read it, and its rows by run."""

    def __init__(self, path: Path, *, loose: bool) -> None:
        self.path = path
        self.identity = _identity(path)
        if loose:
            read_run(path, path.stem)
        self.runs = _split(read_table(path))


def compact_runs(config: CompactConfig) -> tuple[Compacted, ...]:
    """Merge every partition that has enough small files. Raises RunsUnwritable."""
    folders, problems = find_partitions(config.runs_dir)
    done = [compact_partition(folder, minimum_files=config.minimum_files) for folder in folders]
    if problems:
        done.append(Compacted(folder=str(config.runs_dir), warnings=tuple(problems)))
    return tuple(done)


def compact_partition(folder: Path, *, minimum_files: int) -> Compacted:
    """Merge the small files seen now, and earlier merged ones, into `part-<hash>.parquet`.

    A file that cannot be read stays, with a warning. Raises RunsUnwritable; nothing is lost then.
    """
    partition = scan_partition(folder)
    _sweep(partition.temporary)
    warnings = [foreign(path) for path in partition.foreign]
    if len(partition.loose) < minimum_files:
        return Compacted(folder=str(folder), warnings=tuple(warnings))
    sources = _read_sources(partition, warnings)
    if not any(source.runs for source in sources):
        return Compacted(folder=str(folder), warnings=tuple(warnings))
    try:
        part, runs = _merge(folder, sources)
    except FileNotFoundError:
        # Another compaction has merged the new file already; what is left waits for the next one.
        return Compacted(folder=str(folder), warnings=tuple(warnings))
    replaced = [source for source in sources if source.path != part]
    for source in replaced:
        _retire(source, warnings)
    return Compacted(
        folder=str(folder), part=str(part), runs=runs, files=len(replaced), warnings=tuple(warnings)
    )


def _read_sources(partition: Partition, warnings: list[Problem]) -> list[_Source]:
    """The readable files, merged ones first, so that a loose copy of a run takes precedence."""
    sources: list[_Source] = []
    for path in [*reversed(partition.parts), *partition.loose]:
        try:
            sources.append(_Source(path, loose=path in partition.loose))
        except FileNotFoundError:
            continue  # another compaction merged it
        except UNREADABLE as error:
            warnings.append(unreadable(path, error))
    return sources


def _split(table: pa.Table) -> dict[str, pa.Table]:
    """The rows of each run; a run's rows stand together."""
    ids = table.column("run_id").to_pylist()
    starts = [row for row in range(len(ids)) if row == 0 or ids[row] != ids[row - 1]]
    if len(starts) != len(set(ids)):
        raise ValueError("the rows of its runs are mixed")
    return {ids[start]: table.slice(start, end - start) for start, end in pairwise([*starts, len(ids)])}


def _merge(folder: Path, sources: list[_Source]) -> tuple[Path, int]:
    """Write the merged file and read it back. Returns it and the number of its runs."""
    runs = {run_id: rows for source in sources for run_id, rows in source.runs.items()}
    table = pa.concat_tables([runs[run_id] for run_id in sorted(runs)])
    content = encode_table(table)
    part = folder / f"part-{sha256(content).hexdigest()[:16]}.parquet"
    write_atomically(part, content)
    if not _reads_back(part, content, table.column("run_id").to_pylist()):
        raise RunsUnwritable(f"{part} does not read back as written, and its sources stay: check the disk.")
    return part, len(runs)


def _reads_back(part: Path, content: bytes, ids: list[str]) -> bool:
    try:
        return read_ids(part) == ids and part.read_bytes() == content
    except FileNotFoundError:
        raise
    except UNREADABLE:
        return False


def _retire(source: _Source, warnings: list[Problem]) -> None:
    """Delete a merged file, unless somebody replaced it since it was read."""
    try:
        if _identity(source.path) == source.identity:
            source.path.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        warnings.append(
            Problem(
                path=str(source.path),
                reason=f"merged but not deleted ({error.strerror or error})",
                remedy="mend the folder's permissions; its run counts once all the same",
                fatal=False,
            )
        )


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _sweep(temporary: list[Path]) -> None:
    """Delete what a crashed writer left; a day spares every writer that still lives."""
    for path in temporary:
        try:
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unwritable(path.parent, error) from error
