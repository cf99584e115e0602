"""Processes that outlive the command that started them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pickysteve.connectors import processes
from pickysteve.connectors.processes import Process, end, start_detached

SLEEPS = "import time; time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {SLEEPS}"
STARTS_ONE = f"""
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", {SLEEPS!r}]).pid, flush=True)
time.sleep(600)
"""

ITS_FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


def start(program: str, folder: Path) -> Process:
    return start_detached([sys.executable, "-c", program], folder / "log", os.environ, folder)


def test_a_child_that_ended_is_not_found_and_is_buried(
    tmp_path: Path, wait_until: Callable[..., Any]
) -> None:
    started = start("", tmp_path)
    wait_until(lambda: started.find() is None, pause=0.02)
    assert not psutil.pid_exists(started.pid)


def test_what_ended_and_was_not_buried_by_its_parent_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 600)
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = Process.of(int(parent.stdout.readline()))
        end(child)
        assert child.find() is None
        assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
        parent.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="how Linux shows the threads of a process")
def test_a_process_whose_first_thread_ended_runs_on_until_it_is_ended(
    tmp_path: Path, wait_until: Callable[..., Any]
) -> None:
    started = start(ITS_FIRST_THREAD_ENDS, tmp_path)
    wait_until(lambda: psutil.Process(started.pid).status() == psutil.STATUS_ZOMBIE, pause=0.02)
    assert started.find()
    end(started)
    assert not psutil.pid_exists(started.pid)


def test_a_process_is_ended_with_all_that_it_started(tmp_path: Path, wait_until: Callable[..., Any]) -> None:
    started = start(STARTS_ONE, tmp_path)
    child = Process.of(int(wait_until(lambda: (tmp_path / "log").read_text())))
    end(started)
    assert (started.find(), child.find()) == (None, None)


def test_what_does_not_heed_a_polite_word_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., Any]
) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    started = start(DEAF, tmp_path)
    wait_until(lambda: "deaf" in (tmp_path / "log").read_text())
    end(started)
    assert started.find() is None


def test_a_later_process_of_the_same_number_is_another_one() -> None:
    assert Process(os.getpid(), started=1.0).find() is None
    end(Process(os.getpid(), started=1.0))
