"""Processes that outlive the command that started them: found again, and ended with their children."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from pickysteve.liveness import has_ended

__all__ = ["Process", "end", "start_detached"]

STOP_SECONDS = 15


@dataclass(frozen=True)
class Process:
    """A process, told from a later one of the same number by when it started."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has the number now."""
        return cls(pid, psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The process while it runs."""
        try:
            found = psutil.Process(self.pid)
            same = abs(found.create_time() - self.started) < 1
            return found if same and not has_ended(found) else None
        except psutil.NoSuchProcess:
            return None


def start_detached(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
) -> Process:
    """Start a command in a session of its own; what it says goes to the log."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    # it is left to run, and nobody here waits for its end
    process.returncode = 0
    return Process.of(process.pid)


def end(started: Process) -> None:
    """End a process that still runs and all that it started: politely, then for good."""
    process = started.find()
    if process is None:
        return
    every = [*process.children(recursive=True), process]
    for each in reversed(every):
        _quietly(each.terminate)
    left = _wait(every)
    for each in left:
        _quietly(each.kill)
    _wait(left)


def _wait(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that still run after a while."""
    deadline = time.monotonic() + STOP_SECONDS
    left = list(processes)
    while (left := [each for each in left if not has_ended(each)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _quietly(act: Callable[[], None]) -> None:
    try:
        act()
    except psutil.NoSuchProcess:
        return
