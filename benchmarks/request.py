"""Time of a warm request, direct and orchestrated in turns, and of a cold command.

    python benchmarks/request.py --registry DIR --suite FILE.jsonl [--api URL] [--requests 60]

With --api (a standing Prefect server) each request runs both ways, one after the other, so that both
meet the same machine. Figures are medians and 95th percentiles over the requests.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--registry", type=Path, required=True)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--api", default="")
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--cold", type=int, default=5)
    options = parser.parse_args()
    if options.api:
        os.environ["PREFECT_API_URL"] = options.api
    with TemporaryDirectory() as scratch:
        os.environ["PS_RUNS_DIR"] = str(Path(scratch) / "runs")
        figures = {"warm": warm(options), "cold": cold(options)}
    print(json.dumps(figures, indent=1))


def warm(options: argparse.Namespace) -> dict[str, object]:
    from pickysteve.flows.dag import pick_context
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite
    from pickysteve.tasks.stage import Direct
    from pickysteve.tasks.values import Request

    settings = load_settings(registry=options.registry)
    engines = open_engines(settings)
    tasks = read_suite(options.suite)
    chosen = tasks[:: max(1, len(tasks) // options.requests)][: options.requests]
    texts = [task.request for task in chosen]
    pick_context(Request(text=texts[0]), engines, settings, Direct())
    direct, orchestrated, stages = [], [], {}
    for text in texts:
        # a memo of the last texts would make the second way look better than it is
        engines.encoder._memo.clear()
        started = time.perf_counter()
        trace = pick_context(Request(text=text), engines, settings, Direct())
        direct.append((time.perf_counter() - started) * 1000)
        for record in trace.stages:
            stages.setdefault(record.stage, []).append(record.milliseconds)
    if options.api:
        orchestrated = run_orchestrated(texts, settings, engines)
    return {
        "registry": str(options.registry),
        "skills": len(engines.index.skills),
        "requests": len(texts),
        "median_words": float(np.median([len(text.split()) for text in texts])),
        "direct_ms": spread(direct),
        "stages_ms": {name: spread(values) for name, values in stages.items()},
        **({"orchestrated": orchestrated} if orchestrated else {}),
    }


def run_orchestrated(texts: list[str], settings: object, engines: object) -> dict[str, object]:
    """Each request direct and orchestrated back to back; Prefect's share is the difference of the pair."""
    import logging

    from pickysteve.flows.dag import pick_context
    from pickysteve.flows.request import make_request_flow
    from pickysteve.flows.server_session import orchestrated_session
    from pickysteve.tasks.stage import Direct
    from pickysteve.tasks.values import Request

    logging.getLogger("prefect").setLevel(logging.WARNING)
    flow = make_request_flow((engines, settings))
    both, shares = [], []
    with orchestrated_session():
        for text in texts[:1] + texts:
            # a text that nobody asked before: nothing comes from Prefect's cache
            fresh = f"{text} ({time.time_ns()})"
            engines.encoder._memo.clear()
            started = time.perf_counter()
            pick_context(Request(text=fresh), engines, settings, Direct())
            direct = time.perf_counter() - started
            engines.encoder._memo.clear()
            started = time.perf_counter()
            flow(fresh, registry=str(settings.registry), return_state=True)
            took = time.perf_counter() - started
            both.append(took * 1000)
            shares.append((took - direct) * 1000)
    return {"total_ms": spread(both[1:]), "prefect_share_ms": spread(shares[1:])}


def cold(options: argparse.Namespace) -> dict[str, object]:
    """A new process for each pick: wall time and peak resident memory."""
    command = [str(Path(sys.executable).parent / "pickysteve"), "pick", "why is this query slow", "--json"]
    seconds = []
    for _ in range(options.cold):
        started = time.perf_counter()
        subprocess.run([*command, "--registry", str(options.registry)], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"runs": options.cold, "seconds": spread(seconds), "peak_mib": round(peak)}


def spread(values: list[float]) -> dict[str, float]:
    return {"p50": round(float(np.median(values)), 2), "p95": round(float(np.percentile(values, 95)), 2)}


if __name__ == "__main__":
    main()
