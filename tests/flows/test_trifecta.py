"""The trifecta on a real Prefect server: the same rows, a state by the outcome, a linked report."""

import sys
from dataclasses import replace

import pytest
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.sorting import FlowRunSort

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.trifecta import trifecta_orchestrated
from pickysteve.flows.trifecta_baseline import Baseline
from pickysteve.flows.trifecta_report import suite_folder
from pickysteve.flows.trifecta_run import accepted

pytestmark = pytest.mark.server


def latest_run():
    with orchestrated_session() as client:
        return client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)[0]


def flow_runs():
    with orchestrated_session() as client:
        return {run.id for run in client.read_flow_runs()}


def test_orchestrated_rows_equal_direct_ones_and_each_is_a_task_run(
    on_server, tiny_plan, small_settings, tiny_run, tmp_path, server_task_runs
):
    report = trifecta_orchestrated(tiny_plan(tmp_path / "out", workers=2), small_settings)
    once = {"run_id", "milliseconds", "stages"}
    direct = read_rows(suite_folder(tiny_run[1], 1, "tiny"))
    orchestrated = read_rows(suite_folder(tmp_path / "out", 1, "tiny"))
    assert [row.model_dump(exclude=once) for row in orchestrated] == [
        row.model_dump(exclude=once) for row in direct
    ]
    assert report.orchestrated
    run = latest_run()
    assert (run.state.type, run.state.name) == ("COMPLETED", "Passed")
    names = [task_run.name for task_run in server_task_runs(run.id, len(direct))]
    assert sorted(names) == sorted(row.id for row in direct)


def test_a_regression_is_a_failed_state_of_that_name_with_the_rows_and_the_page(
    on_server, tiny_plan, small_settings, tiny_run, tmp_path
):
    report, out = tiny_run
    suite = accepted(report, out, Baseline()).suites["tiny"]
    # as if all rows that are wrong now had been right when the baseline was accepted
    better = suite.model_copy(update={"right": suite.right | suite.wrong, "wrong": {}})
    worse = read_rows(suite_folder(out, 1, "tiny"))
    baseline = Baseline(suites={"tiny": better})
    plan = tiny_plan(tmp_path / "out", baseline=baseline)
    strict = plan.entries[0].model_copy(update={"at_least": {"right": 1.0}})
    found = trifecta_orchestrated(replace(plan, entries=(strict,)), small_settings)
    assert found.outcome == "Regression"
    run = latest_run()
    assert (run.state.type, run.state.name) == ("FAILED", "Regression")
    for row in worse:
        assert row.right or row.id in run.state.message
    with orchestrated_session() as client:
        artifacts = client.read_artifacts(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])))
    by_key = {artifact.key: artifact for artifact in artifacts}
    assert set(by_key) == {"trifecta", "trifecta-report"}
    assert (tmp_path / "out" / "report.html").resolve().as_uri() in str(by_key["trifecta-report"].data)
    assert "answered exactly as asked" in str(by_key["trifecta"].data)


def test_what_cannot_run_is_told_before_there_is_a_flow_run(
    on_server, tiny_plan, small_settings, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "prefect_dask.task_runners", None)
    before = flow_runs()
    with pytest.raises(SettingsInvalid, match=r"pickysteve\[dask\]"):
        trifecta_orchestrated(tiny_plan(tmp_path / "out"), small_settings, runner="dask")
    assert flow_runs() == before
