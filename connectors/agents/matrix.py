"""Matrix: docs/agents.md, made from the table; the snippets come from the editors themselves."""

from __future__ import annotations

from collections.abc import Iterator

from pickysteve.connectors.agents.edit import connected
from pickysteve.connectors.agents.server import ServerCommand, filled
from pickysteve.connectors.agents.table import Agent, System, Target, agents, code_folders

__all__ = ["agents_page"]

EXAMPLE = ServerCommand("/absolute/path/to/pickysteve")
SYSTEMS: dict[System, str] = {"linux": "Linux", "macos": "macOS", "windows": "Windows"}
TRIED = {
    "connects": "the agent starts it",
    "read": "the agent lists it",
    "": "documentation",
}
HEAD = """\
# Agents

<!-- Made by `pickysteve connect --docs` from connectors/agents/table.toml: change that file instead. -->

```bash
pickysteve connect --list              # which agents are here, and which are connected
pickysteve connect --all --dry-run     # the diff of every change, nothing written
pickysteve connect --agent codex       # one agent; --all for every agent that is here
pickysteve connect --project --agent cursor   # the file of the project in this folder
pickysteve connect doctor --probe      # start the server as each agent would, and call a tool
pickysteve connect --uninstall --all   # each file byte for byte as it was
```

An edit adds one entry and leaves every other character of the file. A copy is kept beside the file
(`FILE.pickysteve-YYYYmmddTHHMMSS.bak`). If the file changed since, an uninstall takes out the entry alone.
The command is written as an absolute path, `CMD` below. "Tried" says what is behind a row: the agent itself
started the server from our entry, or listed the entry (`scripts/try-agents`); or only its documentation.

| agent | file | form | entry | its own command | tried |
|---|---|---|---|---|---|
"""


def agents_page() -> str:
    """The whole page as Markdown."""
    rows = "".join(row for agent in agents() for row in _rows(agent))
    return HEAD + rows + "".join(f"\n{_section(agent)}" for agent in agents())


def _rows(agent: Agent) -> Iterator[str]:
    link = f"[{agent.title}](#{agent.id})"
    if not agent.targets:
        yield _row(link, "-", "-", "by hand, see below", _code(agent.own), TRIED[""])
    for target in agent.targets:
        name = f" ({target.name})" if target.name else ""
        path = _code(_shown(target.path_templates("linux")[0], "linux"))
        tried = TRIED[_tried(agent, target)]
        yield _row(link + name, path, target.format, _code(_route(target)), _code(agent.own), tried)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _tried(agent: Agent, target: Target) -> str:
    return agent.tried if target.scope == "user" and not target.name else ""


def _code(text: str) -> str:
    return f"`{text}`" if text else "-"


def _route(target: Target) -> str:
    return ".".join(target.entries[0].route)


def _shown(template: str, system: System) -> str:
    return template.replace("{code}", code_folders()[system])


def _section(agent: Agent) -> str:
    lines = [f'<a id="{agent.id}"></a>', "", f"## {agent.title}", ""]
    lines += [f"- {note}" for note in agent.mind] + [""] * bool(agent.mind)
    if agent.steps:
        lines += ["It has no file that could be edited for you:", ""]
        lines += [f"{number}. {step}" for number, step in enumerate(agent.steps, 1)] + [""]
    for target in agent.targets:
        lines += [*_file_lines(target), *_snippet(target)]
    if agent.check:
        lines += [f"To look at it from there: `{agent.check}`.", ""]
    return "\n".join(lines)


def _file_lines(target: Target) -> list[str]:
    where = "In a project" if target.scope == "project" else "For you"
    title = f"{where}, in {target.name}" if target.name else where
    by_system = {name: _paths(target, system) for system, name in SYSTEMS.items()}
    if len(set(by_system.values())) == 1:
        places = by_system["Linux"]
    else:
        places = "; ".join(f"{name}: {path}" for name, path in by_system.items())
    named = (
        f"; instead, where set: {' or '.join(f'`{one}`' for one in target.overrides)}"
        if target.overrides
        else ""
    )
    return [f"{title}: {places}{named}", ""]


def _paths(target: Target, system: System) -> str:
    return " or ".join(f"`{_shown(template, system)}`" for template in target.path_templates(system))


def _snippet(target: Target) -> list[str]:
    entries = filled(target, EXAMPLE)
    start = b"[agents.assistant]\n" if any(entry.kind == "member" for entry in entries) else b""
    text = connected(start, target.format, entries).decode()
    language = "json" if target.format == "json-comments" else target.format
    return [f"```{language}", *text.rstrip("\n").split("\n"), "```", ""]
