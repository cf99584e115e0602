"""Compact: the scheduled flow that merges the run records of each finished partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from pickysteve.flows.settings import load_settings
from pickysteve.tasks.compact import CompactConfig, Compacted, compact_partition, compact_runs

__all__ = ["compact", "compact_partition", "compact_runs"]


@flow(name="compact", persist_result=False)
def compact(runs_dir: str | None = None, minimum_files: int = 16) -> State[Any]:
    """Merge small files of run records. Every run stays readable; raises RunsUnwritable.

    Args:
        runs_dir: Folder of the records; that of the settings when left out.
        minimum_files: Small files of one day that make it worth merging.
    """
    folder = Path(runs_dir) if runs_dir else load_settings().runs_dir
    done = compact_runs(CompactConfig(runs_dir=folder, minimum_files=minimum_files))
    merged = [each for each in done if each.part]
    if merged or any(each.warnings for each in done):
        _publish(done)
    said = f"{sum(each.files for each in merged)} files became {len(merged)}"
    return Completed(name="Compacted", message=said, data=done)


def _publish(done: tuple[Compacted, ...]) -> None:
    rows = [
        {
            "folder": each.folder,
            "runs": each.runs,
            "files": each.files,
            "not readable": ", ".join(warning.path for warning in each.warnings),
        }
        for each in done
    ]
    create_table_artifact(key="compacted", table=rows, description="Run records that were merged")
