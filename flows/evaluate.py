"""Evaluate: run a suite through the request flow, with plain BM25 beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Protocol

from pydantic import Field

from pickysteve.calibration.metrics import Row, Summary, summarise
from pickysteve.errors import RequestInvalid, RunsUnwritable, SuiteInvalid
from pickysteve.flows.answering import PlainBm25, answer_row, checked, job_key, row_job
from pickysteve.flows.asking import read_request
from pickysteve.flows.dag import Engines
from pickysteve.flows.opened import adopted
from pickysteve.flows.settings import Settings
from pickysteve.flows.suite import Task
from pickysteve.flows.suite_rows import (
    SuiteRow,
    append_row,
    keep_rows,
    row_fingerprint,
    task_digest,
    write_parquet,
    write_rows,
)
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.log import new_run_id, write_trace

__all__ = ["Evaluation", "Mapper", "evaluate_suite", "on_threads"]

Progress = Callable[[int, int], None]


class Evaluation(Value):
    """The figures of one suite, ours and plain BM25's, and what the suite asks for that cannot be had."""

    ours: Summary
    bm25: Summary
    unknown_gold: tuple[str, ...] = ()
    """Skills that the suite expects and the registry does not have: certain misses."""
    reused: int = 0
    """Rows that an interrupted run had left."""
    rows: tuple[SuiteRow, ...] = Field((), exclude=True, repr=False)


class Mapper(Protocol):
    """How the rows of a job are spread: over threads here, over task runs on a Prefect server."""

    def __call__(self, job: str, tasks: Sequence[Task]) -> Iterator[str]:
        """Each task's `answer_row`, as they finish."""


def on_threads(workers: int = 1) -> Mapper:
    """Spread over threads. With one, the times are those of a request that has the machine to itself."""

    def spread(job: str, tasks: Sequence[Task]) -> Iterator[str]:
        pool = ThreadPoolExecutor(workers)
        try:
            futures = [pool.submit(answer_row, task.id, task.model_dump_json(), job) for task in tasks]
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    return spread


def evaluate_suite(
    tasks: Sequence[Task],
    engines: Engines,
    settings: Settings,
    out: Path,
    progress: Progress = lambda _done, _total: None,
    *,
    mapper: Mapper | None = None,
    resume: bool = False,
    must_block: Collection[str] = (),
) -> Evaluation:
    """Run every task and write rows.jsonl, rows.parquet and summary.json to `out`.

    The run records of the tasks go to `out`/runs. Rows are appended as they finish; with `resume`,
    rows that an interrupted run left there and that still hold are not run again.
    Raises SuiteInvalid before any run for a task that is no request or shares its id, WorkerMismatch for
    a row that other engines, settings or code answered, and RunsUnwritable when `out` cannot be written.
    """
    _check_tasks(tasks, settings)
    settings = settings.model_copy(update={"runs_dir": out / "runs"})
    job, answerer = row_job(engines, settings, tuple(must_block), new_run_id())
    words, parts = job.model_dump_json(), answerer.parts
    wanted = {task.id: task_digest(task) for task in tasks}
    rows = keep_rows(out, wanted, row_fingerprint(parts)) if resume else {}
    reused = len(rows)
    _start(out, list(rows.values()))
    progress(len(rows), len(tasks))
    with adopted(job_key(words), answerer):
        for answered in (mapper or on_threads())(words, [task for task in tasks if task.id not in rows]):
            found = checked(answered, wanted, parts)
            if found.trace:
                write_trace(found.trace, settings.log)
            append_row(out, found.row)
            rows[found.row.id] = found.row
            progress(len(rows), len(tasks))
    baseline = answerer.baseline
    evaluation = _evaluated([rows[task.id] for task in tasks], tasks, baseline, engines.index, reused)
    write_rows(out, evaluation.rows)
    write_parquet(evaluation.rows, out / "rows.parquet")
    (out / "summary.json").write_text(evaluation.model_dump_json(indent=1), encoding="utf-8")
    return evaluation


def _start(out: Path, rows: Sequence[SuiteRow]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_rows(out, rows)
    except OSError as error:
        raise RunsUnwritable(
            f'"{out}" cannot be written ({error.strerror}): pass --out another folder.'
        ) from error


def _evaluated(
    rows: Sequence[SuiteRow], tasks: Sequence[Task], baseline: PlainBm25, index: SearchIndex, reused: int
) -> Evaluation:
    unknown = {skill for task in tasks for skill in task.gold} - index.skills.keys()
    return Evaluation(
        ours=summarise(rows),
        bm25=summarise(_baseline_row(row, baseline) for row in rows),
        unknown_gold=tuple(sorted(unknown)),
        reused=reused,
        rows=tuple(rows),
    )


def _check_tasks(tasks: Sequence[Task], settings: Settings) -> None:
    """Each task is a request, and has an id of its own."""
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise SuiteInvalid(f"Two tasks have the id {task.id}: give each its own.")
        seen.add(task.id)
        try:
            read_request(task.request, settings.exclude, settings.gate)
        except RequestInvalid as error:
            raise SuiteInvalid(f"Task {task.id} is no request. {error}") from error


def _baseline_row(row: SuiteRow, baseline: PlainBm25) -> Row:
    """BM25 always answers with its first."""
    started = time.perf_counter()
    ranked, score = baseline.rank(row.request)
    return Row(
        **row.model_dump(include={"id", "category", "gold", "accept", "traps", "must_block"}),
        status="ok",
        picks=ranked[:1],
        prediction_set=ranked[:1],
        ranked=ranked,
        score=score,
        milliseconds=(time.perf_counter() - started) * 1000,
    )
