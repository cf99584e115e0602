"""Run records: the Parquet rows of a Trace, one for the run and one for each of its stages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet

from pickysteve.tasks.outcome import OUTCOME, no_outcome, outcome_of
from pickysteve.tasks.partitions import PART, started
from pickysteve.tasks.values import Trace

__all__ = [
    "SCHEMA",
    "UNREADABLE",
    "encode_table",
    "read_heads",
    "read_ids",
    "read_run",
    "read_table",
    "read_usage",
    "trace_table",
]

TYPES = {
    "run_id": pa.string(),
    "flow": pa.string(),
    "started_at": pa.timestamp("us", tz="UTC"),
    "seq": pa.int32(),
    "stage": pa.string(),
    "status": pa.string(),
    "milliseconds": pa.float64(),
    "cached": pa.bool_(),
    "inputs": pa.string(),
    "output": pa.string(),
}


def _schema(types: dict[str, Any]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


SCHEMA = _schema(TYPES | OUTCOME)
WITHOUT_OUTCOME = _schema(TYPES)
"""Of the records of version 0.1.0, which are read as well."""
ROW_GROUP_ROWS = 2048

UNREADABLE = (pa.ArrowException, OSError, ValueError, RecursionError)
"""What a corrupt or foreign file makes Parquet, JSON and the models raise."""

USAGE = ["run_id", "seq", "stage", "status", "milliseconds", "cached", *OUTCOME]
Row = dict[str, Any]


def trace_table(trace: Trace) -> pa.Table:
    """One row for the run (seq 0), then one for each of its stages."""
    lines = [json.dumps(row) for row in _rows(trace)]
    content = "\n".join(lines).encode()
    # From JSON, because pa.array and pa.scalar import pandas (0.5 s).
    table = arrow_json.read_json(
        pa.BufferReader(content),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="error"),
    )
    return table.cast(SCHEMA)


def encode_table(table: pa.Table) -> bytes:
    """The bytes of a Parquet file, zstd."""
    sink = pa.BufferOutputStream()
    parquet.write_table(
        table, sink, compression="zstd", row_group_size=ROW_GROUP_ROWS, write_page_checksum=True
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_ids(path: Path) -> list[str]:
    """The run ids of a file, a row each. Raises one of UNREADABLE, as all readers here."""
    with _open(path) as file:
        ids: list[str] = file.read(columns=["run_id"], use_threads=False).column(0).to_pylist()
    return ids


def read_heads(path: Path) -> dict[str, str]:
    """For each run of a file, the JSON of its Trace without the stages."""
    rows = _read_rows(path, ["run_id", "seq", "output"])
    return {row["run_id"]: row["output"] for row in rows if row["seq"] == 0}


def read_run(path: Path, run_id: str) -> Trace:
    """One run of a file. A file named for a run must hold that run alone."""
    # Without started_at: a timestamp made into a Python value imports pandas.
    columns = [name for name in TYPES if name != "started_at"]
    return _decode(run_id, _read_rows(path, columns, run_id if PART.fullmatch(path.name) else None))


def read_table(path: Path) -> pa.Table:
    """All of a file, checked down to its UTF-8; columns of the outcome are made where they are missing."""
    with _open(path) as file:
        table = file.read(use_threads=False)
    table.validate(full=True)
    return table if "picks" in table.column_names else _with_outcomes(table)


def read_usage(path: Path) -> pa.Table:
    """The narrow columns of a file: everything but inputs and outputs."""
    with _open(path) as file:
        if "picks" in file.schema_arrow.names:
            return file.read(columns=USAGE, use_threads=False)
    return read_table(path).select(USAGE)


def _with_outcomes(table: pa.Table) -> pa.Table:
    """Version 0.1.0 kept the outcome in the outputs alone."""
    rows = table.select(["seq", "run_id", "stage", "output"]).to_pylist()
    floors = {row["run_id"]: _object(row["output"]) for row in rows if row["stage"] == "floor"}
    try:
        outcomes = [
            no_outcome() if row["seq"] else outcome_of(_object(row["output"]), floors.get(row["run_id"], {}))
            for row in rows
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("its output is not that of a run") from error
    for name, kind in OUTCOME.items():
        column = pa.array([outcome[name] for outcome in outcomes], kind)
        table = table.append_column(pa.field(name, kind, nullable=False), column)
    return table


def _rows(trace: Trace) -> Iterator[Row]:
    names = [record.stage for record in trace.stages]
    floor = next((record.output for record in trace.stages if record.stage == "floor"), {})
    head = trace.model_dump(mode="json", exclude={"stages"})
    run = {"run_id": trace.run_id, "flow": trace.flow, "started_at": started(trace).isoformat()}
    yield (
        run
        | outcome_of(head, floor)
        | {
            "seq": 0,
            "stage": "run",
            "status": trace.pick.status,
            "milliseconds": trace.milliseconds,
            "cached": False,
            "inputs": "[]",
            "output": json.dumps(head),
        }
    )
    for seq, record in enumerate(trace.stages, start=1):
        yield (
            run
            | no_outcome()
            | {
                "seq": seq,
                "stage": record.stage,
                "status": "degraded" if record.output.get("degraded") else "ok",
                "milliseconds": record.milliseconds,
                "cached": record.cached,
                "inputs": json.dumps(names[: seq - 1]),
                "output": json.dumps(record.output),
            }
        )


def _decode(run_id: str, rows: list[Row]) -> Trace:
    head, *stages = sorted(rows, key=lambda row: row["seq"]) or [{"seq": None}]
    if [head["seq"], *(row["seq"] for row in stages)] != list(range(len(rows))):
        raise ValueError("its rows are not those of one run")
    records = [
        {key: row[key] for key in ("stage", "milliseconds", "cached")} | {"output": _object(row["output"])}
        for row in stages
    ]
    trace = Trace.model_validate(_object(head["output"]) | {"stages": records})
    if {trace.run_id, *(row["run_id"] for row in rows)} != {run_id}:
        raise ValueError("its rows name another run")
    return trace


def _object(text: str) -> dict[str, Any]:
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("its output is not a JSON object")  # noqa: TRY004
    return content


def _read_rows(path: Path, columns: list[str], run_id: str | None = None) -> list[Row]:
    rows: list[Row] = []
    with _open(path) as file:
        for group in range(file.num_row_groups):
            if run_id and run_id not in _group(file, group, ["run_id"]).column(0).to_pylist():
                continue
            rows += _group(file, group, columns).to_pylist()
    return [row for row in rows if run_id in (None, row["run_id"])]


def _group(file: Any, group: int, columns: list[str]) -> pa.Table:
    return file.read_row_group(group, columns=columns, use_threads=False)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    # ParquetFile, because read_table would add the folders' flow= and date= as columns.
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        if not any(file.schema_arrow.equals(schema) for schema in (SCHEMA, WITHOUT_OUTCOME)):
            raise ValueError("its columns are not those of a run record")
        yield file
