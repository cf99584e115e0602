"""Compatibility: whether two picked skills may stand together. It flags; it never merges."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, Role
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Compatibility, Notes, Pick

__all__ = ["CompatConfig", "Reading", "check_pair", "compat", "read_pair"]


class CompatConfig(StageConfig):
    """Knobs of a model that reads both skills."""

    compat_characters: int = Field(24_000, ge=1_000, description="characters of both skills together")


class Reading(Value):
    """What the model says of a pair: words of ours, as its own would stand outside the boundary."""

    state: Literal["compatible", "conflict", "unknown"]
    about: Literal["nothing", "same-step", "contradicting-rules", "different-tools", "something-else"]


SAID = {
    "same-step": "they do the same step in different ways",
    "contradicting-rules": "what one demands the other one forbids",
    "different-tools": "they assume different tools or versions",
    "something-else": "they do not go together",
}


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


def read_pair(
    pick: Pick, notes: Notes, index: SearchIndex, role: Role, config: CompatConfig
) -> Compatibility:
    """Have the model read both; one that fails leaves "unknown", never "compatible"."""
    offline = check_pair(pick, notes, config)
    if role.model is None or len(pick.skills) < 2:
        return offline
    room = config.compat_characters // len(pick.skills)
    texts = {
        f"skill {number}: {skill_id}": "\n\n".join(unit.body for unit in index.units_of(skill_id))[:room]
        for number, skill_id in enumerate(pick.skills, start=1)
    }
    try:
        reply = role.ask(texts, Reading)
    except ModelUnavailable as failed:
        reason = "the model that reads both skills failed"
        lost = role.lost(failed)
        return Compatibility(state="unknown", reason=reason, degraded=str(failed), spent=lost)
    answer, spent = reply.answer, role.spent(reply.usage)
    if answer.state == "compatible" and answer.about == "nothing":
        return Compatibility(state="compatible", reason="the model read both", spent=spent)
    # "compatible" with a reason against it says two things at once
    state = "unknown" if answer.state == "compatible" else answer.state
    return Compatibility(state=state, reason=SAID.get(answer.about, "the model cannot tell"), spent=spent)


compat = stage("compatibility", read_pair, cached=True, timeout_seconds=MODEL_STAGE_SECONDS)
