"""Where coding agents keep skills, rules and instructions: a table, and a look at which of them are here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pickysteve.registry.catalogue import build_catalogue
from pickysteve.registry.models import Value
from pickysteve.registry.sources.kinds import FolderSource
from pickysteve.registry.sources.reading import folder_source, read_source

__all__ = ["PLACES", "FoundPlace", "Place", "find_places", "project_root"]


@dataclass(frozen=True)
class Place:
    """One folder or file of one agent. Paths begin at the project or at the home folder."""

    name: str
    agent: str
    project: str = ""
    home: str = ""
    variable: str = ""
    """Names a folder that stands for the first folder of `home`."""


# Read from the agents' documentation and from the tables of skill installers, November 2026.
PLACES = (
    Place("agents", "shared by many agents", ".agents/skills", ".agents/skills"),
    Place("agents-config", "Amp and others", "", ".config/agents/skills"),
    Place("claude", "Claude Code", ".claude/skills", ".claude/skills", "CLAUDE_CONFIG_DIR"),
    Place("claude-rules", "Claude Code", ".claude/rules", ".claude/rules", "CLAUDE_CONFIG_DIR"),
    Place("cline", "Cline", ".cline/skills", ".cline/skills"),
    Place("cline-rules", "Cline", ".clinerules", ""),
    Place("codex", "Codex", ".codex/skills", ".codex/skills", "CODEX_HOME"),
    Place("copilot", "GitHub Copilot", ".copilot/skills", ".copilot/skills"),
    Place("copilot-github", "GitHub Copilot", ".github/skills", ""),
    Place("copilot-instructions", "GitHub Copilot", ".github/instructions", ""),
    Place("cursor", "Cursor", ".cursor/skills", ".cursor/skills"),
    Place("cursor-rules", "Cursor", ".cursor/rules", ".cursor/rules"),
    Place("cursorrules", "Cursor, formerly", ".cursorrules", ""),
    Place("gemini", "Gemini CLI", ".gemini/skills", ".gemini/skills"),
    Place("goose", "Goose", ".goose/skills", ".config/goose/skills"),
    Place("hermes", "Hermes", ".hermes/skills", ".hermes/skills", "HERMES_HOME"),
    Place("opencode", "OpenCode", ".opencode/skills", ".config/opencode/skills"),
    Place("openclaw", "OpenClaw", "", ".openclaw/skills"),
    Place("openhands", "OpenHands", ".openhands/skills", ".openhands/skills"),
    Place("qwen", "Qwen Code", ".qwen/skills", ".qwen/skills"),
    Place("roo", "Roo Code", ".roo/skills", ".roo/skills"),
    Place("roo-rules", "Roo Code", ".roo/rules", ".roo/rules"),
    Place("windsurf", "Windsurf", ".windsurf/skills", ".codeium/windsurf/skills"),
    Place("windsurf-rules", "Windsurf", ".windsurf/rules", ""),
    Place("agents-md", "most agents", "AGENTS.md", ".codex/AGENTS.md", "CODEX_HOME"),
    Place("claude-md", "Claude Code", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE_CONFIG_DIR"),
    Place("copilot-md", "GitHub Copilot", ".github/copilot-instructions.md", ""),
    Place("gemini-md", "Gemini CLI", "GEMINI.md", ".gemini/GEMINI.md"),
)


class FoundPlace(Value):
    """A place that is here, and what it holds."""

    source: FolderSource
    agent: str
    scope: str
    """"project" or "home"."""
    skills: int
    left_out: int
    """Files that cannot be used."""
    same_as: str = ""
    """The earlier place that is the same folder, by a symlink."""


def project_root(folder: Path) -> Path:
    """The repository that the folder is in; the folder itself where it is in none."""
    here = folder.resolve()
    return next((parent for parent in (here, *here.parents) if (parent / ".git").exists()), here)


def find_places(project: Path, home: Path, variables: Mapping[str, str] = os.environ) -> list[FoundPlace]:
    """Every place of the table that exists, the project's first."""
    here = [
        (place, scope, path) for place, scope, path in _candidates(project, home, variables) if path.exists()
    ]
    sources = [folder_source(path, _name(place, scope)) for place, scope, path in here]
    places = {source.name: Path(source.path) for source in sources if source.kind != "document"}
    first: dict[str, str] = {}
    found = []
    for (place, scope, _), source in zip(here, sources, strict=True):
        earlier = first.setdefault(source.path, source.name)
        others = {name: path for name, path in places.items() if name != source.name}
        same_as = "" if earlier == source.name else earlier
        found.append(_counted(source, place.agent, scope, same_as, others))
    return found


def _name(place: Place, scope: str) -> str:
    return place.name if scope == "project" else f"{place.name}-home"


def _candidates(project: Path, home: Path, variables: Mapping[str, str]) -> Iterator[tuple[Place, str, Path]]:
    # in the home folder itself, the project's places are those of the home folder
    if project.resolve() != home.resolve():
        yield from ((place, "project", project / place.project) for place in PLACES if place.project)
    for place in PLACES:
        if place.home:
            first, _, rest = place.home.partition("/")
            moved = variables.get(place.variable, "") if place.variable else ""
            yield place, "home", Path(moved) / rest if moved else home / first / rest


def _counted(
    source: FolderSource, agent: str, scope: str, same_as: str, others: dict[str, Path]
) -> FoundPlace:
    catalogue = build_catalogue(read_source(source, Path(), others, ""))
    left_out = sum(problem.fatal for problem in catalogue.problems)
    return FoundPlace(
        source=source,
        agent=agent,
        scope=scope,
        skills=len(catalogue.skills),
        left_out=left_out,
        same_as=same_as,
    )
