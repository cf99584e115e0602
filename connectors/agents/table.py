"""Table: the 18 agents as data, and which file each one means on a machine."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pickysteve.errors import AgentUnknown

__all__ = ["Agent", "Entry", "Format", "Scope", "System", "Target", "agent", "agents", "code_folders"]

System = Literal["linux", "macos", "windows"]
Scope = Literal["user", "project"]
Format = Literal["json", "json-comments", "jsonc", "json5", "toml", "yaml"]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Row):
    """One thing to put into a file.

    `key`: the value of a route. `row`: a table in an array of tables, known by its name. `member`: an item
    in a list; a `*` in its route means every table there.
    """

    kind: Literal["key", "row", "member"] = "key"
    route: tuple[str, ...]
    value: Any


class OtherForm(_Row):
    """Entries for files in which a table stands at `holder`: a newer form of the same file."""

    holder: tuple[str, ...]
    entries: tuple[Entry, ...]


class Target(_Row):
    """One configuration file of an agent."""

    name: str = ""
    scope: Scope = "user"
    format: Format
    paths: dict[Literal["any", "linux", "macos", "windows"], tuple[str, ...]]
    overrides: tuple[str, ...] = ()
    binaries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    folders_by_system: dict[System, tuple[str, ...]] = {}
    entries: tuple[Entry, ...]
    other_form: OtherForm | None = None

    def path_templates(self, system: System) -> tuple[str, ...]:
        """Where the file may be on a system."""
        return self.paths.get(system) or self.paths["any"]

    def folder_templates(self, system: System) -> tuple[str, ...]:
        """Folders that only this agent makes."""
        return self.folders_by_system.get(system, self.folders)


class Agent(_Row):
    """One agent; without targets it has no file for us, and `steps` says what to do."""

    id: str
    title: str
    targets: tuple[Target, ...] = ()
    tried: Literal["", "starts", "picks", "proxy"] = ""
    own: str = ""
    own_tried: bool = False
    check: str = ""
    mind: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    handshake_milliseconds: int | None = None

    def of_scope(self, scope: Scope) -> tuple[Target, ...]:
        """Its files of one scope."""
        return tuple(target for target in self.targets if target.scope == scope)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("table.toml").read_text(encoding="utf-8"))


@cache
def agents() -> tuple[Agent, ...]:
    """Every agent, in the table's order."""
    return tuple(Agent.model_validate(row) for row in _table()["agents"])


def agent(name: str) -> Agent:
    """The agent of an id; raises AgentUnknown."""
    known = {one.id: one for one in agents()}
    if name not in known:
        raise AgentUnknown(f'There is no agent "{name}": use one of {", ".join(known)}.')
    return known[name]


def code_folders() -> dict[System, str]:
    """VS Code's folder on each system, which "{code}" stands for in paths."""
    return dict(_table()["code"])
