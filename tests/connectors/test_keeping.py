"""What `up --stay` does when nothing can be started again; tests/test_orchestration.py has the real thing."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from pickysteve.connectors import keeping, standing
from pickysteve.connectors.keeping import keep_up
from pickysteve.connectors.processes import Process
from pickysteve.connectors.standing import Standing, standing_folder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Standing:
    """What was started once and runs no more."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(keeping, "LOOK_SECONDS", 0.05)
    gone = Process(os.getpid(), started=1.0)
    standing_folder().mkdir(parents=True)
    return Standing(4299, str(ROOT), gone, gone, gone)


def test_what_was_brought_down_elsewhere_is_not_started_again(ended: Standing) -> None:
    said: list[str] = []
    keep_up(ended, said.append)
    assert said == ["ended: server, worker, watcher", "brought down from elsewhere"]


def test_a_start_that_fails_is_told_and_tried_again_later_until_it_is_interrupted(
    ended: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (standing_folder() / "processes.json").write_text(json.dumps(asdict(ended)))
    monkeypatch.setattr(standing, "PREFECT", (sys.executable, "-c", "raise SystemExit('no')"))
    monkeypatch.setattr(keeping, "FIRST_PAUSE", 0.1)
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        if "0.2 s" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    keep_up(ended, tell)
    failures = [line for line in said if "server.log" in line]
    assert [line.split()[-2] for line in failures] == ["0.1", "0.2"]
    assert not (standing_folder() / "processes.json").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_port_that_another_program_took_is_tried_again_later(
    ended: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (standing_folder() / "processes.json").write_text(json.dumps(asdict(ended)))
    monkeypatch.setattr(standing, "_answers", lambda _: True)
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        if "next try" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    keep_up(ended, tell)
    assert "Something answers on port 4299 already" in said[-1]
