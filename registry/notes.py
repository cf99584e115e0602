"""Exported notes: a skill as an Obsidian note, and the way back.

Text of a skill stands in fenced blocks, where Obsidian runs no query and loads no picture. What a user
writes below the marker line is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import yaml
from markdown_it import MarkdownIt

from pickysteve.errors import SkillFormatError
from pickysteve.registry.parse import ParsedSkill, clean_tags, listed, split_frontmatter

__all__ = [
    "FOLDER",
    "MARKER",
    "Note",
    "exported_status",
    "marked_gone",
    "parse_exported",
    "render_index",
    "render_note",
    "split_at_marker",
]

FOLDER = "PickySteve"
MARKER = "%% pickysteve: what you write below this line is yours and stays; all above is written anew %%"
HERE = "> [!info] A skill of the registry, exported by PickySteve."
GONE = "> [!warning] No longer in the registry. PickySteve keeps this note for what you wrote below."
DESCRIPTION, NOT_FOR, TEXT = "What it is for", "What it is not for", "Text"
CURRENT = re.compile(r"^status: current$", re.MULTILINE)
OURS = re.compile(r"^pickysteve: (skill|index)$", re.MULTILINE)


@dataclass(frozen=True)
class Note:
    """What an exported note says of a skill."""

    skill_id: str
    description: str
    not_for: str
    tags: tuple[str, ...]
    sources: tuple[str, ...]
    digests: tuple[str, ...]
    """SHA-256 of each source file."""
    bodies: tuple[str, ...]
    neighbours: tuple[str, ...]
    """Ids of the skills that it is confused with."""


def render_note(note: Note) -> str:
    """All of a note down to the marker line, the same for the same skill."""
    fields = {
        "pickysteve": "skill",
        "id": note.skill_id,
        "status": "current",
        "tags": [tag for tag in map(_tag, note.tags) if tag],
        "source": list(note.sources),
        "sha256": list(note.digests),
    }
    parts = [_frontmatter(fields), f"# {note.skill_id}", HERE, f"## {DESCRIPTION}", _fenced(note.description)]
    if note.not_for:
        parts += [f"## {NOT_FOR}", _fenced(note.not_for)]
    if note.neighbours:
        parts += ["## Confused with", "\n".join(map(_link, note.neighbours))]
    return _closed([*parts, f"## {TEXT}", *map(_fenced, note.bodies)])


def render_index(current: tuple[str, ...], gone: tuple[str, ...]) -> str:
    """The note that links to all others."""
    parts = [_frontmatter({"pickysteve": "index"}), "# PickySteve", f"{len(current)} skills."]
    parts += ["\n".join(map(_link, current))] if current else []
    if gone:
        parts += ["## No longer in the registry", "\n".join(map(_link, gone))]
    return _closed(parts)


def _closed(parts: list[str]) -> str:
    return "\n\n".join([*parts, f"{MARKER}\n"])


def _frontmatter(fields: Mapping[str, object]) -> str:
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)}---"


def _tag(text: str) -> str:
    """As Obsidian allows tags: no blanks, and not digits alone."""
    tag = re.sub(r"[^\w/-]+", "-", text).strip("-/")
    return "" if tag.isdigit() else tag


def _link(skill_id: str) -> str:
    # with the folder, so that a user's own note of that name is not meant
    return f"- [[{FOLDER}/{skill_id}|{skill_id}]]"


def _fenced(text: str) -> str:
    """A block that nothing in the text can close, and in which no line can pass for the marker."""
    lines = [f" {line}" if line.rstrip() == MARKER else line for line in text.splitlines()]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def split_at_marker(content: bytes) -> tuple[bytes, bytes] | None:
    """(above and including the marker line, below it); None when there is no such line."""
    start = 0
    for line in content.splitlines(keepends=True):
        start += len(line)
        if line.rstrip() == MARKER.encode():
            return content[:start], content[start:]
    return None


def exported_status(text: str) -> Literal["", "index", "current", "gone"]:
    """What kind of exported note a text is; empty for one that is not ours, or has lost its marker line."""
    split = split_at_marker(text.encode(errors="surrogateescape"))
    head = text.removeprefix("---\n").partition("\n---\n")[0] if split and text.startswith("---\n") else ""
    kind = OURS.search(head)
    if kind is None or kind[1] == "index":
        return "index" if kind else ""
    return "current" if CURRENT.search(head) else "gone"


def marked_gone(head: str) -> str:
    """The head of a note whose skill is no longer in the registry."""
    return CURRENT.sub("status: gone", head, count=1).replace(HERE, GONE, 1)


def parse_exported(text: str) -> ParsedSkill:
    """The skill of an exported note, with what the user wrote below the marker as its `notes`.

    Raises SkillFormatError when its frontmatter was broken or its text taken out.
    """
    head, below = split_at_marker(text.encode()) or (text.encode(), b"")
    fields, rest, remark = split_frontmatter(head.decode())
    blocks = _blocks(rest)
    skill_id, notes = str(fields.get("id", "")), below.decode().strip()
    body = "\n\n".join(blocks.get(TEXT, []))
    if not skill_id or not body:
        raise SkillFormatError("is an exported note that has lost its id or its text")
    return ParsedSkill(
        id=skill_id,
        name="",
        title=skill_id,
        description="\n".join(blocks.get(DESCRIPTION, [])),
        tags=clean_tags(listed(fields.get("tags"))),
        body=f"{body}\n\n{notes}".strip("\n"),
        remark=remark,
        not_for="\n".join(blocks.get(NOT_FOR, [])),
        notes=notes,
    )


def _blocks(body: str) -> dict[str, list[str]]:
    """The contents of the fenced blocks by the heading above them."""
    found: dict[str, list[str]] = {}
    heading = ""
    for token in MarkdownIt("commonmark").disable("inline").parse(body):
        if token.type == "inline":
            heading = token.content
        elif token.type == "fence":
            found.setdefault(heading, []).append(token.content.removesuffix("\n"))
    return found
