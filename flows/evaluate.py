"""Evaluate: run a suite through the request flow, with plain BM25 beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Protocol

from pydantic import Field
from rank_bm25 import BM25Okapi

from pickysteve.calibration.metrics import Row, Summary, summarise
from pickysteve.errors import RequestInvalid, RunsUnwritable, SuiteInvalid
from pickysteve.flows.asking import read_request
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.settings import Settings
from pickysteve.flows.suite import Task
from pickysteve.flows.suite_rows import (
    SuiteRow,
    append_row,
    keep_rows,
    row_fingerprint,
    suite_row,
    task_digest,
    write_parquet,
    write_rows,
)
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.bm25 import plain_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request

__all__ = ["Evaluation", "Mapper", "PlainBm25", "evaluate_suite", "on_threads"]

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
    """How the tasks of a suite are spread: over threads here, over task runs on a Prefect server."""

    def __call__(self, answer: Callable[[Task], SuiteRow], tasks: Sequence[Task]) -> Iterator[SuiteRow]:
        """Rows as they finish."""


def on_threads(workers: int = 1) -> Mapper:
    """Spread over threads. With one, the times are those of a request that has the machine to itself."""

    def spread(answer: Callable[[Task], SuiteRow], tasks: Sequence[Task]) -> Iterator[SuiteRow]:
        pool = ThreadPoolExecutor(workers)
        try:
            for future in as_completed([pool.submit(answer, task) for task in tasks]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    return spread


class PlainBm25:
    """rank-bm25 over plain lower-case words of each whole file: the baseline beside every figure."""

    def __init__(self, index: SearchIndex) -> None:
        self.skills = [unit.skill_id for unit in index.data.units.values()]
        self.engine = BM25Okapi([plain_terms(unit.text) for unit in index.data.units.values()])

    def rank(self, request: str) -> tuple[tuple[str, ...], float]:
        """Skills, best first, and the best score."""
        scores = self.engine.get_scores(plain_terms(request))
        order = sorted(range(len(self.skills)), key=lambda at: -scores[at])
        return tuple(dict.fromkeys(self.skills[at] for at in order)), float(max(scores, default=0.0))


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
    Raises SuiteInvalid before any run for a task that is no request or shares its id, and
    RunsUnwritable when `out` cannot be written.
    """
    requests = _requests(tasks, settings)
    baseline = PlainBm25(engines.index)
    settings = settings.model_copy(update={"runs_dir": out / "runs"})
    fingerprint = row_fingerprint(engines, settings)
    wanted = {task.id: task_digest(task) for task in tasks}
    rows = keep_rows(out, wanted, fingerprint) if resume else {}
    reused = len(rows)
    _start(out, list(rows.values()))

    def answer(task: Task) -> SuiteRow:
        trace = pick_context(requests[task.id], engines, settings, Direct())
        plain = baseline.rank(task.request)
        return suite_row(task, trace, plain, fingerprint, task.category in must_block)

    progress(len(rows), len(tasks))
    for row in (mapper or on_threads())(answer, [task for task in tasks if task.id not in rows]):
        append_row(out, row)
        rows[row.id] = row
        progress(len(rows), len(tasks))
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


def _requests(tasks: Sequence[Task], settings: Settings) -> dict[str, Request]:
    """The request of each task, by the task's id."""
    requests: dict[str, Request] = {}
    for task in tasks:
        if task.id in requests:
            raise SuiteInvalid(f"Two tasks have the id {task.id}: give each its own.")
        try:
            requests[task.id] = read_request(task.request, settings.exclude, settings.gate)
        except RequestInvalid as error:
            raise SuiteInvalid(f"Task {task.id} is no request. {error}") from error
    return requests


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
