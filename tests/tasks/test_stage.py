from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import Field, ValidationError

from pickysteve.tasks.retrieve import RetrieveConfig, retrieve
from pickysteve.tasks.roles import OFF
from pickysteve.tasks.route import RouteConfig
from pickysteve.tasks.route_model import route
from pickysteve.tasks.stage import KEY_PARTS, Direct, Stage, StageConfig, code_digest, source_digest, stage
from pickysteve.tasks.values import Degradation, Pool, Request, Route, StageOutput


class Knobs(StageConfig):
    size: int = Field(1, gt=0)


class Flaky:
    """A handle that fails so many times, with that error, before it answers."""

    fingerprint = "flaky"

    def __init__(self, failures: int, error: type[Exception]) -> None:
        self.failures = failures
        self.error = error
        self.calls = 0

    def answer(self) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error("down")


class Print:
    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint


def ask(request: Request, handle: Flaky, config: Knobs) -> StageOutput:
    handle.answer()
    return StageOutput(degraded=request.text)


def asking(**policies) -> Stage[StageOutput]:
    return stage("ask", ask, cached=True, **policies)


REQUEST = Request(text="tune the query")


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr("time.sleep", taken.append)
    return taken


def test_a_direct_run_returns_the_output_and_keeps_its_record() -> None:
    run = Direct()
    output = run(route, REQUEST, using=(OFF,), config=RouteConfig())
    (record,) = run.records
    assert (record.stage, record.cached) == ("route", False)
    assert Route.model_validate(record.output) == output
    assert record.milliseconds >= 0
    assert run.degraded == []


def test_records_stand_in_the_order_of_the_calls() -> None:
    run = Direct()
    for text in ("", "fell back"):
        run(asking(), Request(text=text), using=(Flaky(0, OSError),), config=Knobs())
    run(route, REQUEST, using=(OFF,), config=RouteConfig())
    assert [record.stage for record in run.records] == ["ask", "ask", "route"]
    assert run.degraded == [Degradation(stage="ask", reason="fell back")]


def test_two_runs_do_not_share_records() -> None:
    first, second = Direct(), Direct()
    first(route, REQUEST, using=(OFF,), config=RouteConfig())
    assert second.records == []


def test_a_stage_that_raises_leaves_no_record() -> None:
    run = Direct()
    with pytest.raises(OSError, match="down"):
        run(asking(), REQUEST, using=(Flaky(1, OSError),), config=Knobs())
    assert run.records == []


def test_a_named_error_is_tried_again_with_growing_pauses(naps: list[float]) -> None:
    flaky = Flaky(2, ConnectionError)
    Direct()(asking(retries=2, retry_on=(ConnectionError,)), REQUEST, using=(flaky,), config=Knobs())
    assert flaky.calls == 3
    assert 0.2 <= naps[0] < 0.4 <= naps[1] < 0.8


def test_the_last_try_raises(naps: list[float]) -> None:
    flaky = Flaky(9, ConnectionError)
    with pytest.raises(ConnectionError):
        asking(retries=2, retry_on=(ConnectionError,)).call((REQUEST,), (flaky,), Knobs())
    assert (flaky.calls, len(naps)) == (3, 2)


@pytest.mark.parametrize("policies", [{}, {"retries": 2}, {"retries": 2, "retry_on": (ConnectionError,)}])
def test_an_error_that_is_not_named_is_not_tried_again(naps: list[float], policies) -> None:
    flaky = Flaky(1, ValueError)
    with pytest.raises(ValueError, match="down"):
        asking(**policies).call((REQUEST,), (flaky,), Knobs())
    assert (flaky.calls, naps) == (1, [])


def test_a_wrong_value_is_never_tried_again(naps: list[float]) -> None:
    asked = []

    def wrong(request: Request, config: Knobs) -> Request:
        asked.append(request)
        return Request(text=3)

    with pytest.raises(ValidationError):
        stage("wrong", wrong, cached=False, retries=2, retry_on=(ConnectionError,)).call(
            (REQUEST,), (), Knobs()
        )
    assert (len(asked), naps) == (1, [])


def test_pauses_differ_from_call_to_call(naps: list[float]) -> None:
    for _ in range(5):
        asking(retries=1, retry_on=(OSError,)).call((REQUEST,), (Flaky(1, OSError),), Knobs())
    assert len(set(naps)) == 5


def key(
    request: Request = REQUEST, prints: tuple[str, ...] = ("one", "two"), config: StageConfig | None = None
) -> str:
    return asking().cache_key((request, Pool(options=())), tuple(map(Print, prints)), config or Knobs())


def test_a_cache_key_is_the_same_for_the_same_call() -> None:
    assert key() == key(Request(text="tune the query"), config=Knobs(size=1))
    assert re.fullmatch(r"ask-[0-9a-f]{64}", key())


def test_a_cache_key_is_made_of_what_is_said_to_be_in_it_and_shows_nothing_of_the_request() -> None:
    assert asking().key_parts((REQUEST,), (Print("one"),), Knobs()).keys() == KEY_PARTS.keys()
    assert "tune" not in key()


@pytest.mark.parametrize(
    "other",
    [
        {"request": Request(text="tune the query ")},
        {"request": Request(text="tune the query", exclude=("a",))},
        {"prints": ("one", "three")},
        {"prints": ("two", "one")},
        {"prints": ("one",)},
        {"config": Knobs(size=2)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_cache_key_changes_with_what_decides_the_output(other) -> None:
    assert key(**other) != key()


def test_a_cache_key_changes_with_the_stage() -> None:
    named = stage("answer", ask, cached=True)
    assert named.cache_key((), (), Knobs()) != asking().cache_key((), (), Knobs())


def test_the_digest_of_the_code_changes_with_any_file_that_a_stage_can_reach(tmp_path: Path) -> None:
    (tmp_path / "engines").mkdir()
    helper = tmp_path / "engines" / "helper.py"
    helper.write_text("def help(x):\n    return x\n")
    before = source_digest([tmp_path])
    assert source_digest([tmp_path]) == before
    helper.write_text("def help(x):\n    return x or 1\n")
    assert source_digest([tmp_path]) != before
    assert code_digest() == code_digest() != ""


def test_a_cache_key_is_the_same_in_every_process() -> None:
    values = (REQUEST, Route(query="tune", clauses=()))
    here = retrieve.cache_key(values, (Print("index"), Print("encoder")), RetrieveConfig())
    script = (
        "from types import SimpleNamespace as N\n"
        "from pickysteve.tasks.retrieve import RetrieveConfig, retrieve\n"
        "from pickysteve.tasks.values import Request, Route\n"
        "values = (Request(text='tune the query'), Route(query='tune', clauses=()))\n"
        "using = (N(fingerprint='index'), N(fingerprint='encoder'))\n"
        "print(retrieve.cache_key(values, using, RetrieveConfig()))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    there = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == here


def test_a_knob_that_does_not_exist_or_fit_is_an_error() -> None:
    for knobs in ({"sise": 1}, {"size": 0}):
        with pytest.raises(ValidationError):
            Knobs(**knobs)


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Knobs().size = 2
