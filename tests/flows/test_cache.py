"""What is said of the cache is what the stages do."""

from __future__ import annotations

import ast
import inspect
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows import dag
from pickysteve.flows.cache import NEVER_CACHED, clear_cache, describe_cache
from pickysteve.flows.dag import STAGES
from pickysteve.tasks.cache_files import cache_folder, list_results

DAY = timedelta(days=1).total_seconds()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def put(stage: str, age_in_days: float = 0.0, number: int = 0) -> Path:
    cache_folder().mkdir(parents=True, exist_ok=True)
    path = cache_folder() / f"{stage}-{number:064x}"
    path.write_bytes(b"12345")
    written = time.time() - age_in_days * DAY
    os.utime(path, (written, written))
    return path


def left() -> set[str]:
    return {path.name.rsplit("-", 1)[0] for path in cache_folder().iterdir()}


def test_the_stages_are_those_that_the_flow_runs_in_its_order() -> None:
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(dag))) if isinstance(node, ast.Call)]
    run = [call for call in calls if ast.unparse(call.func) == "run" and call.args]
    in_order = [ast.unparse(call.args[0]) for call in sorted(run, key=lambda call: call.lineno)]
    # the log is written by the caller of all others, above them in the file
    assert [getattr(dag, name) for name in in_order[1:] + in_order[:1]] == list(STAGES)


def test_what_is_never_cached_is_the_gates_what_is_new_each_time_and_what_acts() -> None:
    never = [stage.name for stage in STAGES if not stage.cached]
    assert never == ["gate-request", "gate-documents", "clarify", "assemble", "execute", "log"]
    assert list(NEVER_CACHED) == never
    assert all(len(reason.split()) > 4 for reason in NEVER_CACHED.values())


def test_only_faults_that_pass_are_tried_again() -> None:
    """A wrong value stays wrong: pydantic's ValidationError is a ValueError."""
    passing = (ConnectionError, TimeoutError)
    assert all(issubclass(error, passing) for stage in STAGES for error in stage.retry_on)
    assert all(stage.retry_on for stage in STAGES if stage.retries)


def test_every_stage_ends() -> None:
    assert all(0 < stage.timeout_seconds < 3601 for stage in STAGES)


def test_the_report_counts_files_by_stage_and_says_which_are_too_old() -> None:
    put("route", 0.5)
    put("route", 2.0, number=1)
    put("judge")
    (cache_folder() / ("0" * 64)).write_bytes(b"of an older version")
    report = describe_cache()
    assert (report.folder, report.files, report.bytes, report.expired) == (str(cache_folder()), 4, 34, 1)
    assert report.older_versions == 1
    assert {stage.stage: stage.files for stage in report.stages if stage.files} == {"route": 2, "judge": 1}
    assert report.oldest < report.newest
    assert report.expires_after_seconds == DAY


def test_an_empty_cache_is_described_too() -> None:
    report = describe_cache()
    assert (report.files, report.oldest, report.newest) == (0, "", "")
    assert [stage.stage for stage in report.stages] == [stage.name for stage in STAGES]


def test_all_can_be_cleared_and_what_is_not_ours_stays() -> None:
    put("route")
    put("judge", 3)
    (cache_folder() / "notes.txt").write_text("mine")
    done = clear_cache()
    assert (done.files, done.bytes) == (2, 10)
    assert left() == {"notes.txt"}


def test_only_what_every_condition_names_is_cleared() -> None:
    for stage, age in (("route", 0.1), ("judge", 3), ("floor", 3), ("rerank", 1.5)):
        put(stage, age)
    assert clear_cache(older_than=timedelta(days=2), stage="judge").files == 1
    assert left() == {"route", "floor", "rerank"}
    assert clear_cache(older_than=timedelta(days=2)).files == 1
    assert clear_cache(expired=True).files == 1
    assert left() == {"route"}
    assert list_results(cache_folder())[0].stage == "route"


@pytest.mark.parametrize("stage", ["gate-request", "log", "rout", ""])
def test_a_stage_that_is_never_cached_or_unknown_is_refused(stage: str) -> None:
    put("route")
    with pytest.raises(SettingsInvalid, match="choose one of route, retrieve"):
        clear_cache(stage=stage)
    assert left() == {"route"}
