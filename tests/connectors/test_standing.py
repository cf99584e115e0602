"""`up` and `down`: a real server, a real worker, and every deployment of prefect.yaml."""

from __future__ import annotations

import json
import os
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import psutil
import pytest
import yaml
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.connectors.standing import (
    bring_down,
    bring_up,
    read_standing,
    standing_folder,
)
from pickysteve.errors import SettingsInvalid

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(ROOT)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def deployed(api: str) -> set[str]:
    request = Request(f"{api}/deployments/filter", b"{}", {"Content-Type": "application/json"})
    with urlopen(request, timeout=20) as answer:
        return {deployment["name"] for deployment in json.load(answer)}


def test_up_deploys_every_flow_and_down_leaves_nothing_running() -> None:
    wanted = {d["name"] for d in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]}
    said: list[str] = []
    try:
        standing = bring_up(free_port(), said.append)
        assert deployed(standing.api) == wanted
        assert bring_up(free_port(), said.append) == standing
        assert said.count("starting the server") == 1
    finally:
        assert bring_down(said.append)
    assert not psutil.pid_exists(standing.server.pid) or not standing.server.find()
    assert read_standing() is None
    assert not bring_down(said.append)


def test_a_later_process_of_the_same_number_is_not_taken_for_ours() -> None:
    standing_folder().mkdir(parents=True)
    other = {"pid": os.getpid(), "started": 1.0}
    kept = {"port": 1, "checkout": "", "server": other, "worker": other}
    (standing_folder() / "processes.json").write_text(json.dumps(kept))
    assert read_standing() is None


def test_outside_of_a_checkout_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsInvalid, match="checkout"):
        bring_up(free_port(), print)


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


def test_down_says_when_nothing_runs() -> None:
    outcome = CliRunner().invoke(app, ["down"])
    assert (outcome.exit_code, outcome.output) == (0, "nothing was running\n")
