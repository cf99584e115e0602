"""What `up` and `down` do when something is in the way; tests/test_orchestration.py has the real thing."""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from pickysteve.connectors import standing
from pickysteve.connectors.cli import app
from pickysteve.connectors.standing import OrchestratorFailed, bring_up, read_standing, standing_folder
from pickysteve.errors import SettingsInvalid

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(ROOT)


def test_a_later_process_of_the_same_number_is_not_taken_for_ours() -> None:
    standing_folder().mkdir(parents=True)
    other = {"pid": os.getpid(), "started": 1.0}
    kept = {"port": 1, "checkout": "", "server": other, "worker": other, "watcher": other}
    (standing_folder() / "processes.json").write_text(json.dumps(kept))
    assert read_standing() is None


def test_outside_of_a_checkout_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsInvalid, match="checkout"):
        bring_up(4200, print)


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_port_that_answers_is_left_alone() -> None:
    with HTTPServer(("127.0.0.1", 0), Healthy) as other:
        Thread(target=other.handle_request, daemon=True).start()
        with pytest.raises(SettingsInvalid, match="--port"):
            bring_up(other.server_port, print)


def test_a_server_that_does_not_start_is_told_with_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "PREFECT", (sys.executable, "-c", "raise SystemExit('no')"))
    with pytest.raises(OrchestratorFailed, match=r"server\.log"):
        bring_up(4299, print)
    assert (standing_folder() / "server.log").read_text() == "no\n"


ONLY_A_SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

if "server" not in sys.argv:
    sys.exit("that is no flow")
HTTPServer(("127.0.0.1", int(sys.argv[-1])), Healthy).serve_forever()
"""


def test_a_file_that_cannot_be_deployed_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "PREFECT", (sys.executable, "-c", ONLY_A_SERVER))
    with HTTPServer(("127.0.0.1", 0), Healthy) as free:
        port = free.server_port
    with pytest.raises(OrchestratorFailed, match="that is no flow"):
        bring_up(port, print)
    with pytest.raises(URLError):
        urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2)
    assert read_standing() is None


def test_down_says_when_nothing_runs() -> None:
    outcome = CliRunner().invoke(app, ["down"])
    assert (outcome.exit_code, outcome.output) == (0, "nothing was running\n")
