"""Watched runs: the same picks as elsewhere, cancelled between stages, failing in the open."""

import asyncio

import pytest

from pickysteve.connectors.http.live.hub import Hub
from pickysteve.connectors.http.live.watch import (
    AskedBy,
    RunCancelled,
    Watch,
    WatchedEngine,
    WatchedRun,
    WatchedService,
)
from pickysteve.errors import ModelUnavailable, RunsUnwritable
from pickysteve.flows.service import PickService
from pickysteve.tasks.route import RouteConfig
from pickysteve.tasks.stage import stage
from pickysteve.tasks.values import Request

COMPOUND = "review my Rust endpoint for security and REST design"


@pytest.fixture
def engine(engines, small_settings, tmp_path):
    return WatchedEngine(small_settings.model_copy(update={"runs_dir": tmp_path / "runs"}))


def test_a_watched_pick_is_the_same_as_another_one(engine, small_settings):
    plain = PickService(small_settings).pick(COMPOUND)
    watched = engine.service.pick(COMPOUND)
    kept = {"pick", "candidates", "compatibility", "request_verdict", "fingerprints", "degraded"}
    assert watched.model_dump(include=kept) == plain.model_dump(include=kept)
    assert [record.stage for record in watched.stages] == [record.stage for record in plain.stages]


def test_the_outcome_names_the_runner_up_and_what_set_the_two_apart(engine):
    watch = Watch(engine.hub, COMPOUND, "MCP")
    asyncio.run(AskedBy(engine, "MCP", watch).call("pick", text=COMPOUND))
    shown = engine.hub.run(watch.run)
    outcome = shown["outcome"]
    assert shown["caller"] == "MCP" and shown["request"] == COMPOUND
    assert outcome["headline"] == "rust-review + rest-api-design"
    runner_up = next(row for row in shown["candidates"] if row["fate"] != "picked")
    assert outcome["against"][0].startswith(f"The runner-up is {runner_up['skill']}")
    assert outcome["against"][1].startswith("In log-odds: ")
    assert list(runner_up["evidence"]) == outcome["columns"]
    assert outcome["characters"] == len(shown["bundle"])


def test_a_cancelled_run_stops_before_its_next_stage_and_leaves_no_record(engine, tmp_path):
    class Impatient(Watch):
        def ends(self, stage, *rest):
            super().ends(stage, *rest)
            if stage == "retrieve":
                self.cancel()

    watch = Impatient(engine.hub, COMPOUND, "page")
    with pytest.raises(RunCancelled):
        asyncio.run(AskedBy(engine, "page", watch).call("pick", text=COMPOUND))
    shown = engine.hub.run(watch.run)
    assert shown["state"] == "cancelled" and list(shown["stages"]) == ["gate-request", "route", "retrieve"]
    assert not [*tmp_path.rglob("*.parquet")]


def test_a_stage_that_raises_is_shown_as_failed():
    def fails(request, config):
        raise ModelUnavailable("The weights are gone: fetch them.")

    watch = Watch(Hub(), "x", "page")
    run = WatchedRun(watch=watch)
    with pytest.raises(ModelUnavailable):
        run(stage("route", fails, cached=False), Request(text="x"), config=RouteConfig())
    assert watch.hub.run(watch.run)["stages"]["route"]["state"] == "failed"


def test_a_fault_of_ours_is_told_with_its_remedy_and_a_mistake_to_its_caller_alone(small_settings, tmp_path):
    (tmp_path / "file").write_text("")
    hub = Hub()
    service = WatchedService(small_settings.model_copy(update={"runs_dir": tmp_path / "file"}), hub)
    with pytest.raises(RunsUnwritable):
        service.pick(COMPOUND)
    watch = Watch(hub, "x", "page")
    watch.failed(ModelUnavailable("The weights are gone: fetch them."))
    assert hub.run(watch.run)["problem"] == "ModelUnavailable. The weights are gone: fetch them."
    watch.failed(RunsUnwritable("/home/somebody"))
    assert hub.run(watch.run)["problem"] == "RunsUnwritable. Its caller was told why."
