"""What `up --stay` does when nothing can be started again; tests/test_orchestration.py has the real thing."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
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


@pytest.fixture
def said_until(ended: Standing) -> Callable[[str], list[str]]:
    """All that is told until SIGTERM comes, at the first line with these words."""
    (standing_folder() / "processes.json").write_text(json.dumps(asdict(ended)))

    def until(words: str) -> list[str]:
        said: list[str] = []

        def tell(line: str) -> None:
            said.append(line)
            if words in line:
                os.kill(os.getpid(), signal.SIGTERM)

        keep_up(ended, tell)
        return said

    return until


def test_a_start_that_fails_is_told_and_tried_again_later_until_it_is_interrupted(
    said_until: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "PREFECT", (sys.executable, "-c", "raise SystemExit('no')"))
    monkeypatch.setattr(keeping, "FIRST_PAUSE", 0.1)
    failures = [line for line in said_until("0.2 s") if "server.log" in line]
    assert [line.split()[-2] for line in failures] == ["0.1", "0.2"]
    assert not (standing_folder() / "processes.json").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_port_that_another_program_took_is_tried_again_later(
    said_until: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "_answers", lambda _: True)
    assert "Something answers on port 4299 already" in said_until("next try")[-1]
