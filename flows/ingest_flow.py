"""The Prefect flow that keeps the index of a registry up to date; its problems are an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from pickysteve.flows.engines import ingest
from pickysteve.flows.settings import load_settings
from pickysteve.registry.models import Problem

__all__ = ["ingest_flow"]


@flow(name="ingest", persist_result=False)
def ingest_flow(registry: str | None = None) -> State[Any]:
    """Bring the index of a registry up to date; only what changed is scanned and encoded again.

    Args:
        registry: Folder of skills, or a set; that of the settings when left out.
    """
    done = ingest(load_settings(registry=Path(registry) if registry else None))
    if done.data.problems:
        _publish(done.data.problems)
    units, problems = len(done.data.units), len(done.data.problems)
    name = "Ingested" if not problems else "IngestedWithProblems"
    said = f"{len(done.data.skills)} skills in {units} files, {problems} problems"
    return Completed(name=name, message=said, data=None)


def _publish(problems: tuple[Problem, ...]) -> None:
    """A table renders no markup of the text in its cells; passages stay out of it all the same."""
    rows = [{"file": p.path, "reason": p.reason, "remedy": p.remedy} for p in problems[:200]]
    create_table_artifact(key="ingest-problems", table=rows, description="What was not taken, and why")
