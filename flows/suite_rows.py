"""The rows of a suite on disk: appended as they finish, taken up again after an interruption."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from pickysteve.calibration.metrics import Row
from pickysteve.errors import RunMissing
from pickysteve.flows.dag import Engines, fingerprints
from pickysteve.flows.serving import ProxyConfig, ServeConfig
from pickysteve.flows.settings import Settings
from pickysteve.flows.suite import Task
from pickysteve.tasks.stage import StageConfig, code_digest, source_digest
from pickysteve.tasks.values import Trace

__all__ = [
    "ROWS_FILE",
    "SuiteRow",
    "append_row",
    "keep_rows",
    "read_rows",
    "row_fingerprint",
    "row_parts",
    "suite_row",
    "task_digest",
    "write_parquet",
    "write_rows",
]

ROWS_FILE = "rows.jsonl"
SCORES = 10

_TEXTS = pa.list_(pa.string())
COLUMNS = pa.schema(
    {
        "id": pa.string(),
        "category": pa.string(),
        "request": pa.string(),
        "gold": _TEXTS,
        "accept": _TEXTS,
        "traps": _TEXTS,
        "must_block": pa.bool_(),
        "right": pa.bool_(),
        "status": pa.string(),
        "picks": _TEXTS,
        "prediction_set": _TEXTS,
        "ranked": _TEXTS,
        "score": pa.float64(),
        # scores as JSON: a struct column would have one field for every skill
        "scores": pa.string(),
        "ambiguous": pa.bool_(),
        "low_confidence": pa.bool_(),
        "bm25_ranked": _TEXTS,
        "bm25_score": pa.float64(),
        "run_id": pa.string(),
        "task_sha256": pa.string(),
        "fingerprint": pa.string(),
        "milliseconds": pa.float64(),
        "stages": pa.map_(pa.string(), pa.float64()),
    }.items()
)


class SuiteRow(Row):
    """A row with what is needed to show it, and to know later whether it still holds."""

    request: str
    scores: dict[str, float] = Field(default_factory=dict)
    """The best skills and their scores."""
    low_confidence: bool = False
    bm25_ranked: tuple[str, ...] = ()
    """What plain BM25 puts first."""
    bm25_score: float = 0.0
    run_id: str
    task_sha256: str
    fingerprint: str

    def answered_by(self, parts: Mapping[str, str]) -> bool:
        """Whether these engines, settings and code gave the answer."""
        return self.fingerprint == row_fingerprint(parts)


def task_digest(task: Task) -> str:
    """SHA-256 of a task: its request and what it expects."""
    return sha256(task.model_dump_json().encode()).hexdigest()


def row_parts(engines: Engines, settings: Settings) -> dict[str, str]:
    """Digests of all that decides an answer, by name: the engines, the settings, the code."""
    stages = {
        name: value.model_dump(mode="json")
        for name, value in settings
        if isinstance(value, StageConfig) and not isinstance(value, ServeConfig | ProxyConfig)
    }
    return {
        **fingerprints(engines, settings),
        "settings": _digest({"exclude": settings.exclude, "stages": stages}),
        "code": _digest([code_digest(), _composition_digest()]),
    }


def row_fingerprint(parts: Mapping[str, str]) -> str:
    """SHA-256 over all that decides an answer."""
    return _digest(dict(parts))


@cache
def _composition_digest() -> str:
    """Of the code that puts the stages together and makes a row of it."""
    here = Path(__file__).resolve().parent
    return source_digest([here / f"{name}.py" for name in ("answering", "asking", "dag", "suite_rows")])


def _digest(content: object) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def suite_row(
    task: Task,
    trace: Trace,
    plain: tuple[Sequence[str], float],
    parts: Mapping[str, str],
    must_block: bool,
) -> SuiteRow:
    """What became of a task; `plain` is BM25's ranking and best score, `parts` decided the answer."""
    scores: dict[str, float] = {}
    for candidate in trace.candidates:
        scores.setdefault(candidate.skill_id, candidate.score or 0.0)
    return SuiteRow(
        **task.model_dump(include={"id", "category", "gold", "accept", "traps", "request"}),
        must_block=must_block,
        status=trace.pick.status,
        picks=trace.pick.skills,
        prediction_set=trace.pick.prediction_set,
        ranked=tuple(scores),
        score=max(scores.values(), default=None),
        scores=dict(list(scores.items())[:SCORES]),
        ambiguous=trace.pick.ambiguous,
        low_confidence=trace.pick.low_confidence,
        bm25_ranked=tuple(plain[0][:SCORES]),
        bm25_score=plain[1],
        run_id=trace.run_id,
        task_sha256=task_digest(task),
        fingerprint=row_fingerprint(parts),
        milliseconds=trace.milliseconds,
        stages={record.stage: record.milliseconds for record in trace.stages},
    )


def read_rows(folder: Path) -> tuple[SuiteRow, ...]:
    """The rows of a finished suite; raises RunMissing when they are not there or damaged."""
    try:
        lines = (folder / ROWS_FILE).read_text(encoding="utf-8").splitlines()
        return tuple(SuiteRow.model_validate_json(line) for line in lines)
    except (OSError, ValueError) as error:
        raise RunMissing(f'"{folder}" holds no rows of a suite: run "pickysteve trifecta" again.') from error


def keep_rows(folder: Path, wanted: dict[str, str], fingerprint: str) -> dict[str, SuiteRow]:
    """Rows of an earlier, interrupted run that still hold, by id: same task, engines, settings and code.

    A line that was cut off in the middle of a write is no row; its task is run again.
    """
    path = folder / ROWS_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    kept = {}
    for line in lines:
        try:
            row = SuiteRow.model_validate_json(line)
        except ValidationError:
            continue
        if row.fingerprint == fingerprint and wanted.get(row.id) == row.task_sha256:
            kept[row.id] = row
    return kept


def append_row(folder: Path, row: SuiteRow) -> None:
    """Add one row; what was written before stays whatever happens."""
    with (folder / ROWS_FILE).open("a", encoding="utf-8") as file:
        file.write(row.model_dump_json() + "\n")


def write_rows(folder: Path, rows: Sequence[SuiteRow]) -> None:
    """Replace the file, all or nothing."""
    draft = folder / f"{ROWS_FILE}.draft"
    draft.write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")
    draft.replace(folder / ROWS_FILE)


def write_parquet(rows: Sequence[SuiteRow], path: Path) -> None:
    """The same rows as a table, in the order of the suite."""
    records = [
        {
            **row.model_dump(include=set(COLUMNS.names)),
            "right": row.right,
            "scores": json.dumps(row.scores),
            "stages": list(row.stages.items()),
        }
        for row in rows
    ]
    pq.write_table(pa.Table.from_pylist(records, schema=COLUMNS), path, compression="zstd")
