"""What an agent waits for: `pickysteve mcp` from its start to the answer to `initialize`, and a warm pick.

    python benchmarks/handshake.py [--starts 15] [--picks 15] [--json]      (from another folder than this)

Each start is a process of its own, started as an agent starts it, with the pipe open. Wall milliseconds
are those of this machine at this time; CPU milliseconds (user and system, every thread, in steps of 10)
tell the same on a busy one. A pick is one call of pick_context over the same pipe, with the run record on
disk: the first one starts the background engine, which loads its models; the others find it warm.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = str(Path(sys.executable).parent / "pickysteve")
REVISION = "2025-11-25"
REQUEST = "the borrow checker rejects my struct with a reference in it"
TICK_MILLISECONDS = 1_000 / os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """Milliseconds of one thing."""

    wall: float
    cpu: float


class Server:
    """A started server, spoken to in lines of JSON-RPC."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.number = 0

    def call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """The result of a request; raises RuntimeError for an error and for a server that ended."""
        self.number += 1
        self._write({"id": self.number, "method": method, "params": parameters})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method} failed: {message['error']}")
                return dict(message["result"])
        raise RuntimeError(f"the server ended before it answered {method}")

    def shake_hands(self) -> None:
        """What every client says first."""
        client = {"name": "handshake", "version": "1"}
        asked = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
        if self.call("initialize", asked)["protocolVersion"] != REVISION:
            raise RuntimeError("the server chose another revision")

    def ready(self) -> None:
        """What every client says after the handshake."""
        self._write({"method": "notifications/initialized"})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def cpu(self) -> float:
        """Milliseconds of every thread so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_MILLISECONDS


@contextmanager
def started(words: list[str], **variables: str) -> Iterator[Server]:
    environment = {**os.environ, **variables}
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=environment
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def handshake(words: list[str]) -> Spent:
    """One start, up to the answer."""
    begun = time.perf_counter()
    with started(words) as server:
        server.shake_hands()
        wall = (time.perf_counter() - begun) * 1_000
        return Spent(wall, server.cpu())


def picks(words: list[str], count: int) -> list[float]:
    """Wall milliseconds of calls of pick_context, the first one with a background engine of its own."""
    asked = {"name": "pick_context", "arguments": {"request": REQUEST}}
    times = []
    # another folder for sockets is another engine; it is gone ten seconds after the last call
    with (
        tempfile.TemporaryDirectory() as folder,
        started(words, XDG_RUNTIME_DIR=folder, PS_ENGINE_IDLE_SECONDS="10") as server,
    ):
        server.shake_hands()
        server.ready()
        for _ in range(count + 1):
            begun = time.perf_counter()
            answer = server.call("tools/call", asked)
            times.append((time.perf_counter() - begun) * 1_000)
            if answer.get("isError") or not answer["structuredContent"]["context"]:
                raise RuntimeError(f"pick_context gave no bundle: {answer['content']}")
    return times


def spread(values: list[float]) -> dict[str, float]:
    """Median, lowest and highest."""
    return {
        "median": round(statistics.median(values), 1),
        "min": round(min(values), 1),
        "max": round(max(values), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--picks", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    words = [COMMAND, "mcp"]
    handshake(words)  # the first one compiles what is new
    spent = [handshake(words) for _ in range(options.starts)]
    rows = {
        "handshake, wall ms": spread([one.wall for one in spent]),
        "handshake, CPU ms": spread([one.cpu for one in spent]),
    }
    if options.picks:
        cold, *warm = picks(words, options.picks)
        rows |= {"first pick, wall ms": spread([cold]), "warm pick, wall ms": spread(warm)}
    if options.json:
        print(json.dumps({"starts": options.starts, "picks": options.picks, **rows}, indent=1))
        return
    print(f"{options.starts} starts, {options.picks} picks; load {os.getloadavg()[0]:.1f}")
    for name, row in rows.items():
        print(f"{name:20} median {row['median']:7.1f}  min {row['min']:7.1f}  max {row['max']:7.1f}")


if __name__ == "__main__":
    main()
