"""An MCP server's tools: kept as a snapshot, so that the registry is rebuilt without starting the server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from pickysteve.errors import SourceUnavailable
from pickysteve.registry.discover import Found, SourceFile
from pickysteve.registry.models import Problem, Value
from pickysteve.registry.parse import ParsedSkill, first_paragraph
from pickysteve.registry.slugs import free_slug, plain_slug

__all__ = ["Snapshot", "Tool", "read_tools", "tool_files", "write_snapshot"]

MAX_ARGUMENTS = 200
DEEPEST = 3


class Tool(Value):
    """What a server says of one tool. All of it is somebody else's text."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=dict)


class Snapshot(Value):
    """A server's tools as they were listed."""

    server: str
    """As it names itself."""
    taken_at: str
    """UTC, ISO 8601, to the second."""
    tools: tuple[Tool, ...]


def read_tools(path: Path, server: str, remedy: str) -> Found:
    """The tools of a snapshot, each as a skill whose id begins with `server`, the source's name.

    `remedy` says how a snapshot is taken.
    """
    if not path.is_file():
        return Found(problems=[Problem(path="", reason="has no snapshot of its tools yet", remedy=remedy)])
    content = path.read_bytes()
    try:
        snapshot = Snapshot.model_validate_json(content)
    except ValidationError:
        return Found(problems=[Problem(path="", reason="has a damaged snapshot", remedy=remedy)])
    if not snapshot.tools:
        return Found(problems=[Problem(path="", reason="offers no tools", remedy="take it out of the set")])
    files = tool_files(snapshot, server, str(path.resolve()), sha256(content).hexdigest())
    return Found(markdown=list(files))


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Keep the tools as they were listed; raises SourceUnavailable where that cannot be written."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(snapshot.model_dump_json(indent=1), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise SourceUnavailable(f'"{path}" cannot be written ({error.strerror}): free that place.') from error


def tool_files(snapshot: Snapshot, server: str, file: str, digest: str) -> Iterator[SourceFile]:
    """One text a tool, by name, so that the server's order decides nothing."""
    taken: set[str] = set()
    for tool in sorted(snapshot.tools, key=lambda tool: tool.name):
        slug = free_slug(plain_slug(tool.name, otherwise="tool"), taken)
        text = _text(tool, server)
        parsed = ParsedSkill(
            id="",
            name=f"{server}-{slug}",
            title=_one_line(tool.title or tool.name)[:200],
            description=first_paragraph(tool.description) or f"The tool {_one_line(tool.name)[:100]}.",
            tags=(),
            body=text,
        )
        yield SourceFile(slug, text, digest, file=file, parse=partial(_as_parsed, parsed))


def _as_parsed(parsed: ParsedSkill, _text: str) -> ParsedSkill:
    return parsed


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(tool: Tool, server: str) -> str:
    head = f"The tool `{_one_line(tool.name)}` of the MCP server `{server}`."
    arguments = list(_arguments(tool.input_schema))
    listed = "\n".join(["Arguments:", *arguments]) if arguments else "It takes no arguments."
    return "\n\n".join(part for part in (head, tool.description.strip(), listed) if part)


def _arguments(schema: dict[str, Any]) -> list[str]:
    """A line an argument; those of nested objects follow with dots in their names."""
    lines: list[str] = []
    _collect(schema, schema, "", 0, lines)
    more = [f"- and {len(lines) - MAX_ARGUMENTS} more"] if len(lines) > MAX_ARGUMENTS else []
    return lines[:MAX_ARGUMENTS] + more


def _collect(schema: dict[str, Any], root: dict[str, Any], prefix: str, depth: int, lines: list[str]) -> None:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or depth == DEEPEST or len(lines) > 4 * MAX_ARGUMENTS:
        return
    for name, given in properties.items():
        shape = _resolved(given, root)
        must = isinstance(required, list) and name in required
        lines.append(_line(f"{prefix}{_one_line(name)}", shape, must=must))
        inner = _resolved(shape.get("items", shape), root)
        _collect(inner, root, f"{prefix}{_one_line(name)}.", depth + 1, lines)


def _resolved(shape: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, or what its local reference names; a reference to a reference is not followed."""
    if isinstance(shape, dict) and isinstance(reference := shape.get("$ref"), str):
        found: Any = root
        for step in filter(None, reference.removeprefix("#").split("/")):
            found = found.get(step) if isinstance(found, dict) else None
        shape = {**found, **shape} if isinstance(found, dict) else shape
    return shape if isinstance(shape, dict) else {}


def _line(name: str, shape: dict[str, Any], *, must: bool) -> str:
    notes = [" or ".join(_kinds(shape)), "required" if must else ""]
    choices = shape.get("enum")
    if isinstance(choices, list):
        notes.append(f"one of {', '.join(_one_line(str(choice)) for choice in choices[:20])}")
    told = ", ".join(note for note in notes if note)
    description = shape.get("description")
    said = f": {_one_line(description)}" if isinstance(description, str) and description.strip() else ""
    return f"- `{name}`{f' ({told})' if told else ''}{said}"


def _kinds(shape: dict[str, Any]) -> list[str]:
    """The types of a value, also where they are alternatives; null says no more than "not required"."""
    listed = [shape.get(key) for key in ("anyOf", "oneOf")]
    either = [option for options in listed if isinstance(options, list) for option in options]
    given = [part.get("type") for part in (shape, *either) if isinstance(part, dict)]
    kinds = [kind for part in given for kind in (part if isinstance(part, list) else [part])]
    return list(
        dict.fromkeys(_one_line(kind)[:40] for kind in kinds if isinstance(kind, str) and kind != "null")
    )
