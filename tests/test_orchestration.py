"""Orchestrated for real: server, worker and watcher as `up` starts them, and every flow of prefect.yaml."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pyarrow.parquet as pq
import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings

from pickysteve.connectors.standing import (
    PICKYSTEVE,
    Standing,
    bring_down,
    bring_up,
    read_standing,
    standing_folder,
)
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.trifecta_report import suite_folder
from pickysteve.tasks.log import list_traces

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def registry(small_registry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(small_registry, tmp_path_factory.mktemp("watched") / "skills"))


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("orchestrated") / "runs"


@pytest.fixture(scope="module")
def standing(registry: Path, runs_dir: Path, engines: object) -> Iterator[Standing]:
    """All of it; the engines are there first, so that no run exports an encoder of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("PS_REGISTRY", str(registry))
        patch.setenv("PS_INDEX_DIR", str(runs_dir.parent / "index"))
        patch.setenv("PS_RUNS_DIR", str(runs_dir))
        # look more often than by default: a test waits for it
        patch.setenv("PREFECT_WORKER_QUERY_SECONDS", "2")
        patch.setenv("PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS", "3")
        try:
            yield bring_up(int(port), print)
        finally:
            bring_down(print)


@pytest.fixture
def client(standing: Standing) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: standing.api}), get_client(sync_client=True) as found:
        yield found


def started(client: SyncPrefectClient, deployment: str, **parameters: Any) -> FlowRun:
    found = client.read_deployment_by_name(f"{deployment}/{deployment}")
    return client.create_flow_run_from_deployment(found.id, parameters=parameters)


@pytest.fixture
def finished(client: SyncPrefectClient, wait_until: Callable[..., Any]) -> Callable[[FlowRun], FlowRun]:
    """Waits for the end of a run; what the worker said is told where none comes."""

    def wait(run: FlowRun) -> FlowRun:
        def end() -> FlowRun | None:
            now = client.read_flow_run(run.id)
            return now if now.state is not None and now.state.is_final() else None

        try:
            return wait_until(end)
        except AssertionError as error:
            error.add_note((standing_folder() / "worker.log").read_text(errors="replace")[-3000:])
            raise

    return wait


def artifacts(client: SyncPrefectClient, run: FlowRun) -> dict[str, Any]:
    wanted = FlowRunFilter(id=FlowRunFilterId(any_=[run.id]))
    return {artifact.key: artifact.data for artifact in client.read_artifacts(flow_run_filter=wanted)}


def test_every_flow_of_the_file_is_deployed_with_its_schedule_limit_and_described_parameters(
    client: SyncPrefectClient,
) -> None:
    wanted = {d["name"]: d for d in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]}
    found = {deployment.name: deployment for deployment in client.read_deployments()}
    assert found.keys() == wanted.keys()
    for name, deployment in found.items():
        assert deployment.tags == wanted[name]["tags"]
        crons = [schedule["cron"] for schedule in wanted[name].get("schedules", [])]
        assert [schedule.schedule.cron for schedule in deployment.schedules] == crons  # type: ignore[union-attr]
        limit = deployment.global_concurrency_limit
        assert (limit.limit if limit else None) == wanted[name].get("concurrency_limit", {}).get("limit")
        described = (deployment.parameter_openapi_schema or {})["properties"]
        assert all(parameter.get("description") for parameter in described.values()), name


def test_pages_of_other_origins_may_not_read_the_server(standing: Standing) -> None:
    for origin, allowed in (("http://evil.example", None), (standing.url, standing.url)):
        with urlopen(Request(f"{standing.api}/health", headers={"Origin": origin}), timeout=20) as answer:
            assert answer.headers["access-control-allow-origin"] == allowed


def test_the_pages_of_the_server_ask_its_own_address(standing: Standing) -> None:
    with urlopen(f"{standing.url}/ui-settings", timeout=20) as answer:
        assert json.load(answer)["api_url"] == standing.api


def test_the_server_forgets_flow_runs_after_a_month_and_events_after_a_day(standing: Standing) -> None:
    with urlopen(f"{standing.api}/admin/settings", timeout=20) as answer:
        kept = json.load(answer)["server"]
    vacuum = kept["services"]["db_vacuum"]
    assert ("flow_runs" in vacuum["enabled"], vacuum["retention_period"]) == (True, "P30D")
    assert kept["events"]["retention_period"] == "P1D"


def test_up_again_keeps_what_runs(standing: Standing) -> None:
    said: list[str] = []
    assert bring_up(standing.port + 1, said.append) == standing
    assert not [line for line in said if line.startswith("starting")]
    assert f"the server runs already, on port {standing.port}" in said


def test_a_new_skill_starts_an_ingest(
    client: SyncPrefectClient, registry: Path, wait_until: Callable[..., Any]
) -> None:
    shutil.copytree(ROOT / "registry" / "skills" / "pitch-deck", registry / "pitch-deck")

    def triggered() -> FlowRun | None:
        found = (run for run in client.read_flow_runs() if run.state_name == "Ingested" and run.state)
        return next((run for run in found if (run.state.message or "").startswith("9 skills in ")), None)

    run = wait_until(triggered)
    assert run.created_by.display_value == "registry changed"


def test_a_request_run_leaves_its_parquet_record(
    client: SyncPrefectClient, runs_dir: Path, finished: Callable[[FlowRun], FlowRun]
) -> None:
    run = finished(started(client, "request", request="cargo build fails with a borrow checker error"))
    assert run.state is not None
    assert (run.state.name, "rust-build-errors" in (run.state.message or "")) == ("Picked", True)
    (record,) = list_traces(runs_dir).runs
    assert record.picks == ("rust-build-errors",)


def test_a_scheduled_trifecta_fires_and_its_artifacts_and_parquet_can_be_read(
    client: SyncPrefectClient,
    tiny_table: Path,
    tmp_path: Path,
    finished: Callable[[FlowRun], FlowRun],
    wait_until: Callable[..., Any],
) -> None:
    deployment = client.read_deployment_by_name("trifecta/trifecta")
    soon = datetime.now(UTC) + timedelta(seconds=15)
    schedule = {
        "schedule": {"interval": 86_400, "anchor_date": soon.isoformat()},
        "active": True,
        "slug": "of-the-test",
        "parameters": {"table": str(tiny_table), "out": str(tmp_path)},
    }
    made = client.request(
        "POST", "/deployments/{id}/schedules", path_params={"id": deployment.id}, json=[schedule]
    )
    made.raise_for_status()

    def fired() -> FlowRun | None:
        runs = [
            run for run in client.read_flow_runs() if run.deployment_id == deployment.id and run.start_time
        ]
        return runs[0] if runs else None

    run = finished(wait_until(fired))
    assert run.auto_scheduled
    assert run.state is not None and run.state.name == "Passed"
    found = artifacts(client, run)
    assert "answered exactly as asked" in found["trifecta"]
    assert (tmp_path / "report.html").resolve().as_uri() in found["trifecta-report"]
    folder = suite_folder(tmp_path, 1, "tiny")
    rows = read_rows(folder)
    table = pq.read_table(folder / "rows.parquet").to_pylist()
    assert [row["id"] for row in table] == [row.id for row in rows]
    assert len(list_traces(folder / "runs", limit=1000).runs) == len(rows) > 10


def test_of_two_runs_at_once_the_limit_lets_one_in(
    client: SyncPrefectClient, tiny_table: Path, tmp_path: Path, finished: Callable[[FlowRun], FlowRun]
) -> None:
    runs = [
        started(client, "trifecta", table=str(tiny_table), out=str(tmp_path / name)) for name in ("a", "b")
    ]
    ends = {run.state.name: run.state.message for run in (finished(run) for run in runs) if run.state}
    assert ends.keys() == {"Passed", "Cancelled"}
    assert ends["Cancelled"] == "Deployment concurrency limit reached."
    assert len(list(tmp_path.iterdir())) == 1


class TestAKilledWorker:
    def test_loses_nothing_and_what_it_ran_goes_on_where_it_stopped(
        self,
        client: SyncPrefectClient,
        standing: Standing,
        tiny_table: Path,
        tmp_path: Path,
        finished: Callable[[FlowRun], FlowRun],
        wait_until: Callable[..., Any],
    ) -> None:
        first = started(client, "trifecta", table=str(tiny_table), out=str(tmp_path), runs=2)
        rows = suite_folder(tmp_path, 1, "tiny") / "rows.jsonl"
        wait_until(lambda: rows.is_file() and rows.read_bytes().count(b"\n") >= 3, pause=0.02)
        kill(standing)
        written = rows.read_bytes().rpartition(b"\n")[0].splitlines()
        assert client.read_flow_run(first.id).state_name == "Running"

        said: list[str] = []
        again = bring_up(standing.port, said.append)
        assert again.worker != standing.worker and again.server == standing.server
        assert any("taking up" in line for line in said)
        run = finished(first)
        assert run.state is not None and run.state.name == "Passed"
        assert run.run_count == 2
        kept = {json.loads(line)["run_id"] for line in written}
        assert len(kept) >= 3
        assert kept <= {row.run_id for row in read_rows(rows.parent)}

    def test_does_not_end_a_run_whose_own_process_lives(
        self,
        client: SyncPrefectClient,
        tiny_table: Path,
        tmp_path: Path,
        finished: Callable[[FlowRun], FlowRun],
        wait_until: Callable[..., Any],
    ) -> None:
        standing = read_standing()
        assert standing is not None
        only = started(client, "trifecta", table=str(tiny_table), out=str(tmp_path), runs=2)
        rows = suite_folder(tmp_path, 1, "tiny") / "rows.jsonl"
        wait_until(lambda: rows.is_file() and rows.read_bytes(), pause=0.02)
        kill(standing, alone=True)
        said: list[str] = []
        bring_up(standing.port, said.append)
        assert not [line for line in said if "taking up" in line]
        run = finished(only)
        assert run.state is not None
        assert (run.state.name, run.run_count) == ("Passed", 1), run.state.message


def kill(standing: Standing, *, alone: bool = False) -> None:
    """The worker, and all that it has started, with SIGKILL: nobody can tell the server."""
    worker = psutil.Process(standing.worker.pid)
    every = [worker, *([] if alone else worker.children(recursive=True))]
    for process in every:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(every, timeout=10)


def test_up_that_stays_starts_a_killed_worker_again_and_stops_all_when_it_is_told_to(
    standing: Standing, wait_until: Callable[..., Any]
) -> None:
    """Last in this file."""
    first = read_standing()
    assert first is not None

    def other_worker() -> Standing | None:
        now = read_standing()
        return now if now and now.worker != first.worker and now.worker.find() else None

    with subprocess.Popen([*PICKYSTEVE, "up", "--stay"], stdout=subprocess.PIPE, text=True) as keeper:
        try:
            assert keeper.stdout is not None
            # what it says when all is there, and before it stays
            assert '"pickysteve down" stops all of it\n' in iter(keeper.stdout.readline, "")
            os.kill(first.worker.pid, signal.SIGKILL)
            now = wait_until(other_worker)
            assert (now.server, now.watcher) == (first.server, first.watcher)
            keeper.terminate()
            assert keeper.wait(60) == 0
        finally:
            keeper.kill()
    assert not any(process.find() for process in (now.server, now.worker, now.watcher))
    assert read_standing() is None
    assert not bring_down(print)
