"""A standing Prefect server for the tests that need one: started once, when the first of them runs."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest


@pytest.fixture(scope="session")
def server(own_home: Path) -> Iterator[str]:
    """A standing server of this session, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
    log = (own_home / "server.log").open("w")
    # as docs/prefect.md advises: one write for many task runs, or SQLite answers 503 under load
    batching = {
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    }
    process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **batching})
    url = f"http://127.0.0.1:{port}/api"
    try:
        _wait_for(url, process)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFECT_API_URL", url)
            yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
        log.close()


def _wait_for(url: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server stopped at its start"
        try:
            with urlopen(f"{url}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    raise AssertionError("the server did not answer in two minutes")


@pytest.fixture
def on_server(server):
    """Settings of this process follow the environment, as in a new process."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: server}):
        yield server


@pytest.fixture(scope="session")
def cluster(own_home: Path):
    """A Dask cluster of two processes, as somebody else's: known by its scheduler's address."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as running:
        yield running


@pytest.fixture
def server_task_runs(on_server):
    """Reads the task runs of a flow run; the server records them a moment after they end."""
    from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterFlowRunId

    from pickysteve.flows.server_session import orchestrated_session

    def read(flow_run_id, expected):
        wanted = TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[flow_run_id]))
        with orchestrated_session() as client:
            for _ in range(100):
                runs = client.read_task_runs(task_run_filter=wanted)
                if len(runs) >= expected and all(run.state and run.state.is_final() for run in runs):
                    return runs
                time.sleep(0.2)
        raise AssertionError(f"{len(runs)} task runs after 20 s")

    return read
