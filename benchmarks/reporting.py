"""Cost of showing runs in Prefect's UI: direct runs reported afterwards, beside orchestrated ones.

    python benchmarks/reporting.py --registry DIR --suite FILE.jsonl --api URL --server PID [--runs 200]

The server (with its PREFECT_HOME in the environment, so that times can be set) should do nothing else. CPU is
that of this process and of the server with its children, less what the server takes when it is idle.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

SETTLED_SECONDS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--registry", type=Path, required=True)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--api", required=True)
    parser.add_argument("--server", type=int, required=True, help="process id of the server")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--orchestrated", type=int, default=60)
    options = parser.parse_args()
    os.environ["PREFECT_API_URL"] = options.api
    with TemporaryDirectory() as scratch:
        os.environ["PS_RUNS_DIR"] = str(Path(scratch) / "runs")
        print(json.dumps(measure(options), indent=1))


def measure(options: argparse.Namespace) -> dict[str, object]:
    from pickysteve.flows.dag import pick_context
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.report_direct import report_runs
    from pickysteve.flows.request import make_request_flow
    from pickysteve.flows.server_session import orchestrated_session
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite
    from pickysteve.tasks.stage import Direct
    from pickysteve.tasks.values import Request

    logging.getLogger("prefect").setLevel(logging.WARNING)
    settings = load_settings(registry=options.registry)
    engines = open_engines(settings)
    texts = [task.request for task in read_suite(options.suite)]
    flow = make_request_flow((engines, settings))
    server = psutil.Process(options.server)

    def fresh(number: int) -> str:
        return f"{texts[number % len(texts)]} ({time.time_ns()})"

    def direct(count: int) -> None:
        for number in range(count):
            pick_context(Request(text=fresh(number)), engines, settings, Direct())

    def orchestrated(count: int) -> None:
        with orchestrated_session():
            for number in range(count):
                flow(fresh(number), registry=str(settings.registry), return_state=True)

    # the server's first run and first report are slower
    direct(1)
    orchestrated(1)
    report_runs(settings.runs_dir)
    direct(options.runs)
    return {
        "reported": cost(options.runs, lambda: report_runs(settings.runs_dir), server),
        "reported_again": cost(options.runs, lambda: report_runs(settings.runs_dir), server),
        "orchestrated": cost(options.orchestrated, lambda: orchestrated(options.orchestrated), server),
    }


def cost(runs: int, act: Callable[[], object], server: psutil.Process) -> dict[str, float]:
    """Wall time and CPU of the act; the server ends its work a while after it has answered."""
    time.sleep(SETTLED_SECONDS)
    began, own, theirs = time.perf_counter(), time.process_time(), cpu_seconds(server)
    act()
    wall, own = time.perf_counter() - began, time.process_time() - own
    time.sleep(SETTLED_SECONDS)
    until = cpu_seconds(server)
    time.sleep(SETTLED_SECONDS)
    idle = (cpu_seconds(server) - until) / SETTLED_SECONDS
    server_cpu = until - theirs - idle * (wall + SETTLED_SECONDS)
    return {
        "runs": runs,
        "runs_per_second": round(runs / wall, 1),
        "client_cpu_ms": round(own / runs * 1000, 1),
        "server_cpu_ms": round(server_cpu / runs * 1000, 1),
    }


def cpu_seconds(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(time.user + time.system for time in times)


if __name__ == "__main__":
    main()
