"""Example requests that a user adds or removes, kept beside the registry and not in it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, ValidationError

from pickysteve.errors import SkillFormatError
from pickysteve.flows.settings import Settings
from pickysteve.registry.catalogue import Catalogue
from pickysteve.registry.models import Example, Verdict
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import judge_note

__all__ = ["Overlay", "add_example", "apply_overlay", "overlay_file", "read_overlay", "remove_example"]


class Overlay(BaseModel):
    """The changes a user made to the examples of one registry."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    added: tuple[Example, ...] = ()
    removed: tuple[Example, ...] = ()


def overlay_file(registry: Path) -> Path:
    """One file for each registry, found by the registry's path."""
    name = sha256(str(registry.resolve()).encode()).hexdigest()[:16]
    return user_data_path("pickysteve") / "examples" / f"{name}.json"


def read_overlay(registry: Path) -> Overlay:
    """The user's changes; raises SkillFormatError when the file was damaged."""
    path = overlay_file(registry)
    if not path.is_file():
        return Overlay()
    try:
        return Overlay.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise SkillFormatError(f'"{path}" is damaged: correct it, or delete it to start again.') from error


def _write_overlay(registry: Path, overlay: Overlay) -> None:
    """Replace the user's changes, all or nothing."""
    path = overlay_file(registry)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(overlay.model_dump(mode="json"), indent=1), encoding="utf-8")
    draft.replace(path)


def apply_overlay(registry: Path, catalogue: Catalogue) -> None:
    """Change the catalogue's examples as the user asked; skills that are gone are passed over."""
    overlay = read_overlay(registry)
    removed = {(example.skill_id, example.text) for example in overlay.removed}
    for skill_id, skill in catalogue.skills.items():
        mine = tuple(example for example in overlay.added if example.skill_id == skill_id)
        kept = tuple(e for e in skill.examples if (skill_id, e.text) not in removed)
        if (kept, mine) != (skill.examples, ()):
            catalogue.skills[skill_id] = skill.model_copy(update={"examples": kept + mine})


def add_example(
    settings: Settings, skill_id: str, text: str, origin: str = "user", defender: Guard | None = None
) -> Verdict:
    """Keep a request as an example of the skill, when the gate allows it; the index follows at ingest."""
    text = " ".join(text.split())
    verdict = judge_note(text, defender or Guard(), settings.gate)
    if verdict.allowed:
        overlay = read_overlay(settings.registry)
        example = Example(skill_id=skill_id, text=text, origin=origin)
        added = tuple(e for e in overlay.added if (e.skill_id, e.text) != (skill_id, text))
        removed = tuple(e for e in overlay.removed if (e.skill_id, e.text) != (skill_id, text))
        _write_overlay(settings.registry, Overlay(added=(*added, example), removed=removed))
    return verdict


def remove_example(registry: Path, skill_id: str, text: str) -> None:
    """Take an example away: an added one is forgotten, one of the registry is passed over from now on."""
    overlay = read_overlay(registry)
    added = tuple(e for e in overlay.added if (e.skill_id, e.text) != (skill_id, text))
    removed = (*overlay.removed, Example(skill_id=skill_id, text=text))
    _write_overlay(registry, Overlay(added=added, removed=removed))
