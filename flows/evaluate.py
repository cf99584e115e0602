"""Evaluate: run a suite through the request flow, row by row, with plain BM25 beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rank_bm25 import BM25Okapi

from pickysteve.calibration.metrics import Row, Summary, summarise
from pickysteve.errors import RequestInvalid, RunsUnwritable, SuiteInvalid
from pickysteve.flows.asking import read_request
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.settings import Settings
from pickysteve.flows.suite import Task
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.bm25 import plain_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request, Trace

__all__ = ["Evaluation", "PlainBm25", "evaluate_suite"]

Progress = Callable[[int, int], None]


class Evaluation(Value):
    """The figures of one suite, ours and plain BM25's, and what the suite asks for that cannot be had."""

    ours: Summary
    bm25: Summary
    unknown_gold: tuple[str, ...] = ()
    """Skills that the suite expects and the registry does not have: certain misses."""


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
) -> Evaluation:
    """Run every task and write rows.jsonl, rows.parquet and summary.json to `out`.

    The run records of the tasks go to `out`/runs. Rows are written as they come, so that an
    interrupted evaluation keeps what it has. Raises SuiteInvalid before any run for a task that is no
    request, and RunsUnwritable when `out` cannot be written.
    """
    requests = [_request_of(task, settings) for task in tasks]
    try:
        out.mkdir(parents=True, exist_ok=True)
        rows_file = (out / "rows.jsonl").open("w", encoding="utf-8")
    except OSError as error:
        raise RunsUnwritable(
            f'"{out}" cannot be written ({error.strerror}): pass --out another folder.'
        ) from error
    settings = settings.model_copy(update={"runs_dir": out / "runs"})
    baseline = PlainBm25(engines.index)
    ours: list[Row] = []
    plain: list[Row] = []
    records = []
    with rows_file:
        for done, (task, request) in enumerate(zip(tasks, requests, strict=True), start=1):
            trace = pick_context(request, engines, settings, Direct())
            ours.append(_row(task, trace))
            plain.append(_baseline_row(task, baseline))
            records.append(_record(task, trace))
            rows_file.write(json.dumps(records[-1], ensure_ascii=False) + "\n")
            progress(done, len(tasks))
    evaluation = Evaluation(
        ours=summarise(ours), bm25=summarise(plain), unknown_gold=tuple(_unknown(tasks, engines.index))
    )
    _write_parquet(records, out / "rows.parquet")
    (out / "summary.json").write_text(evaluation.model_dump_json(indent=1), encoding="utf-8")
    return evaluation


def _request_of(task: Task, settings: Settings) -> Request:
    try:
        return read_request(task.request, settings.exclude, settings.gate)
    except RequestInvalid as error:
        raise SuiteInvalid(f"Task {task.id} is no request. {error}") from error


def _unknown(tasks: Sequence[Task], index: SearchIndex) -> Iterator[str]:
    yield from sorted({skill for task in tasks for skill in task.gold} - index.skills.keys())


def _ranked(trace: Trace) -> tuple[str, ...]:
    return tuple(dict.fromkeys(candidate.skill_id for candidate in trace.candidates))


def _row(task: Task, trace: Trace) -> Row:
    return Row(
        **_expected(task),
        status=trace.pick.status,
        picks=trace.pick.skills,
        prediction_set=trace.pick.prediction_set,
        ranked=_ranked(trace),
        score=max((candidate.score or 0.0 for candidate in trace.candidates), default=None),
        ambiguous=trace.pick.ambiguous,
        milliseconds=trace.milliseconds,
    )


def _baseline_row(task: Task, baseline: PlainBm25) -> Row:
    started = time.perf_counter()
    ranked, score = baseline.rank(task.request)
    return Row(
        **_expected(task),
        status="ok",
        picks=ranked[:1],
        prediction_set=ranked[:1],
        ranked=ranked,
        score=score,
        milliseconds=(time.perf_counter() - started) * 1000,
    )


def _expected(task: Task) -> dict[str, Any]:
    return task.model_dump(include={"id", "category", "gold", "accept", "traps"})


def _record(task: Task, trace: Trace) -> dict[str, Any]:
    scores: dict[str, float] = {}
    for candidate in trace.candidates:
        scores.setdefault(candidate.skill_id, candidate.score or 0.0)
    return {
        "id": task.id,
        "category": task.category,
        "gold": list(task.gold),
        "status": trace.pick.status,
        "picks": list(trace.pick.skills),
        "prediction_set": list(trace.pick.prediction_set),
        "scores": dict(list(scores.items())[:10]),
        "ambiguous": trace.pick.ambiguous,
        "low_confidence": trace.pick.low_confidence,
        "run_id": trace.run_id,
        "milliseconds": trace.milliseconds,
    }


def _write_parquet(records: Sequence[dict[str, Any]], path: Path) -> None:
    # scores as JSON: a struct column would have one field for every skill
    rows = [{**record, "scores": json.dumps(record["scores"])} for record in records]
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
