"""Export: the registry as notes of an Obsidian vault, in a folder of their own."""

from __future__ import annotations

import secrets
from pathlib import Path

from pickysteve.errors import VaultMissing
from pickysteve.registry.models import Problem, Unit, Value
from pickysteve.registry.notes import (
    FOLDER,
    Note,
    exported_status,
    marked_gone,
    render_index,
    render_note,
    split_at_marker,
)
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.knowledge import KnowledgeConfig, confused_with, not_for_of

__all__ = ["Exported", "export_vault"]

# an id begins with a letter or a digit, so no skill has this name
INDEX = "_index"


class Exported(Value):
    """What an export did."""

    folder: str
    notes: int
    written: tuple[str, ...]
    """Notes that are new or changed; the others are as they were, byte for byte."""
    gone: tuple[str, ...]
    """Notes whose skill is no longer handed over: marked and kept."""
    problems: tuple[Problem, ...]


def export_vault(index: SearchIndex, vault: Path, config: KnowledgeConfig) -> Exported:
    """Write one note a skill into the vault's PickySteve folder, and an index of them.

    What a user wrote below a note's marker line is kept. Nothing is written outside that folder.
    Raises VaultMissing when the vault is no folder, or that folder leads elsewhere or cannot be written.
    """
    folder = _own_folder(vault)
    problems: list[Problem] = []
    sources = _sources(index, folder, problems)
    heads = {
        skill_id: render_note(_note(skill_id, units, index, config)) for skill_id, units in sources.items()
    }
    try:
        # a skill that is read from its own note here is neither written nor gone
        gone = _gone_heads(folder, set(heads) | {problem.path for problem in problems if not problem.fatal})
        heads[INDEX] = render_index(tuple(heads), tuple(gone))
        put = {name: _put(folder / f"{name}.md", head, problems) for name, head in {**heads, **gone}.items()}
    except OSError as error:
        raise VaultMissing(f'"{folder}" cannot be written ({error.strerror}): free it.') from error
    return Exported(
        folder=str(folder),
        notes=len(sources),
        written=tuple(name for name, changed in put.items() if changed),
        gone=tuple(gone),
        problems=tuple(problems),
    )


def _own_folder(vault: Path) -> Path:
    if not vault.is_dir():
        raise VaultMissing(f'There is no folder "{vault}": pass --vault the folder of your notes.')
    folder = vault / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise VaultMissing(f'"{folder}" is not a folder of the vault itself: move it away.')
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise VaultMissing(f'"{folder}" cannot be made ({error.strerror}): free that place.') from error
    return folder


def _sources(index: SearchIndex, folder: Path, problems: list[Problem]) -> dict[str, list[Unit]]:
    """For each skill the units to export: those that the gate lets through, and that are no notes of ours."""
    own = folder.resolve()
    sources = {}
    for skill_id in index.skills:
        passed = index.units_of(skill_id)
        units = [unit for unit in passed if not index.file_of(unit).is_relative_to(own)]
        if units:
            sources[skill_id] = units
            continue
        reason = "is read from its note here, which stays as it is" if passed else "was refused by the gate"
        remedy = "nothing to do" if passed else "see it with pickysteve skills show"
        problems.append(Problem(path=skill_id, reason=reason, remedy=remedy, fatal=not passed))
    return sources


def _note(skill_id: str, units: list[Unit], index: SearchIndex, config: KnowledgeConfig) -> Note:
    return Note(
        skill_id=skill_id,
        description=units[0].description,
        not_for=not_for_of(skill_id, index),
        tags=tuple(dict.fromkeys(tag for unit in units for tag in unit.tags)),
        sources=tuple(unit.source for unit in units),
        digests=tuple(unit.sha256 for unit in units),
        bodies=tuple(unit.body for unit in units),
        neighbours=tuple(
            other for other in confused_with(skill_id, index, config) if index.allowed_units(other)
        ),
    )


def _gone_heads(folder: Path, current: set[str]) -> dict[str, str]:
    """The heads, marked, of the notes that we wrote for other skills."""
    heads = {}
    for path in sorted(folder.glob("*.md")):
        if path.stem in current or path.is_symlink() or not path.is_file():
            continue
        text = path.read_bytes().decode(errors="surrogateescape")
        if exported_status(text) in {"current", "gone"} and (split := split_at_marker(path.read_bytes())):
            heads[path.stem] = marked_gone(split[0].decode(errors="surrogateescape"))
    return heads


def _put(path: Path, head: str, problems: list[Problem]) -> bool:
    """Replace a note down to its marker line; whether that changed it. One that is not ours is left alone."""
    before = None
    below = b"\n"
    if path.is_symlink():
        problems.append(_left_alone(path, "is a symlink", "move it away"))
        return False
    if path.exists():
        before = path.read_bytes()
        split = split_at_marker(before)
        if split is None:
            problems.append(
                _left_alone(path, "has no marker line", "put the line back, or move the note away")
            )
            return False
        below = split[1]
    after = head.encode(errors="surrogateescape") + below
    if after != before:
        _replace(path, after)
    return after != before


def _left_alone(path: Path, reason: str, remedy: str) -> Problem:
    return Problem(path=f"{FOLDER}/{path.name}", reason=f"{reason}, so it was not touched", remedy=remedy)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # "x": a link that somebody put there is never followed
    with draft.open("xb") as file:
        file.write(content)
    draft.replace(path)
