"""A git repository and an MCP server, both real."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SERVER = Path(__file__).parent / "tool_server.py"


def git(folder: Path, *words: str) -> str:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *who, *words],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main, the first tagged v1, with skills in a subfolder."""
    folder = tmp_path / "team.skills"
    (folder / "skills" / "ship").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number, tag in ((1, "v1"), (2, "v2")):
        text = f"---\nname: ship-it\ndescription: Ships, version {number}.\n---\nShip it.\n"
        (folder / "skills" / "ship" / "SKILL.md").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "--quiet", "-m", tag)
        git(folder, "tag", tag)
    return folder


@pytest.fixture
def server() -> Callable[..., tuple[str, ...]]:
    """The words that start the tool server in one of its manners."""

    def words(manner: str = "plain") -> tuple[str, ...]:
        return (sys.executable, str(SERVER), manner)

    return words
