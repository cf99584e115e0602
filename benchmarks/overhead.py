"""What the orchestrator costs: requests direct, on a standing server, and on an ephemeral one.

    python benchmarks/overhead.py [--requests 60] [--row 1000] [--starts 3] [--json]

Run it in a checkout. The standing server is what `pickysteve up` starts, on an empty database in a folder
of its own; nothing of this account is touched. Every request is a text that was not asked before, so that
nothing comes from a cache. In turns: each text first direct, then orchestrated. Then 1, 4 and 8 at once,
and a row of runs with what the database grows by. Wall times: compare the columns with each other.
"""

from __future__ import annotations

import argparse
import contextvars
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from pickysteve.calibration.figures import latency

AT_ONCE = (1, 4, 8)
EPHEMERAL_RUNS = 20
Ask = Callable[[str], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=60, help="for each figure of the first two parts")
    parser.add_argument("--row", type=int, default=1000, help="runs one after the other")
    parser.add_argument("--starts", type=int, default=3, help="processes with an ephemeral server")
    parser.add_argument("--ephemeral", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.ephemeral:
        print(json.dumps(one_ephemeral(options.requests)))
        return
    with TemporaryDirectory() as scratch:
        for name in ("data", "cache", "config", "state"):
            os.environ[f"XDG_{name.upper()}_HOME"] = str(Path(scratch) / name)
        os.environ["PS_RUNS_DIR"] = str(Path(scratch) / "runs")
        figures = measure(options, Path(scratch))
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures, Console())


def measure(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from pickysteve.connectors.standing import bring_down, bring_up, standing_folder

    figures: dict[str, Any] = {"load before": os.getloadavg()[0], "cores": os.cpu_count()}
    texts, engines, settings = opened()
    figures["skills"] = len(engines.index.skills)
    standing = bring_up(free_port(), lambda line: print(line, file=sys.stderr))
    try:
        os.environ["PREFECT_API_URL"] = standing.api
        database = standing_folder() / "home" / "prefect.db"
        figures |= on_standing(options, texts, engines, settings, database)
    finally:
        bring_down(lambda line: print(line, file=sys.stderr))
    del os.environ["PREFECT_API_URL"]
    figures["ephemeral"] = on_ephemeral(options, scratch)
    return figures


def opened() -> tuple[list[str], Any, Any]:
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.gate_corpora import repository_root
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite

    settings = load_settings()
    engines = open_engines(settings)
    suite = read_suite(repository_root() / "datasets" / "accuracy" / "suite.jsonl")
    return [task.request for task in suite], engines, settings


def asking(engines: Any, settings: Any) -> tuple[Ask, Ask]:
    """Direct, and as a flow run."""
    from pickysteve.flows.dag import pick_context
    from pickysteve.flows.request import make_request_flow
    from pickysteve.tasks.stage import Direct
    from pickysteve.tasks.values import Request

    flow = make_request_flow((engines, settings))

    def direct(text: str) -> object:
        return pick_context(Request(text=text), engines, settings, Direct())

    def orchestrated(text: str) -> object:
        return flow(text, registry=str(settings.registry), return_state=True)

    return direct, orchestrated


def on_standing(
    options: argparse.Namespace, texts: Sequence[str], engines: Any, settings: Any, database: Path
) -> dict[str, Any]:
    import logging

    from prefect.settings import PREFECT_API_URL, temporary_settings

    from pickysteve.flows.server_session import orchestrated_session

    logging.getLogger("prefect").setLevel(logging.ERROR)
    direct, orchestrated = asking(engines, settings)
    fresh = (f"{texts[at % len(texts)]} ({at})" for at in range(1_000_000))
    with temporary_settings({PREFECT_API_URL: os.environ["PREFECT_API_URL"]}), orchestrated_session():
        for ask in (direct, orchestrated):
            ask(next(fresh))
        pairs = [
            (timed(direct, next(fresh)), timed(orchestrated, next(fresh)))
            for _ in track(range(options.requests), "one after the other", console=error_console())
        ]
        found = {
            "direct": spread([a for a, _ in pairs]),
            "standing": spread([b for _, b in pairs]),
            "share": spread([b - a for a, b in pairs]),
            "at once": [
                {"at once": n, "direct": rate(direct, fresh, n, options.requests)}
                | {"standing": rate(orchestrated, fresh, n, options.requests)}
                for n in track(AT_ONCE, "at once", console=error_console())
            ],
        }
        before = size(database)
        row = [
            timed(orchestrated, next(fresh))
            for _ in track(range(options.row), "in a row", console=error_console())
        ]
    # what the recorder has batched is written within a second or two
    time.sleep(5)
    grown = size(database) - before
    tenth = max(1, len(row) // 10)
    found["row"] = {
        "runs": len(row),
        "all": spread(row),
        "first tenth": spread(row[:tenth]),
        "last tenth": spread(row[-tenth:]),
        "database KB a run": round(grown / 1000 / len(row), 1),
    }
    return found


def on_ephemeral(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Processes that start a server for themselves: the first in an empty home, which is migrated then."""
    home = scratch / "ephemeral"
    environment = {
        **os.environ,
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    }
    command = [sys.executable, __file__, "--ephemeral", "yes", "--requests", str(EPHEMERAL_RUNS)]
    outcomes = [
        json.loads(
            subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        )
        for _ in track(range(1 + options.starts), "ephemeral", console=error_console())
    ]
    return {
        "first run, empty home, s": round(outcomes[0]["first"], 1),
        "first run, s": [round(outcome["first"], 1) for outcome in outcomes[1:]],
        "later runs": spread([ms for outcome in outcomes[1:] for ms in outcome["later"]]),
    }


def one_ephemeral(requests: int) -> dict[str, Any]:
    import logging

    from prefect.context import SyncClientContext
    from prefect.settings import (
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_LOGGING_TO_API_ENABLED,
        PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
        temporary_settings,
    )

    logging.getLogger("prefect").setLevel(logging.ERROR)
    texts, engines, settings = opened()
    direct, orchestrated = asking(engines, settings)
    direct(texts[0])
    changes = {
        PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: True,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        PREFECT_LOGGING_TO_API_ENABLED: False,
    }
    with temporary_settings(changes):
        started = time.perf_counter()
        with SyncClientContext():
            orchestrated(f"{texts[0]} ({time.time_ns()})")
            first = time.perf_counter() - started
            later = [timed(orchestrated, f"{text} ({time.time_ns()})") for text in texts[1 : 1 + requests]]
    return {"first": first, "later": later}


def rate(ask: Ask, fresh: Any, at_once: int, requests: int) -> dict[str, float]:
    """Requests a second, how long each took, and how many were lost, with so many at once on threads here."""
    from prefect.exceptions import PrefectHTTPStatusError

    def one(text: str) -> float | None:
        try:
            return timed(ask, text)
        except PrefectHTTPStatusError:
            # SQLite was busy for longer than the client tries
            return None

    wanted = [next(fresh) for _ in range(requests)]
    started = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        # Prefect keeps its client and settings in context variables, which threads do not share
        jobs = [pool.submit(contextvars.copy_context().run, one, text) for text in wanted]
        times = [ms for job in jobs if (ms := job.result()) is not None]
    took = time.perf_counter() - started
    return {"per second": round(len(times) / took, 2), "lost": requests - len(times), **spread(times)}


def timed(ask: Ask, text: str) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    ask(text)
    return (time.perf_counter() - started) * 1000


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, with the bootstrap 95 % interval of the median."""
    found = latency(values)
    assert found is not None
    low, high = found.p50_interval
    return {
        name: round(value, 1)
        for name, value in (("p50", found.p50), ("low", low), ("high", high), ("p95", found.p95))
    }


def size(database: Path) -> int:
    """Bytes of the database with what waits in its write-ahead log."""
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def error_console() -> Console:
    return Console(stderr=True)


def show(figures: dict[str, Any], console: Console) -> None:
    def ms(found: dict[str, float]) -> str:
        return f"{found['p50']:,.0f} [{found['low']:,.0f}, {found['high']:,.0f}] / {found['p95']:,.0f}"

    console.print(
        f"{figures['skills']} skills, {figures['cores']} cores, load {figures['load before']:.1f} before"
    )
    table = Table(title="one request, p50 [95 % interval] / p95 ms")
    for name in ("direct", "standing server", "Prefect's share", "ephemeral, later runs"):
        table.add_column(name, justify="right")
    ephemeral = figures["ephemeral"]
    columns = (figures["direct"], figures["standing"], figures["share"], ephemeral["later runs"])
    table.add_row(*map(ms, columns))
    console.print(table)
    console.print(
        f"first run of a process with an ephemeral server: {ephemeral['first run, s']} s, "
        f"in an empty home {ephemeral['first run, empty home, s']} s"
    )
    table = Table(title="at once")
    for name in ("at once", "direct /s", "p50 / p95 ms", "standing /s", "p50 / p95 ms ", "lost"):
        table.add_column(name, justify="right")
    for each in figures["at once"]:
        cells = [
            cell for way in ("direct", "standing") for cell in (str(each[way]["per second"]), ms(each[way]))
        ]
        table.add_row(str(each["at once"]), *cells, str(each["standing"]["lost"]))
    console.print(table)
    row = figures["row"]
    console.print(
        f"{row['runs']} runs in a row: {ms(row['all'])} ms, first tenth {ms(row['first tenth'])}, "
        f"last tenth {ms(row['last tenth'])}; the database grew by {row['database KB a run']} KB a run"
    )


if __name__ == "__main__":
    main()
