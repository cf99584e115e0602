"""The request flow on a Prefect server over SQLite and over Postgres, many requests at once.

Run: python benchmarks/databases.py [--runs 64] [--at-once 8] [--postgres URL] [--registry DIR]
Each database gets a server of its own on this machine, one after the other, with the batching that
docs/prefect.md advises. Without --postgres, Debian's server is started on a throw-away cluster (as the user
"postgres" where this runs as root). Times are wall times of whole flow runs on threads of one process, so
they hold for this machine at this hour: compare the two lines with each other.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

from pickysteve.flows.gate_corpora import repository_root
from pickysteve.flows.settings import load_settings
from pickysteve.flows.suite import read_suite

BATCHING = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
START_SECONDS = 180
DRAIN_SECONDS = 60


STATUSES: Counter[int] = Counter()


def count_answers() -> None:
    """Count the answers that HTTP clients of this process get, by status."""
    send = httpx.HTTPTransport.handle_request

    def counted(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        answer = send(transport, request)
        STATUSES[answer.status_code] += 1
        return answer

    httpx.HTTPTransport.handle_request = counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--postgres", help="postgresql+asyncpg://... of an empty database")
    parser.add_argument("--registry", type=Path)
    given = parser.parse_args()
    count_answers()
    requests = [task.request for task in read_suite(repository_root() / "datasets/accuracy/suite.jsonl")]
    requests = [requests[at % len(requests)] for at in range(given.runs)]
    print(
        f"{given.runs} runs, {given.at_once} at once, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores"
    )
    print("database   p50 s   p95 s   runs/s   503   lost   server CPU ms a run")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # a throw-away cluster belongs to another user
        place.chmod(0o755)
        sqlite = f"sqlite+aiosqlite:///{place / 'prefect.db'}"
        measure("sqlite", sqlite, requests, given, place)
        with postgres(given.postgres, place) as url:
            measure("postgres", url, requests, given, place)


def measure(name: str, url: str, requests: list[str], given: argparse.Namespace, place: Path) -> None:
    # words of its own, as the stages' results are cached: no database may profit from what another ran
    own = [f"{text} (attempt {secrets.token_hex(2)})" for text in requests]
    with prefect_server(url, place / name) as (api, server):
        seconds, wall, cpu = run_all(api, server, own, given, place)
    done = [value for value in seconds if value is not None]
    p50, p95 = np.quantile(done, [0.5, 0.95]) if done else (np.nan, np.nan)
    refused = STATUSES.pop(503, 0)
    STATUSES.clear()
    rate, each, lost = len(done) / wall, 1000 * cpu / len(seconds), len(seconds) - len(done)
    print(f"{name:9}  {p50:6.2f}  {p95:6.2f}  {rate:7.2f}  {refused:4}  {lost:5}  {each:6.0f}", flush=True)


def run_all(
    api: str, server: int, requests: list[str], given: argparse.Namespace, place: Path
) -> tuple[list[float | None], float, float]:
    """Seconds of each run, None for a lost one; of all together; and of the server's CPU."""
    import psutil
    from prefect.events.worker import EventsWorker
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from pickysteve.flows.asking import read_request
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.request import make_request_flow
    from pickysteve.flows.server_session import orchestrated_session

    settings = load_settings(registry=given.registry, runs_dir=place / "runs")
    engines = open_engines(settings)
    flow = make_request_flow((engines, settings))
    for text in requests:
        read_request(text, (), settings.gate)
    local = threading.local()

    def enter() -> None:
        # kept open for the thread's life: the contexts of Prefect do not reach other threads
        local.settings = temporary_settings({PREFECT_API_URL: api})
        local.settings.__enter__()
        local.session = orchestrated_session()
        local.session.__enter__()

    def run(text: str) -> float | None:
        started = time.perf_counter()
        try:
            flow(text)
        except PrefectHTTPStatusError:
            # the server refused more often than the client tries: a lost run, counted as such
            return None
        return time.perf_counter() - started

    process = psutil.Process(server)
    with ThreadPoolExecutor(given.at_once, initializer=enter) as pool:
        list(pool.map(run, requests[: given.at_once]))
        STATUSES.clear()
        before, started = sum(process.cpu_times()[:2]), time.perf_counter()
        seconds = list(pool.map(run, requests))
        wall = time.perf_counter() - started
        # the events are the server's work too, and without it the client would try for minutes to send them
        EventsWorker.drain_all(timeout=DRAIN_SECONDS)
    return seconds, wall, sum(process.cpu_times()[:2]) - before


@contextmanager
def prefect_server(url: str, home: Path) -> Iterator[tuple[str, int]]:
    port = free_port()
    environment = {
        **os.environ,
        **BATCHING,
        "PREFECT_HOME": str(home),
        "PREFECT_API_DATABASE_CONNECTION_URL": url,
    }
    words = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
    home.mkdir()
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/api/health", process, home / "server.log")
            yield f"http://127.0.0.1:{port}/api", process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the server stopped at its start:\n{log.read_text()[-2000:]}")
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    raise SystemExit(f"the server did not answer in {START_SECONDS} s:\n{log.read_text()[-2000:]}")


@contextmanager
def postgres(given: str | None, place: Path) -> Iterator[str]:
    """The URL of a database: the one given, or that of a cluster which lasts as long as this."""
    if given:
        yield given
        return
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise SystemExit(
            'There is no Postgres here: run "apt-get install postgresql", or pass --postgres URL.'
        )
    tools, data, port = found[-1].parent, place / "cluster", free_port()
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    data.mkdir()
    if as_user:
        shutil.chown(data, "postgres")
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data} -c max_connections=200"
    )
    control = [*as_user, str(tools / "pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log")]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/"}
    subprocess.run(
        [*as_user, str(tools / "initdb"), "-D", str(data), "-U", "prefect", "-A", "trust"], **quiet
    )
    subprocess.run([*control, "-o", options, "start"], **quiet)
    try:
        make = [
            *as_user,
            str(tools / "createdb"),
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            "-U",
            "prefect",
            "prefect",
        ]
        subprocess.run(make, **quiet)
        yield f"postgresql+asyncpg://prefect@127.0.0.1:{port}/prefect"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
