"""Knowledge: what the registry's graph says of the skills in the pool.

Nodes are skills. An edge "confused with" joins two skills that are near each other in meaning, or of
which one names the other.
"""

from __future__ import annotations

import re

import numpy as np
from pydantic import Field

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Note, Notes, Pool

__all__ = ["KnowledgeConfig", "confused_with", "knowledge", "not_for_of", "note_confusions"]


class KnowledgeConfig(StageConfig):
    """Knobs of the notes."""

    confused_cosine: float = Field(
        0.6, gt=0, le=1, description="similarity of heads from which skills are confused"
    )
    neighbours: int = Field(5, ge=0, description="confused-with edges of a skill at most")


NOT_FOR = re.compile(r"\b(?:not for|not meant for|do not use|don't use|not a)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?\n]")


def note_confusions(pool: Pool, index: SearchIndex, config: KnowledgeConfig) -> Notes:
    """A note for each skill of the pool and its set: what it is not for, and what it is confused with."""
    skills = dict.fromkeys([*(option.skill_id for option in pool.options), *pool.prediction_set])
    return Notes(
        notes=tuple(
            Note(
                skill_id=skill_id,
                not_for=not_for_of(skill_id, index),
                confused_with=confused_with(skill_id, index, config),
            )
            for skill_id in skills
        )
    )


def not_for_of(skill_id: str, index: SearchIndex) -> str:
    """The skill's own note, else the sentence of its text that says what it is not for."""
    skill = index.skills[skill_id]
    if skill.not_for:
        return skill.not_for
    units = map(index.unit, index.allowed_units(skill_id))
    notes = (_not_for_in(f"{unit.description}\n{unit.body}") for unit in units)
    return next((note for note in notes if note), "")


def _not_for_in(text: str) -> str:
    match = NOT_FOR.search(text)
    if match is None:
        return ""
    start = max(text.rfind(mark, 0, match.start()) for mark in ".!?\n") + 1
    end = SENTENCE_END.search(text, match.end())
    return " ".join(text[start : end.end() if end else None].split())[:300]


def confused_with(skill_id: str, index: SearchIndex, config: KnowledgeConfig) -> tuple[str, ...]:
    """Skills that this one names, then those near it, nearest first."""
    row = index.skill_rows[skill_id][0]
    nearness = index.heads @ index.heads[row]
    order = [int(at) for at in np.argsort(-nearness, kind="stable") if nearness[at] >= config.confused_cosine]
    near = [index.data.units[index.unit_ids[at]].skill_id for at in order]
    words = set(
        re.findall(r"[a-z0-9][a-z0-9._-]*[a-z0-9]", index.data.units[index.unit_ids[row]].text.lower())
    )
    named = [other for other in index.skills if other in words and ("-" in other or "_" in other)]
    edges = [other for other in dict.fromkeys([*named, *near]) if other != skill_id]
    return tuple(edges[: config.neighbours])


knowledge = stage("knowledge", note_confusions, cached=True)
