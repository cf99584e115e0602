"""Places of agents below a temporary folder, on any system."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pickysteve.connectors.agents.install import Place
from pickysteve.connectors.agents.machine import Machine
from pickysteve.connectors.agents.server import ServerCommand
from pickysteve.connectors.agents.table import agent, agents

NOW = datetime(2026, 11, 30, 12, 34, 56, tzinfo=UTC)
FILES = [(one.id, index) for one in agents() for index in range(len(one.targets))]
COMMANDS = {
    "linux": "/home/ada/.venv/bin/pickysteve",
    "macos": "/Users/ada/.venv/bin/pickysteve",
    "windows": r"C:\Users\ada lovelace\venv\Scripts\pickysteve.exe",
}


def write(place, content):
    if content is not None:
        place.path.parent.mkdir(parents=True, exist_ok=True)
        place.path.write_bytes(content)


def tree(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def server():
    return ServerCommand(COMMANDS["linux"])


@pytest.fixture
def place(tmp_path):
    """The place of an agent's file on a system; its home is a temporary folder."""

    def make(name, index=0, system="linux"):
        target = agent(name).targets[index]
        machine = Machine(system, str(tmp_path / "home"), {})
        path = machine.config_path(target, lambda path: Path(path.as_posix()).exists())
        folder = tmp_path / "project" if target.scope == "project" else None
        real = Path(path.as_posix())
        return Place(agent(name), target, folder / real if folder else real, folder)

    return make
