"""Survey: every agent on this machine with its file, and which files a command is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from pickysteve.connectors.agents.doctor import is_connected
from pickysteve.connectors.agents.install import Place
from pickysteve.connectors.agents.machine import Machine, is_on_path
from pickysteve.connectors.agents.server import ServerCommand
from pickysteve.connectors.agents.table import Agent, Scope, Target, agents

__all__ = ["Seen", "chosen", "survey"]


@dataclass(frozen=True)
class Seen:
    """One file of an agent, or an agent without one; `is_found`: its program is here."""

    agent: Agent
    place: Place | None
    is_found: bool
    is_connected: bool = False


def _exists(path: PurePath) -> bool:
    try:
        return Path(path.as_posix()).exists()
    except OSError:
        # what we may not look at is not ours to edit
        return False


def survey(machine: Machine, scope: Scope, folder: Path, server: ServerCommand) -> tuple[Seen, ...]:
    """Every agent of the table; files of a project are looked for in `folder`."""
    return tuple(seen for agent in agents() for seen in _seen(agent, machine, scope, folder, server))


def _seen(
    agent: Agent, machine: Machine, scope: Scope, folder: Path, server: ServerCommand
) -> Iterable[Seen]:
    found = {target.name: machine.has(target, _exists, is_on_path) for target in agent.of_scope("user")}
    targets = agent.of_scope(scope)
    if not targets and not agent.steps:
        return
    if not targets:
        yield Seen(agent, None, any(found.values()))
    for target in targets:
        place = _place(agent, target, machine, folder)
        is_found = found.get(target.name, any(found.values()))
        yield Seen(agent, place, is_found, is_connected(place, server))


def _place(agent: Agent, target: Target, machine: Machine, folder: Path) -> Place:
    if target.scope == "user":
        path = machine.config_path(target, _exists)
        return Place(agent, target, Path(path.as_posix()).absolute())
    candidates = [folder / template for template in target.path_templates(machine.system)]
    path = next((one for one in candidates if one.exists()), candidates[0])
    return Place(agent, target, path, folder)


def chosen(seen: Iterable[Seen], names: Iterable[str], *, uninstall: bool) -> tuple[Seen, ...]:
    """The files that a command is about: of the named agents, else of all.

    To connect are those whose program is here, and for a named agent without one its first file. To uninstall
    are those that are connected.
    """
    names = set(names)
    named = [one for one in seen if not names or one.agent.id in names]
    if uninstall:
        return tuple(one for one in named if one.is_connected)
    here = {one.agent.id for one in named if one.is_found}
    first: dict[str, Seen] = {}
    for one in named:
        first.setdefault(one.agent.id, one)
    return tuple(
        one
        for one in named
        if one.is_found or (names and one.agent.id not in here and first[one.agent.id] is one)
    )
