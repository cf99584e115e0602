"""Run records: what is written is read back, and nothing is half-written or counted twice."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.errors import RunMissing, RunsUnwritable
from pickysteve.tasks.log import (
    LogConfig,
    check_writable,
    list_traces,
    log,
    new_run_id,
    read_trace,
    write_trace,
)
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import (
    Bundle,
    Candidate,
    Degradation,
    Pick,
    Request,
    StageRecord,
    Trace,
)

finite = st.floats(allow_nan=False, width=64)
leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | st.text(max_size=8)
outputs = st.dictionaries(st.text(max_size=8), leaves | st.lists(leaves, max_size=3), max_size=4)
records = st.builds(
    StageRecord,
    stage=st.sampled_from(["gate", "route", "retrieve"]),
    milliseconds=st.floats(0, 1e6),
    output=outputs,
    cached=st.booleans(),
)
candidates = st.builds(
    Candidate,
    unit_id=st.text(max_size=8),
    skill_id=st.text(max_size=8),
    bm25=finite,
    dense=finite,
    fused_rank=st.integers(0, 50),
    features=st.dictionaries(st.text(max_size=4), finite, max_size=2),
)


def make_trace(run_id: str = "20260102T030405-aa", **changes: Any) -> Trace:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "started_at": "2026-01-02T03:04:05.678901Z",
        "request": Request(text="why is the query slow"),
        "registry": "registry",
        "fingerprints": {"gate": "g1"},
        "pick": Pick(status="ok", skills=("sql-tuning",)),
        "stages": (
            StageRecord(stage="request_gate", milliseconds=1.5, output={"allowed": True}),
            StageRecord(stage="route", milliseconds=0.25, output={"degraded": "no model"}, cached=True),
        ),
        "degraded": (Degradation(stage="route", reason="no model"),),
        "milliseconds": 12.5,
    }
    return Trace(**(fields | changes))


def write(runs_dir: Path, *traces: Trace) -> list[Path]:
    return [Path(write_trace(trace, LogConfig(runs_dir=runs_dir)).path) for trace in traces]


def everything_under(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@settings(max_examples=25, deadline=None)
@given(
    text=st.text(max_size=40),
    stages=st.lists(records, max_size=4),
    found=st.lists(candidates, max_size=3),
    milliseconds=st.floats(0, 1e6),
)
def test_a_trace_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    stages: list[StageRecord],
    found: list[Candidate],
    milliseconds: float,
) -> None:
    runs_dir = tmp_path_factory.mktemp("runs")
    trace = make_trace(
        request=Request(text=text),
        stages=tuple(stages),
        candidates=tuple(found),
        milliseconds=milliseconds,
        bundle=Bundle(nonce="n", text=text),
    )
    write(runs_dir, trace)
    assert read_trace(runs_dir, trace.run_id) == trace
    shutil.rmtree(runs_dir)


def test_a_run_is_one_file_with_a_row_for_the_run_and_each_stage(tmp_path: Path) -> None:
    (path,) = write(tmp_path, make_trace())
    assert path == tmp_path / "flow=request" / "date=2026-01-02" / "20260102T030405-aa.parquet"
    rows = parquet.ParquetFile(path).read().to_pylist()
    assert [(row["seq"], row["stage"], row["status"], row["cached"]) for row in rows] == [
        (0, "run", "ok", False),
        (1, "request_gate", "ok", False),
        (2, "route", "degraded", True),
    ]
    assert [json.loads(row["inputs"]) for row in rows] == [[], [], ["request_gate"]]
    assert {row["started_at"].isoformat() for row in rows} == {"2026-01-02T03:04:05.678901+00:00"}
    assert "stages" not in json.loads(rows[0]["output"])


def test_the_day_of_the_folder_is_utc(tmp_path: Path) -> None:
    (path,) = write(tmp_path, make_trace(started_at="2026-01-02T23:30:00-05:00"))
    assert path.parent.name == "date=2026-01-03"


def test_the_log_stage_runs_as_a_stage(tmp_path: Path) -> None:
    run = Direct()
    logged = run(log, make_trace(), config=LogConfig(runs_dir=tmp_path))
    assert Path(logged.path).is_file()
    assert (log.cached, run.records[0].stage) == (False, "log")


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = []
    for _ in range(20):
        ids.append(new_run_id())
        time.sleep(2e-6)
    assert sorted(ids) == ids
    assert len(set(ids)) == 20


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "../escape"},
        {"run_id": "a/b"},
        {"run_id": ""},
        {"run_id": "part-0123456789abcdef"},
        {"flow": "../../etc"},
        {"flow": "a=b"},
        {"started_at": "yesterday"},
    ],
)
def test_a_trace_that_cannot_name_a_file_is_refused(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(RunsUnwritable):
        write(tmp_path / "runs", make_trace(**changes))
    assert everything_under(tmp_path) == []


def blocked_by_a_file(tmp_path: Path) -> Path:
    (tmp_path / "runs").write_text("not a folder")
    return tmp_path / "runs"


def below_a_file(tmp_path: Path) -> Path:
    return blocked_by_a_file(tmp_path) / "deeper"


def through_a_dangling_link(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "at-all")
    return tmp_path / "link"


def with_too_long_a_name(tmp_path: Path) -> Path:
    return tmp_path / ("x" * 300)


@pytest.mark.parametrize(
    "place", [blocked_by_a_file, below_a_file, through_a_dangling_link, with_too_long_a_name]
)
def test_an_unwritable_folder_is_told_before_and_at_the_write(tmp_path: Path, place: Any) -> None:
    runs_dir = place(tmp_path)
    before = everything_under(tmp_path)
    with pytest.raises(RunsUnwritable, match="set PS_RUNS_DIR"):
        check_writable(runs_dir)
    with pytest.raises(RunsUnwritable, match="set PS_RUNS_DIR"):
        write(runs_dir, make_trace())
    assert everything_under(tmp_path) == before


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "runs")
    assert list((tmp_path / "new" / "runs").iterdir()) == []


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    (path,) = write(tmp_path, make_trace())
    kept = path.read_bytes()
    resource = pytest.importorskip("resource")
    large = make_trace(request=Request(text=os.urandom(100_000).hex()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(RunsUnwritable, match="File too large"):
            write(tmp_path, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == kept
    assert len(everything_under(tmp_path)) == 1


def test_a_unique_prefix_is_enough(tmp_path: Path) -> None:
    write(tmp_path, make_trace("20260101-aa"), make_trace("20260101-ab"), make_trace("20260101-a"))
    assert read_trace(tmp_path, "20260101-ab").run_id == "20260101-ab"
    assert read_trace(tmp_path, "20260101-a").run_id == "20260101-a"
    with pytest.raises(RunMissing, match="3 runs start with 20260101"):
        read_trace(tmp_path, "20260101")


@pytest.mark.parametrize("run_id", ["", "*", "../x", "/etc/passwd", "a\x00b", ".", "x" * 5000, "part-"])
def test_an_id_that_is_none_finds_nothing_anywhere(tmp_path: Path, run_id: str) -> None:
    write(tmp_path / "runs", make_trace("x"))
    shutil.copy(tmp_path / "runs/flow=request/date=2026-01-02/x.parquet", tmp_path / "runs" / "flow=request")
    with pytest.raises(RunMissing, match="pickysteve runs list"):
        read_trace(tmp_path / "runs", run_id)


def test_a_missing_run_names_the_remedy(tmp_path: Path) -> None:
    for runs_dir in (tmp_path, tmp_path / "absent"):
        with pytest.raises(RunMissing, match="`pickysteve runs list`"):
            read_trace(runs_dir, "20260101")


def test_runs_are_listed_newest_first_across_flows_and_days(tmp_path: Path) -> None:
    days = {"2026-01-01": ["a1", "a2"], "2026-01-02": ["b1"], "2026-01-03": ["c1", "c2"]}
    for day, ids in days.items():
        for position, run_id in enumerate(ids):
            flow = ("request", "ingest")[position]
            write(tmp_path, make_trace(run_id, flow=flow, started_at=f"{day}T10:00:0{position}+00:00"))
    assert [run.run_id for run in list_traces(tmp_path, 10).runs] == ["c2", "c1", "b1", "a2", "a1"]
    assert [run.run_id for run in list_traces(tmp_path, 1).runs] == ["c2"]
    assert list_traces(tmp_path, 0).runs == ()
    assert list_traces(tmp_path / "absent", 5).runs == ()


def test_a_listed_request_is_one_printable_line(tmp_path: Path) -> None:
    text = "\x1b]0;owned\x07 two\nlines \u202e reversed " + "and long " * 30
    write(tmp_path, make_trace(request=Request(text=text)))
    (run,) = list_traces(tmp_path).runs
    assert run.request.isprintable()
    assert len(run.request) <= 80
    assert (run.status, run.picks, run.flow, run.milliseconds) == ("ok", ("sql-tuning",), "request", 12.5)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_other_columns(path: Path) -> None:
    parquet.write_table(pa.table({"run_id": ["r"], "seq": [0]}), path)


def rewritten(path: Path, column: str, values: list[Any]) -> None:
    table = parquet.ParquetFile(path).read()
    position = table.schema.get_field_index(column)
    field = table.schema.field(column)
    changed = table.set_column(position, field, pa.array(values, field.type))
    parquet.write_table(changed.cast(table.schema), path)


def of_another_run(path: Path) -> None:
    rewritten(path, "run_id", ["other"] * 3)


def with_broken_json(path: Path) -> None:
    rewritten(path, "output", ["{", "{}", "{}"])


def with_a_list_for_a_trace(path: Path) -> None:
    rewritten(path, "output", ["[]", "{}", "{}"])


def with_bottomless_json(path: Path) -> None:
    rewritten(path, "output", ["[" * 200_000, "{}", "{}"])


DAMAGES = [
    truncated,
    empty,
    of_other_columns,
    of_another_run,
    with_broken_json,
    with_a_list_for_a_trace,
    with_bottomless_json,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_skipped_and_named(tmp_path: Path, damage: Any) -> None:
    path, _ = write(tmp_path, make_trace("bad"), make_trace("good"))
    damage(path)
    listed = list_traces(tmp_path)
    assert [run.run_id for run in listed.runs] == ["good"]
    assert [warning.path for warning in listed.warnings] == [str(path)]
    assert read_trace(tmp_path, "good").run_id == "good"
    with pytest.raises(RunMissing, match="cannot be read"):
        read_trace(tmp_path, "bad")


def test_a_flipped_byte_never_changes_what_is_read(tmp_path: Path) -> None:
    trace = make_trace()
    (path,) = write(tmp_path, trace)
    content = path.read_bytes()
    for position in range(0, len(content), 13):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            assert read_trace(tmp_path, trace.run_id) == trace
        except RunMissing as error:
            assert "cannot be read" in str(error)


def test_a_run_without_its_stages_is_not_read(tmp_path: Path) -> None:
    (path,) = write(tmp_path, make_trace("bad"))
    rewritten(path, "seq", [0, 2, 2])
    with pytest.raises(RunMissing, match="not those of one run"):
        read_trace(tmp_path, "bad")


def test_foreign_files_are_named_and_abandoned_temporary_files_are_not(tmp_path: Path) -> None:
    (path,) = write(tmp_path, make_trace())
    strangers = [path.with_name("notes.txt"), path.parent.parent / "flow.csv", tmp_path / "date=2026-01-01"]
    for stranger in strangers:
        stranger.write_text("x")
    (path.parent / "gone.parquet").symlink_to(tmp_path / "nowhere")
    path.with_name(".abc.tmp").write_text("half")
    listed = list_traces(tmp_path)
    assert len(listed.runs) == 1
    assert {Path(warning.path).name for warning in listed.warnings} == {
        "notes.txt",
        "flow.csv",
        "date=2026-01-01",
        "gone.parquet",
    }


def test_a_runs_folder_that_is_a_file_is_a_warning(tmp_path: Path) -> None:
    listed = list_traces(blocked_by_a_file(tmp_path))
    assert listed.runs == ()
    assert [warning.path for warning in listed.warnings] == [str(tmp_path / "runs")]


def test_writing_and_reading_load_neither_pandas_nor_prefect(tmp_path: Path) -> None:
    write(tmp_path, make_trace("old"))
    code = f"""
import sys
from pathlib import Path
from pickysteve.tasks.log import LogConfig, check_writable, list_traces, read_trace, write_trace
runs_dir = Path({str(tmp_path)!r})
check_writable(runs_dir)
write_trace(read_trace(runs_dir, "old"), LogConfig(runs_dir=runs_dir))
list_traces(runs_dir)
print({{"pandas", "prefect", "torch"}} & {{*sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
