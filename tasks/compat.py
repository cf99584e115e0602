"""Compatibility: whether two picked skills may stand together. It flags; it never merges."""

from __future__ import annotations

from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Compatibility, Notes, Pick

__all__ = ["CompatConfig", "check_pair", "compat"]


class CompatConfig(StageConfig):
    """The deterministic check has no knobs."""


def check_pair(pick: Pick, notes: Notes, config: CompatConfig) -> Compatibility:
    """Without a model that reads both, all that is known is whether they are confused with each other."""
    if len(pick.skills) < 2:
        return Compatibility(state="single")
    first, second = pick.skills
    confused = {note.skill_id: note.confused_with for note in notes.notes}
    if second in confused.get(first, ()) or first in confused.get(second, ()):
        return Compatibility(
            state="unknown", reason=f"{first} and {second} are often confused; check that both apply"
        )
    return Compatibility(state="unknown", reason="no model is configured to read both skills")


compat = stage("compatibility", check_pair, cached=True)
