"""Knowledge: what the registry's graph says of the skills in the pool.

Nodes are skills. An edge "confused with" joins two skills that people joined, that are near each other in
meaning, or of which one names the other. It may say what tells them apart, and what a request for each says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
from pydantic import Field

from pickysteve.registry.graph import Edge, pair_of
from pickysteve.tasks.engines.bm25 import plain_terms, stemmed_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Contrast, Note, Notes, Pool

__all__ = [
    "KnowledgeConfig",
    "confused_with",
    "contrasts_of",
    "knowledge",
    "not_for_of",
    "note_confusions",
    "suggested_edges",
]


class KnowledgeConfig(StageConfig):
    """Knobs of the notes."""

    confused_cosine: float = Field(
        0.6, gt=0, le=1, description="similarity of heads from which skills are confused"
    )
    neighbours: int = Field(5, ge=0, description="confused-with edges of a skill at most")


NOT_FOR = re.compile(r"\b(?:not for|not meant for|do not use|don't use|not a)\b", re.IGNORECASE)
SIGNAL_WORDS = 5
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
                contrasts=contrasts_of(skill_id, skills, index),
            )
            for skill_id in skills
        )
    )


def contrasts_of(skill_id: str, among: Collection[str], index: SearchIndex) -> tuple[Contrast, ...]:
    """The edges of the registry that join the skill with another one of the pool."""
    edges = (edge for edge in index.data.edges if skill_id in edge.pair and edge.origin != "rejected")
    return tuple(
        Contrast(
            other=other,
            distinguisher=edge.distinguisher,
            signal=edge.signal_of(skill_id),
            other_signal=edge.signal_of(other),
            confirmed=edge.origin == "registry",
        )
        for edge in edges
        if (other := edge.other_than(skill_id)) in among
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
    """Skills that people joined it with, then those it names, then those near it, nearest first."""
    row = index.skill_rows[skill_id][0]
    nearness = index.heads @ index.heads[row]
    order = [int(at) for at in np.argsort(-nearness, kind="stable") if nearness[at] >= config.confused_cosine]
    near = [index.data.units[index.unit_ids[at]].skill_id for at in order]
    words = set(
        re.findall(r"[a-z0-9][a-z0-9._-]*[a-z0-9]", index.data.units[index.unit_ids[row]].text.lower())
    )
    named = [other for other in index.skills if other in words and ("-" in other or "_" in other)]
    mine = [edge for edge in index.data.edges if skill_id in edge.pair]
    joined = [edge.other_than(skill_id) for edge in mine if edge.origin == "registry"]
    struck = {skill_id, *(edge.other_than(skill_id) for edge in mine if edge.origin == "rejected")}
    edges = [other for other in dict.fromkeys([*joined, *named, *near]) if other not in struck]
    return tuple(edges[: config.neighbours])


def suggested_edges(index: SearchIndex, config: KnowledgeConfig) -> tuple[Edge, ...]:
    """An edge for each two skills of which one is confused with the other, with words that one alone has.

    The words stand in what the skills say of themselves; a request for one is likely to use its own.
    """
    pairs = {
        pair_of(skill_id, other)
        for skill_id in index.skills
        if index.allowed_units(skill_id)
        for other in confused_with(skill_id, index, config)
        if index.allowed_units(other)
    }
    return tuple(_suggested(pair, index) for pair in sorted(pairs))


def _suggested(pair: tuple[str, str], index: SearchIndex) -> Edge:
    heads = [_head_words(skill_id, index) for skill_id in pair]
    signals = [_own_words(own, other, index) for own, other in (heads, reversed(heads))]
    notes = [not_for_of(skill_id, index) for skill_id in pair]
    telling = (note for note, other in zip(notes, reversed(pair), strict=True) if other in note.lower())
    return Edge(
        first=pair[0],
        second=pair[1],
        distinguisher=next(telling, ""),
        first_signal=signals[0],
        second_signal=signals[1],
        origin="suggested",
    )


def _head_words(skill_id: str, index: SearchIndex) -> dict[str, str]:
    """The words that a skill says of itself, by their stems."""
    unit = index.unit(index.allowed_units(skill_id)[0])
    words = plain_terms(f"{unit.title} {unit.description} {' '.join(unit.tags)}")
    return {stem: word for word in reversed(words) for stem in stemmed_terms(word) if len(word) > 2}


def _own_words(own: Mapping[str, str], other: Mapping[str, str], index: SearchIndex) -> str:
    """The rarest words of one that the other one lacks."""
    rarity = index.bm25.idf
    stems = sorted(own.keys() - other.keys(), key=lambda stem: (-rarity.get(stem, 0.0), stem))
    return ", ".join(own[stem] for stem in stems[:SIGNAL_WORDS])


knowledge = stage("knowledge", note_confusions, cached=True)
