"""The light way: the deployments without a pool, and one of them run by a real `pickysteve flows`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prefect.client.schemas.objects import StateType

from pickysteve.errors import ServerMissing
from pickysteve.flows.light import light_deployments, serve_flows
from pickysteve.flows.server_session import orchestrated_session

ROOT = Path(__file__).resolve().parents[2]


def test_every_deployment_of_the_file_is_taken_with_its_schedules(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    wanted = {d["name"]: d for d in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]}
    found = {deployment.name: deployment for deployment in light_deployments(ROOT)}
    assert found.keys() == wanted.keys()
    for name, deployment in found.items():
        crons = [schedule.schedule.cron for schedule in deployment.schedules or ()]
        assert crons == [schedule["cron"] for schedule in wanted[name].get("schedules", [])]
        assert (deployment.description, deployment.tags) == (
            wanted[name]["description"],
            wanted[name]["tags"],
        )
        assert deployment.work_pool_name is None
        assert len(deployment.triggers) == len(wanted[name].get("triggers", []))


def test_without_a_server_nothing_is_served() -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(ServerMissing, match="prefect server start"),
    ):
        serve_flows(ROOT, print)


@pytest.mark.server
def test_a_served_deployment_runs_without_pool_and_worker(
    on_server, small_settings, engines, tmp_path, wait_until
) -> None:
    start = "from pickysteve.connectors.entry import main; main()"
    place = {
        "PREFECT_API_URL": on_server,
        "PREFECT_RUNNER_POLL_FREQUENCY": "1",
        "PS_REGISTRY": str(small_settings.registry),
        "PS_INDEX_DIR": str(small_settings.index_dir),
        "PS_RUNS_DIR": str(tmp_path / "runs"),
    }
    with (tmp_path / "log").open("w") as log:
        serving = subprocess.Popen(
            [sys.executable, "-P", "-c", start, "flows"],
            cwd=ROOT,
            env={**os.environ, **place},
            stdout=log,
            stderr=log,
        )
    try:
        with orchestrated_session() as client:
            deployment = wait_until(lambda: deployed(client) or serving.poll() is not None)
            assert serving.poll() is None, (tmp_path / "log").read_text()[-2000:]
            made = client.create_flow_run_from_deployment(
                deployment.id, parameters={"request": "is this unsafe block sound"}
            )
            state = wait_until(lambda: final(client, made.id))
    finally:
        serving.terminate()
        serving.wait(timeout=60)
    assert (state.type, state.name) == (StateType.COMPLETED, "Picked"), (tmp_path / "log").read_text()[-2000:]


def deployed(client):
    found = [d for d in client.read_deployments() if d.name == "request" and d.work_pool_name is None]
    return found[0] if found else None


def final(client, run_id):
    state = client.read_flow_run(run_id).state
    return state if state.is_final() else None
