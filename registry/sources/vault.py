"""Obsidian vaults: each note a skill. Templates are passed over; notes that we exported are read back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from pickysteve.registry.discover import Found, SourceFile, discover
from pickysteve.registry.models import Problem
from pickysteve.registry.notes import FOLDER, exported_status, parse_exported
from pickysteve.registry.parse import ParsedSkill, clean_tags, listed, parse_skill, split_frontmatter

__all__ = ["is_vault", "parse_note", "read_vault"]

# where Obsidian and the Templater plugin keep the name of the folder of templates
TEMPLATE_SETTINGS = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
)
DEFAULT_TEMPLATES = ("Templates", "templates", "_templates")
DRAWING = re.compile(r"\A---\n(?:[^\n]*\n){0,20}?excalidraw-plugin:")
NO_NOTES = {
    "index": "is the index of exported notes",
    "gone": "is about a skill that is no longer exported",
    "drawing": "is a drawing",
}


def is_vault(folder: Path) -> bool:
    """Whether Obsidian has opened the folder as a vault."""
    return (folder / ".obsidian").is_dir()


def read_vault(root: Path) -> Found:
    """Every note of a vault; raises RegistryMissing when there is no such folder."""
    templates = frozenset(name for name in _template_folders(root) if (root / name).is_dir())
    found = discover(root, skipped=templates)
    found.problems += [_passed_over(name, "holds the vault's templates") for name in sorted(templates)]
    notes = []
    for file in found.markdown:
        kind = _kind(file)
        if kind in NO_NOTES:
            found.problems.append(_passed_over(file.path, NO_NOTES[kind]))
        else:
            notes.append(replace(file, parse=_PARSERS.get(kind) or partial(parse_note, _stem(file))))
    found.markdown = notes
    return found


def _passed_over(path: str, reason: str) -> Problem:
    return Problem(path=path, reason=reason, remedy="nothing to do: it is passed over", fatal=False)


def _kind(file: SourceFile) -> str:
    path = PurePosixPath(file.path)
    if path.parent.name == FOLDER and (status := exported_status(file.text)):
        return status
    if DRAWING.match(file.text):
        return "drawing"
    return "skill" if path.name == "SKILL.md" else "note"


def _stem(file: SourceFile) -> str:
    return PurePosixPath(file.path).stem


_PARSERS = {"current": parse_exported, "skill": parse_skill}


def _template_folders(root: Path) -> set[str]:
    """Paths under the root; the default names count only where no setting names another."""
    named = set()
    for file, key in TEMPLATE_SETTINGS:
        try:
            value = json.loads((root / ".obsidian" / file).read_bytes()).get(key)
        except (OSError, ValueError, AttributeError, RecursionError):
            # no such plugin here, or a file of another shape: then it names no folder
            continue
        if isinstance(value, str) and value.strip("/ "):
            named.add(PurePosixPath(value.strip("/ ")).as_posix())
    return named or set(DEFAULT_TEMPLATES)


def parse_note(stem: str, text: str) -> ParsedSkill:
    """A note is called by its file's name; its aliases count as tags, its links stay text.

    Raises SkillFormatError for a note without text.
    """
    skill = parse_skill(text)
    fields, *_ = split_frontmatter(text)
    tags = [part.lstrip("#") for tag in listed(fields.get("tags")) for part in re.split(r"\s+", tag)]
    # `id` and `name` are the user's own properties here: people number their notes with them
    return replace(
        skill, id="", name="", title=stem[:200], tags=clean_tags([*listed(fields.get("aliases")), *tags])
    )
