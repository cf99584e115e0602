"""Compact: the scheduled flow that merges the run records of each finished partition."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from pickysteve.tasks.compact import CompactConfig, Compacted, compact_partition, compact_runs

__all__ = ["compact", "compact_partition", "compact_runs"]


@flow(name="compact", retries=0)
def compact(runs_dir: Path, minimum_files: int = 16) -> tuple[Compacted, ...]:
    """Merge the small files under runs_dir. Raises RunsUnwritable; every run stays readable."""
    return compact_runs(CompactConfig(runs_dir=runs_dir, minimum_files=minimum_files))
