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
    "picks": "its model calls the tool",
    "starts": "the agent starts it",
    "proxy": "its calls go through the proxy",
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
The command is written as an absolute path, `CMD` below. What is behind a row, on Linux: the agent itself,
installed from npm, was driven by a scripted model that called `pick_context` and got the whole bundle
(`scripts/try-clients`); or it started the server from the entry for you (`scripts/try-agents`); or its
calls went through the proxy (`scripts/try-servers`); or only its documentation was read. A star stands
where the agent's own command was run and wrote an entry of this form; it may set the rest of the file
anew, and cannot give it back.

Any agent that lets you set its model's address can use the proxy instead, or besides: `pickysteve serve
--upstream URL`, and `http://127.0.0.1:8077` (with `/v1` for the APIs of OpenAI) as that address. Claude Code,
Codex, OpenCode, Qwen Code, GitHub Copilot, Kimi Code, Cline and Aider were driven through it.

| agent | file for you | file in a project | form | its own command | what is behind it |
|---|---|---|---|---|---|
"""


def agents_page() -> str:
    """The whole page as Markdown."""
    rows = "".join(row for agent in agents() for row in _rows(agent))
    return HEAD + rows + "".join(f"\n{_section(agent)}" for agent in agents())


def _rows(agent: Agent) -> Iterator[str]:
    """A row for each of an agent's programs; most have one."""
    names = dict.fromkeys(target.name for target in agent.targets) or {"": None}
    for name in names:
        mine, shared = (
            next((target for target in agent.of_scope(scope) if target.name == name), None)
            for scope in ("user", "project")
        )
        target = mine or shared
        cells = (
            f"[{agent.title}](#{agent.id})" + (f" ({name})" if name else ""),
            _first_path(mine) if agent.targets else "by hand, see below",
            _first_path(shared),
            target.format if target else "-",
            "-" if name else _own(agent),
            TRIED["" if name else agent.tried],
        )
        yield f"| {' | '.join(cells)} |\n"


def _first_path(target: Target | None) -> str:
    return _code(_shown(target.path_templates("linux")[0], "linux")) if target else "-"


def _own(agent: Agent) -> str:
    return _code(agent.own) + "*" * agent.own_tried


def _code(text: str) -> str:
    return f"`{text}`" if text else "-"


def _shown(template: str, system: System) -> str:
    return template.replace("{code}", code_folders()[system])


def _section(agent: Agent) -> str:
    lines = [f'<a id="{agent.id}"></a>', "", f"## {agent.title}", ""]
    lines += [f"- {note}" for note in agent.mind] + [""] * bool(agent.mind)
    if agent.steps:
        lines += ["It has no file that could be edited for you:", ""]
        lines += [f"{number}. {step}" for number, step in enumerate(agent.steps, 1)] + [""]
    for snippet, places in _by_snippet(agent).items():
        lines += [*places, "", snippet, ""]
    if agent.check:
        lines += [f"To look at it from there: `{agent.check}`.", ""]
    return "\n".join(lines)


def _by_snippet(agent: Agent) -> dict[str, list[str]]:
    """The places of each snippet: a project's file mostly takes the same one."""
    found: dict[str, list[str]] = {}
    for target in agent.targets:
        found.setdefault(_snippet(target), []).append(_file_line(target))
    return found


def _file_line(target: Target) -> str:
    where = "in a project" if target.scope == "project" else "for you"
    title = f"{where}, {target.name}" if target.name else where
    by_system = {name: _paths(target, system) for system, name in SYSTEMS.items()}
    if len(set(by_system.values())) == 1:
        places = by_system["Linux"]
    else:
        places = "; ".join(f"{name} {path}" for name, path in by_system.items())
    instead = " or ".join(map(_code, target.overrides))
    return f"- {title}: {places}" + (f"; instead, where set, {instead}" if instead else "")


def _paths(target: Target, system: System) -> str:
    return " or ".join(_code(_shown(template, system)) for template in target.path_templates(system))


def _snippet(target: Target) -> str:
    entries = filled(target, EXAMPLE)
    start = b"[agents.assistant]\n" if any(entry.kind == "member" for entry in entries) else b""
    text = connected(start, target.format, entries).decode().rstrip("\n")
    language = "json" if target.format == "json-comments" else target.format
    return f"```{language}\n{text}\n```"
