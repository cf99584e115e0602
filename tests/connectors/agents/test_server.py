"""The command that is written: absolute, and with a way out where there is no console script."""

import os
import subprocess
import sys
from pathlib import Path

from pickysteve.connectors.agents import server
from pickysteve.connectors.agents.server import own_command


def test_it_is_the_console_script_of_this_environment():
    found = own_command()
    assert Path(found.command).is_absolute() and os.access(found.command, os.X_OK)
    assert Path(found.command).stem == "pickysteve" and found.arguments == ("mcp",)
    assert Path(found.command).parent == Path(sys.executable).parent


def test_without_one_the_interpreter_runs_the_same_code(monkeypatch, tmp_path):
    interpreter = sys.executable
    monkeypatch.setattr(server.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(server.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = own_command()
    assert found.command == str(tmp_path / "python") and found.arguments[-1] == "mcp"
    # the words are tried with the interpreter that is really here
    words = [interpreter, *found.arguments[:-1], "mcp", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and "Serve MCP" in done.stdout
