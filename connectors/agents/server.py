"""Server: the command that agents start, and the entries of the table filled in with it."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pickysteve.connectors.agents.table import Entry, Target

__all__ = ["ServerCommand", "filled", "own_command", "started_by"]

ARGUMENTS = ("mcp",)
START = "from pickysteve.connectors.entry import main; main()"
VARIABLES = ("env", "envs", "environment")


@dataclass(frozen=True)
class ServerCommand:
    """How the server is started: an absolute command, its arguments, and variables to add."""

    command: str
    arguments: tuple[str, ...] = ARGUMENTS
    variables: tuple[tuple[str, str], ...] = ()


def own_command() -> ServerCommand:
    """The console script of the environment that we run in, by its absolute path.

    Without one, the interpreter runs the same code; `-P` keeps the agent's working folder off its path.
    """
    name = "pickysteve.exe" if os.name == "nt" else "pickysteve"
    beside = [Path(sysconfig.get_path("scripts")) / name, Path(sys.executable).parent / name]
    found = next((str(path) for path in beside if os.access(path, os.X_OK)), None) or shutil.which(
        "pickysteve"
    )
    if found is not None:
        return ServerCommand(str(Path(found).absolute()))
    return ServerCommand(sys.executable, ("-P", "-c", START, *ARGUMENTS))


def filled(target: Target, server: ServerCommand) -> tuple[Entry, ...]:
    """The entries of a target for a command."""
    return tuple(entry.model_copy(update={"value": _fill(entry.value, server)}) for entry in target.entries)


def _fill(template: Any, server: ServerCommand) -> Any:
    if isinstance(template, dict):
        return {key: _fill(value, server) for key, value in template.items()}
    if isinstance(template, list):
        return [part for item in template for part in _items(item, server)]
    return server.command if template == "{command}" else template


def _items(item: Any, server: ServerCommand) -> list[Any]:
    return list(server.arguments) if item == "{args}" else [_fill(item, server)]


def started_by(template: Any, found: Any) -> ServerCommand | None:
    """What an agent starts for an entry as it stands in the file; None when it names no command."""
    if not isinstance(template, dict) or not isinstance(found, dict):
        return None
    for key, value in template.items():
        if value == ["{command}", "{args}"]:
            words = found.get(key)
            return _server(words[0], words[1:], found) if isinstance(words, list) and words else None
        if value == "{command}":
            return _server(found.get(key), found.get("args") or [], found)
        if (inner := started_by(value, found.get(key))) is not None:
            return inner
    return None


def _server(command: Any, arguments: Any, found: dict[str, Any]) -> ServerCommand | None:
    if not isinstance(command, str) or not isinstance(arguments, list):
        return None
    variables: dict[str, Any] = next(
        (found[name] for name in VARIABLES if isinstance(found.get(name), dict)), {}
    )
    pairs = tuple((str(name), str(value)) for name, value in variables.items())
    return ServerCommand(command, tuple(map(str, arguments)), pairs)
