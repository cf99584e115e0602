"""The trifecta on a Dask cluster: rows as of threads, even when a worker dies; other code is refused."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pickysteve.errors import WorkerMismatch, WorkerMissing
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.trifecta import trifecta_orchestrated
from pickysteve.flows.trifecta_report import suite_folder
from pickysteve.tasks.log import read_trace

pytestmark = pytest.mark.server

ROOT = Path(__file__).resolve().parents[2]


def what_was_answered(out):
    once = {"run_id", "milliseconds", "stages"}
    return [row.model_dump(exclude=once) for row in read_rows(suite_folder(out, 1, "tiny"))]


def on_dask(plan, settings, scheduler, progress=lambda *_: None):
    return trifecta_orchestrated(plan, settings, progress, runner="dask", scheduler=scheduler)


def test_rows_equal_those_of_threads_and_their_records_arrive(
    on_server, cluster, tiny_plan, small_settings, tiny_run, tmp_path
):
    out = tmp_path / "of-dask"
    settings = small_settings.model_copy(update={"shared": f"file://{tmp_path / 'shared'}"})
    report = on_dask(tiny_plan(out), settings, cluster.scheduler_address)
    assert report.outcome == "Passed"
    assert what_was_answered(out) == what_was_answered(tiny_run[1])
    folder = suite_folder(tmp_path / "shared" / "runs" / out.name, 1, "tiny")
    for row in read_rows(folder):
        trace = read_trace(folder / "runs", row.run_id)
        assert (trace.request.text, trace.pick.skills) == (row.request, row.picks)


def test_a_worker_killed_in_the_middle_loses_nothing(
    on_server, cluster, tiny_plan, small_settings, tiny_run, tmp_path
):
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        before = client.run(os.getpid)

        def kill_one(name, done, total):
            if done == 3:
                os.kill(next(iter(before.values())), signal.SIGKILL)

        on_dask(tiny_plan(tmp_path), small_settings, cluster.scheduler_address, kill_one)
        client.wait_for_workers(2, timeout=60)
        after = client.run(os.getpid)
    assert set(before.values()) != set(after.values())
    assert what_was_answered(tmp_path) == what_was_answered(tiny_run[1])


@pytest.fixture
def worker_of_another_version(own_home, tmp_path):
    """A scheduler whose only worker runs a copy of our code in which one file of a stage was changed."""
    from distributed import LocalCluster

    code = tmp_path / "code" / "pickysteve"
    shutil.copytree(ROOT / "core", code)
    for layer in ("calibration", "connectors", "flows", "registry", "tasks"):
        shutil.copytree(ROOT / layer, code / layer)
    with (code / "tasks" / "floor.py").open("a") as file:
        file.write("# another version\n")
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as running:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", running.scheduler_address]
        words = [*command, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        environment = {**os.environ, "PYTHONPATH": str(code.parent)}
        with (tmp_path / "worker.log").open("w") as log:
            worker = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=log, stderr=log)
            try:
                yield running
            finally:
                worker.kill()
                worker.wait(timeout=30)


def test_rows_of_a_worker_with_other_code_are_refused_by_name(
    on_server, worker_of_another_version, tiny_plan, small_settings, tmp_path
):
    from distributed import Client

    address = worker_of_another_version.scheduler_address
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
    with pytest.raises(WorkerMismatch, match="with another code than"):
        on_dask(tiny_plan(tmp_path / "out"), small_settings, address)
    assert read_rows(suite_folder(tmp_path / "out", 1, "tiny")) == ()


def test_a_scheduler_that_is_not_there_or_has_no_workers_is_told(
    on_server, own_home, tiny_plan, small_settings, tmp_path, monkeypatch
):
    from distributed import LocalCluster

    monkeypatch.setattr("pickysteve.flows.task_runs.CONNECT_SECONDS", 1)
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as idle:
        address = idle.scheduler_address
        with pytest.raises(WorkerMissing, match="has no workers"):
            on_dask(tiny_plan(tmp_path), small_settings, address)
    with pytest.raises(WorkerMissing, match="No Dask scheduler answers"):
        on_dask(tiny_plan(tmp_path), small_settings, address)
    with pytest.raises(WorkerMissing, match="wants certificates"):
        on_dask(tiny_plan(tmp_path), small_settings, "tls://127.0.0.1:8786")
