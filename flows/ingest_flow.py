"""The Prefect flow that keeps the index of a registry up to date; its problems are an artifact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prefect import Task, flow
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.task_runners import TaskRunner

from pickysteve.flows.engines import ingest
from pickysteve.flows.ingest_jobs import (
    IngestJob,
    encode_batch,
    judge_batch,
    judging_batches,
    read_vectors,
    read_verdicts,
    text_words,
)
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.task_runs import RunnerName, open_runner, spread
from pickysteve.registry.models import Problem, Verdict
from pickysteve.registry.verdicts import TextSurface
from pickysteve.tasks.engines.embedder import open_encoder
from pickysteve.tasks.log import new_run_id

__all__ = ["ingest_flow"]

# a verdict is never taken from Prefect's results: the gate has a sealed store of its own
judge: Task[..., str] = Task(
    judge_batch, name="judge", task_run_name="{batch}", cache_policy=NO_CACHE, persist_result=False
)
encode: Task[..., str] = Task(
    encode_batch, name="encode", task_run_name="{batch}", cache_policy=NO_CACHE, persist_result=False
)


class _TaskRuns:
    """Judges and encodes in task runs of the surrounding flow, a batch each."""

    def __init__(self, runner: TaskRunner[Any], settings: Settings) -> None:
        self.runner = runner
        self.encoder = open_encoder(settings.embed)
        job = IngestJob(gate=settings.gate, embed=settings.embed, ingest=new_run_id())
        self.job = job.model_dump_json()

    def judge(self, texts: list[tuple[str, TextSurface]]) -> Iterator[tuple[TextSurface, Verdict]]:
        """The gate's verdicts, as they come."""
        batches = list(judging_batches(texts))
        if batches:
            for words in spread(self.runner, judge, self._each("judge", batches), self.job):
                yield from read_verdicts(words)

    def encode(self, batches: Sequence[Sequence[str]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The number of each batch and its vectors, as they come."""
        if not batches:
            return
        each = self._each("encode", batches)
        numbers = {name: number for number, name in enumerate(each["batch"])}
        lengths = {name: len(batches[number]) for name, number in numbers.items()}
        for words in spread(self.runner, encode, each, self.job):
            name, vectors = read_vectors(words, self.encoder, lengths)
            yield numbers[name], vectors

    def _each(self, what: str, batches: Sequence[Sequence[object]]) -> dict[str, list[str]]:
        names = [f"{what} {number} of {len(batches)}" for number in range(1, len(batches) + 1)]
        return {"batch": names, "texts": [text_words(batch) for batch in batches]}


@flow(name="ingest", persist_result=False)
def ingest_flow(
    registry: str | None = None,
    runner: RunnerName = "threads",
    workers: int = 1,
    scheduler: str | None = None,
) -> State[Any]:
    """Bring the index of a registry up to date; only what changed is scanned and encoded again.

    Args:
        registry: Folder of skills, or a set; that of the settings when left out.
        runner: Where batches are judged and encoded: threads of this process, or a Dask cluster.
        workers: How many batches at once; a cluster that stands has the workers that it has.
        scheduler: Address of a Dask scheduler; a cluster on this machine when left out.
    """
    return _ingested(load_settings(registry=Path(registry) if registry else None), runner, workers, scheduler)


def _ingested(settings: Settings, kind: RunnerName, workers: int, scheduler: str | None) -> State[Any]:
    with open_runner(kind, workers, scheduler) as opened:
        done = ingest(settings, helpers=_TaskRuns(opened, settings))
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
