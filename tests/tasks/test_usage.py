"""Usage: each run counts once, on its own registry, whatever file holds it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from pickysteve.tasks.compact import CompactConfig, compact_runs
from pickysteve.tasks.log import LogConfig, read_trace, write_trace
from pickysteve.tasks.outcome import OUTCOME
from pickysteve.tasks.records import encode_table, read_table
from pickysteve.tasks.usage import AmbiguousPair, SkillUse, Usage, read_usage_of
from pickysteve.tasks.values import Candidate, Pick, Request, StageRecord, Trace

SKILLS = ("a", "b", "c", "d")


def trace(number: int, pick: Pick, *, day: int = 1, registry: str = "/skills", **changes: Any) -> Trace:
    near = [{"skill_id": skill} for skill in changes.pop("near", ())]
    stages = (
        StageRecord(stage="gate-request", milliseconds=float(number), output={}),
        StageRecord(stage="floor", milliseconds=1.0, output={"nearest": near}, cached=number % 2 == 0),
    )
    fields: dict[str, Any] = {
        "run_id": f"202601{day:02}T000000-{number:04}",
        "started_at": f"2026-01-{day:02}T03:04:05Z",
        "request": Request(text="a request"),
        "registry": registry,
        "fingerprints": {},
        "pick": pick,
        "stages": stages,
        "milliseconds": 10.0 * number,
    }
    return Trace(**(fields | changes))


def candidate(skill: str) -> Candidate:
    return Candidate(unit_id=f"{skill}/u", skill_id=skill, bm25=0, dense=0, fused_rank=1)


ABSTAINED = Pick(status="no_confident_match")
RUNS = (
    trace(1, Pick(status="ok", skills=("a",))),
    trace(2, Pick(status="ok", skills=("a", "b"))),
    trace(3, Pick(status="ok", skills=("a",), prediction_set=("c", "a"), ambiguous=True)),
    trace(4, Pick(status="ok", skills=("b",), prediction_set=("b", "a", "c"), ambiguous=True)),
    trace(5, ABSTAINED, near=("c", "a"), day=2),
    trace(6, ABSTAINED, near=("c",), day=2),
    trace(7, Pick(status="blocked_retrieved"), candidates=(candidate("d"), candidate("d")), day=3),
    trace(8, Pick(status="blocked_request"), stages=(), day=3),
)


def write(runs_dir: Path, *traces: Trace) -> list[Path]:
    return [Path(write_trace(one, LogConfig(runs_dir=runs_dir)).path) for one in traces]


def counts(usage: Usage) -> dict[str, tuple[int, int, int, int]]:
    return {use.skill_id: (use.picked, use.ambiguous, use.near, use.refused) for use in usage.skills}


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    write(tmp_path, *RUNS)
    return tmp_path


def test_skills_are_counted_by_what_became_of_them(runs_dir: Path) -> None:
    usage = read_usage_of(runs_dir, SKILLS)
    assert usage.runs == 8
    assert counts(usage) == {"a": (3, 2, 1, 0), "b": (2, 1, 0, 0), "c": (0, 2, 2, 0), "d": (0, 0, 0, 1)}
    assert usage.never_picked == ("c", "d")
    assert usage.skills[0] == SkillUse(skill_id="a", picked=3, ambiguous=2, near=1)


def test_statuses_days_and_ambiguous_pairs_are_counted(runs_dir: Path) -> None:
    usage = read_usage_of(runs_dir, SKILLS)
    assert usage.statuses == {
        "ok": 4,
        "no_confident_match": 2,
        "blocked_request": 1,
        "blocked_retrieved": 1,
    }
    assert usage.days == {"2026-01-01": 4, "2026-01-02": 2, "2026-01-03": 2}
    assert (usage.first_day, usage.last_day) == ("2026-01-01", "2026-01-03")
    assert usage.ambiguous_pairs == (
        AmbiguousPair(first="a", second="c", runs=2),
        AmbiguousPair(first="a", second="b", runs=1),
        AmbiguousPair(first="b", second="c", runs=1),
    )


def test_stages_stand_in_their_order_with_their_own_n_and_the_run_last(runs_dir: Path) -> None:
    stages = read_usage_of(runs_dir, SKILLS).stages
    assert [(one.stage, one.n, one.p50, one.cached) for one in stages] == [
        ("gate-request", 7, 4.0, 0),
        ("floor", 7, 1.0, 3),
        ("run", 8, 45.0, 0),
    ]
    assert stages[0].p95 == pytest.approx(6.7)


def test_only_days_since_the_first_are_counted(runs_dir: Path) -> None:
    usage = read_usage_of(runs_dir, SKILLS, since=date(2026, 1, 2))
    assert (usage.runs, usage.first_day) == (4, "2026-01-02")


def test_runs_of_other_registries_are_left_out_and_told(runs_dir: Path) -> None:
    write(runs_dir, trace(9, Pick(status="ok", skills=("a",)), registry="/other"))
    usage = read_usage_of(runs_dir, SKILLS, "/skills")
    assert (usage.runs, usage.other_registries) == (8, 1)
    assert counts(usage)["a"][0] == 3
    assert {one.stage: one.n for one in usage.stages}["floor"] == 7
    assert read_usage_of(runs_dir, SKILLS).runs == 9


def test_compaction_changes_no_count(runs_dir: Path) -> None:
    before = read_usage_of(runs_dir, SKILLS, "/skills")
    list(compact_runs(CompactConfig(runs_dir=runs_dir, minimum_files=2)))
    assert list(runs_dir.rglob("part-*.parquet"))
    assert read_usage_of(runs_dir, SKILLS, "/skills") == before


def test_a_run_in_two_files_counts_once(runs_dir: Path) -> None:
    kept = {path: path.read_bytes() for path in runs_dir.rglob("*.parquet")}
    before = read_usage_of(runs_dir, SKILLS)
    list(compact_runs(CompactConfig(runs_dir=runs_dir, minimum_files=2)))
    for path, content in kept.items():
        path.write_bytes(content)
    assert read_usage_of(runs_dir, SKILLS) == before


def test_records_of_the_first_version_are_counted_read_and_compacted_alike(runs_dir: Path) -> None:
    before = read_usage_of(runs_dir, SKILLS, "/skills")
    for path in runs_dir.rglob("*.parquet"):
        old = parquet.ParquetFile(path).read().drop_columns(list(OUTCOME))
        path.write_bytes(encode_table(old))
    assert read_usage_of(runs_dir, SKILLS, "/skills") == before
    assert read_trace(runs_dir, RUNS[2].run_id) == RUNS[2]
    list(compact_runs(CompactConfig(runs_dir=runs_dir, minimum_files=2)))
    for part in runs_dir.rglob("part-*.parquet"):
        assert "picks" in read_table(part).column_names
    assert read_usage_of(runs_dir, SKILLS, "/skills") == before


def test_a_damaged_file_is_named_and_the_others_are_counted(runs_dir: Path) -> None:
    damaged = next(runs_dir.rglob("*-0001.parquet"))
    damaged.write_bytes(b"PAR1 no")
    usage = read_usage_of(runs_dir, SKILLS)
    assert usage.runs == 7
    assert [warning.path for warning in usage.warnings] == [str(damaged)]


def test_without_runs_every_skill_was_never_picked(tmp_path: Path) -> None:
    usage = read_usage_of(tmp_path / "nowhere", SKILLS)
    assert (usage.runs, usage.never_picked, usage.stages) == (0, SKILLS, ())
