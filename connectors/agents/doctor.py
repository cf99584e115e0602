"""Doctor: whether what an agent's file says is what we would write, and whether it can be started."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pickysteve.connectors.agents.data import conflicts, lookup
from pickysteve.connectors.agents.install import Place, read_place
from pickysteve.connectors.agents.server import ServerCommand, filled, started_by
from pickysteve.connectors.agents.table import Entry
from pickysteve.errors import AgentConfigInvalid

if TYPE_CHECKING:
    from pickysteve.connectors.agents.probe import Probe

__all__ = ["Finding", "examine", "is_connected"]


@dataclass(frozen=True)
class Finding:
    """What is known of one file: problems to mend, remarks, and how the server answered."""

    place: Place
    server: ServerCommand | None
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    probe: Probe | None = field(default=None)


def is_connected(place: Place, server: ServerCommand) -> bool:
    """Whether an entry of ours is in the file, up to date or not; False for a file that cannot be read."""
    try:
        return read_place(place, server).state != "absent"
    except AgentConfigInvalid:
        return False


def examine(place: Place, server: ServerCommand, *, start: bool = False) -> Finding:
    """Check one file; with `start` also start what it names and call a tool."""
    try:
        _, data, state, target = read_place(place, server)
    except AgentConfigInvalid as error:
        return Finding(place, None, (str(error),))
    again = f'run "pickysteve connect --agent {place.agent.id}".'
    if state == "absent":
        return Finding(place, None, (f"There is no entry: {again}",))
    first = filled(target, server)[0]
    found = _entry(data, first)
    named = started_by(target.entries[0].value, found)
    if named is None:
        return Finding(place, None, (f"The entry names no command: {again}",))
    problems = _command_problems(named, again)
    if not problems and state == "other":
        names = ", ".join(_differences(found, first.value)) or "a bundle or grant"
        problems = [f"The entry is not what we would write ({names}): {again}"]
    finding = Finding(place, named, tuple(problems), _remarks(named))
    return _probed(finding) if start and not _command_problems(named, again) else finding


def _entry(data: Any, first: Entry) -> Any:
    found = lookup(data, first.route)
    if first.kind == "row":
        return next((row for row in found or () if row.get("name") == first.value["name"]), None)
    return found


def _command_problems(server: ServerCommand, again: str) -> list[str]:
    command = Path(server.command)
    if not command.is_absolute():
        return [f'The command "{command}" is not absolute, so another program may be started: {again}']
    if not command.is_file():
        return [f'The command "{command}" is not there any more: {again}']
    if not os.access(command, os.X_OK):
        return [f'The command "{command}" cannot be run: run "chmod +x" on it.']
    return []


def _differences(found: Any, wanted: Any) -> list[str]:
    if conflicts(found, wanted):
        return ["it is for a server at an address"]
    return [key for key, value in wanted.items() if key not in found or found[key] != value]


def _remarks(server: ServerCommand) -> tuple[str, ...]:
    """Settings of this shell that the server will not see when the agent hands its variables on in part."""
    names = sorted(name for name in os.environ if name.startswith("PS_"))
    unseen = [name for name in names if name not in dict(server.variables)]
    if not unseen:
        return ()
    return (f"Agents may not hand on {', '.join(unseen)}: put settings into config.toml.",)


def _probed(finding: Finding) -> Finding:
    # the client is loaded only for this
    from pickysteve.connectors.agents.probe import probe

    server, agent = finding.server, finding.place.agent
    if server is None:
        return finding
    try:
        answer = probe(server)
    except ConnectionError as error:
        problem = f'The server does not answer ({error}): run "{server.command} mcp" to see why.'
        return Finding(finding.place, server, (*finding.problems, problem), finding.remarks)
    remarks = finding.remarks
    limit = agent.handshake_milliseconds
    if limit is not None and answer.handshake > limit:
        slow = f"The handshake took {answer.handshake:.0f} ms; {agent.title} may lose tools after {limit} ms."
        remarks = (*remarks, slow)
    return Finding(finding.place, server, finding.problems, remarks, answer)
