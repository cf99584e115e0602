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
def tiny_table(small_settings, tmp_path_factory) -> Path:
    """A table with one suite: rows of `accuracy` that the small registry answers, and eight it must not."""
    from pickysteve.flows.suite import read_suite

    root = Path(__file__).resolve().parents[2]
    known = {path.name for path in small_settings.registry.iterdir()}
    tasks = read_suite(root / "datasets" / "accuracy" / "suite.jsonl")
    answered = [task for task in tasks if task.gold and set(task.gold) <= known]
    chosen = [*answered, *[task for task in tasks if not task.gold][:8]]
    folder = tmp_path_factory.mktemp("table")
    lines = [task.model_copy(update={"traps": ()}).model_dump_json() for task in chosen]
    (folder / "suite.jsonl").write_text("\n".join(lines) + "\n")
    table = folder / "suites.toml"
    table.write_text(f'[tiny]\nregistry = "{small_settings.registry}"\nsuite = "suite.jsonl"\n')
    return table


@pytest.fixture(scope="session")
def tiny_plan(tiny_table, engines):
    """Builds plans for the tiny suite, on the session's engines unless told otherwise."""
    from pickysteve.flows.suite_table import choose_suites, read_table
    from pickysteve.flows.trifecta_run import TrifectaPlan

    def build(out: Path, **changes) -> TrifectaPlan:
        given = {"opener": lambda settings, progress: engines} | changes
        return TrifectaPlan(choose_suites(read_table(tiny_table), []), out, **given)

    return build


@pytest.fixture(scope="session")
def tiny_run(tiny_plan, small_settings, tmp_path_factory):
    """One finished run of the tiny suite: its report and its folder."""
    from pickysteve.flows.trifecta_run import run_trifecta

    out = tmp_path_factory.mktemp("trifecta") / "out"
    return run_trifecta(tiny_plan(out), small_settings), out
