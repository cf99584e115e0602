"""Rows answered in any process: small jobs without secrets, and no row of other engines is taken."""

import json
from dataclasses import replace

import pytest

from pickysteve.errors import IndexMissing, SettingsInvalid, WorkerMismatch
from pickysteve.flows.answering import Answered, answer_row, checked, job_key, row_job
from pickysteve.flows.opened import adopted
from pickysteve.flows.settings import load_settings
from pickysteve.flows.suite import Task
from pickysteve.flows.suite_rows import row_parts, task_digest

TASK = Task(id="a", request="cargo build fails with a borrow checker error", gold=("rust-build-errors",))
WANTED = {"a": task_digest(TASK)}


@pytest.fixture(scope="module")
def job(engines, small_settings):
    return row_job(engines, small_settings, (), "now")


@pytest.fixture(scope="module")
def elsewhere(job):
    """The answer of a process that opened everything from storage."""
    return answer_row("a", TASK.model_dump_json(), job[0].model_dump_json())


def test_a_job_is_small_and_holds_no_secret(engines, small_settings):
    kept = {
        "llm": {"api_key": "sk-model-host"},
        "serve": {"token": "sk-of-callers"},
        "proxy": {"api_key": "sk-upstream"},
    }
    settings = load_settings(registry=small_settings.registry, index_dir=small_settings.index_dir, **kept)
    words = row_job(engines, settings, (), "now")[0].model_dump_json()
    assert "sk-" not in words and "**" not in words
    assert len(words) < 8_000


def test_engines_opened_from_storage_answer_as_those_of_the_caller(job, elsewhere, small_settings):
    words = job[0].model_dump_json()
    with adopted(job_key(words), job[1]):
        here = Answered.model_validate_json(answer_row("a", TASK.model_dump_json(), words))
    there = checked(elsewhere, WANTED, job[1].parts)
    once = {"run_id", "milliseconds", "stages"}
    assert there.row.model_dump(exclude=once) == here.row.model_dump(exclude=once)
    assert there.row.picks == ("rust-build-errors",)


def test_the_record_travels_with_a_row_that_was_answered_elsewhere(elsewhere):
    found = Answered.model_validate_json(elsewhere)
    assert found.trace.run_id == found.row.run_id
    assert found.trace.request.text == TASK.request


def test_another_index_than_the_one_asked_for_is_told(job):
    other = job[0].model_copy(update={"index_digest": "0" * 64})
    with pytest.raises(IndexMissing, match="has no index 0000"):
        answer_row("a", TASK.model_dump_json(), other.model_dump_json())


def test_a_worker_without_the_key_that_its_caller_has_gives_no_rows(job, monkeypatch):
    words = job[0].model_copy(update={"has_key": True}).model_dump_json()
    with pytest.raises(SettingsInvalid, match="PS_LLM__API_KEY"):
        answer_row("a", TASK.model_dump_json(), words)
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-of-this-machine")
    assert Answered.model_validate_json(answer_row("a", TASK.model_dump_json(), words)).parts == job[1].parts


@pytest.mark.parametrize("part", ["calibration", "code", "encoder", "gate", "index", "reranker", "settings"])
def test_a_row_answered_by_another_part_is_refused_by_the_name_of_the_part(job, elsewhere, part):
    assert part in job[1].parts
    with pytest.raises(WorkerMismatch, match=f"with another {part} than"):
        checked(elsewhere, WANTED, job[1].parts | {part: "of another machine"})


def test_a_fingerprint_that_is_not_that_of_the_parts_is_refused(job, elsewhere):
    forged = json.loads(elsewhere)
    forged["row"]["fingerprint"] = "0" * 64
    with pytest.raises(WorkerMismatch, match="another fingerprint"):
        checked(json.dumps(forged), WANTED, job[1].parts)


def test_a_row_that_was_not_asked_for_is_refused(job, elsewhere):
    with pytest.raises(WorkerMismatch, match="not asked"):
        checked(elsewhere, {"b": WANTED["a"]}, job[1].parts)


def test_where_a_server_listens_decides_no_row_and_a_floor_does(engines, small_settings):
    of = row_parts(engines, small_settings)
    listening = small_settings.serve.model_copy(update={"port": 1})
    assert row_parts(engines, small_settings.model_copy(update={"serve": listening})) == of
    stricter = small_settings.floor.model_copy(update={"mode": "off"})
    assert row_parts(engines, small_settings.model_copy(update={"floor": stricter})) != of


def test_a_calibration_of_another_machine_changes_the_parts(engines, small_settings):
    fitted = engines.calibration.fitted.model_copy(update={"floor": 0.99})
    other = replace(engines, calibration=type(engines.calibration)(fitted))
    assert (
        row_parts(other, small_settings)["calibration"] != row_parts(engines, small_settings)["calibration"]
    )
