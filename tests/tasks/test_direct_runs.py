"""Which recorded runs ran direct: from loose and compacted files, each once, damaged ones named."""

from datetime import date
from pathlib import Path

import pytest

from pickysteve.errors import RunMissing
from pickysteve.tasks.compact import CompactConfig, compact_runs
from pickysteve.tasks.direct_runs import find_runs, read_recorded
from pickysteve.tasks.log import LogConfig, write_trace
from pickysteve.tasks.values import Pick, Request, Trace


def write(
    runs_dir: Path, run_id: str, ran: str = "direct", day: str = "2026-01-02", flow: str = "request"
) -> Trace:
    trace = Trace(
        run_id=run_id,
        flow=flow,
        ran=ran,
        started_at=f"{day}T03:04:05+00:00",
        request=Request(text="why is the query slow"),
        registry="registry",
        fingerprints={},
        pick=Pick(status="ok"),
    )
    write_trace(trace, LogConfig(runs_dir=runs_dir))
    return trace


def test_each_run_of_the_flow_is_found_with_how_it_ran_oldest_first(tmp_path: Path) -> None:
    for run_id, ran in (("b", "direct"), ("a", "orchestrated"), ("c", "")):
        write(tmp_path, run_id, ran)
    write(tmp_path, "d", flow="lint")
    found = find_runs(tmp_path, "request")
    assert [(run.run_id, run.ran) for run in found.runs] == [
        ("a", "orchestrated"),
        ("b", "direct"),
        ("c", ""),
    ]
    assert found.warnings == ()


def test_days_before_the_first_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "old", day="2026-01-01")
    (damaged,) = (tmp_path / "flow=request" / "date=2026-01-01").iterdir()
    damaged.write_bytes(b"PAR1")
    write(tmp_path, "new")
    found = find_runs(tmp_path, "request", date(2026, 1, 2))
    assert ([run.run_id for run in found.runs], found.warnings) == (["new"], ())


def test_compacted_runs_are_found_and_read_like_loose_ones(tmp_path: Path) -> None:
    traces = [write(tmp_path, f"run{number}") for number in range(4)]
    before = find_runs(tmp_path, "request").runs
    compact_runs(CompactConfig(runs_dir=tmp_path, minimum_files=2))
    after = find_runs(tmp_path, "request").runs
    assert len({run.path for run in after}) == 1
    for runs in (before, after):
        # what was listed before the compaction is read after it
        assert [read_recorded(run, tmp_path) for run in runs] == traces


def test_a_damaged_file_is_named_and_a_record_that_is_gone_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "good")
    write(tmp_path, "bad")
    (damaged,) = tmp_path.rglob("bad.parquet")
    damaged.write_bytes(damaged.read_bytes()[:60])
    found = find_runs(tmp_path, "request")
    assert [run.run_id for run in found.runs] == ["good"]
    assert [problem.path for problem in found.warnings] == [str(damaged)]
    found.runs[0].path.unlink()
    with pytest.raises(RunMissing):
        read_recorded(found.runs[0], tmp_path)


def test_where_nothing_ran_nothing_is_found(tmp_path: Path) -> None:
    assert find_runs(tmp_path / "none", "request") == ((), ())
