"""Enrich: a model writes example requests for a skill, once, and what it wrote is held against the registry.

An example is only a further way to find a skill. It is dropped where it is no short plain request, where a
symptom uses the skill's own name, where it is nearer to another skill, and where the gate refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pickysteve.registry.models import Skill, Value
from pickysteve.tasks.clarify import LINK
from pickysteve.tasks.engines.bm25 import plain_terms, stemmed_terms
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.folding import reserved_spans
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.gate import judge_note
from pickysteve.tasks.gate_config import GateConfig
from pickysteve.tasks.stage import StageConfig

__all__ = ["Dropped", "EnrichConfig", "Enrichment", "Kind", "Screened", "Written", "screen_enrichment"]

Kind = Literal["plain", "symptom", "terse"]
Floats = NDArray[Any]

SHORTEST = 8
"""Characters of an example at least."""
MOST_TERSE = 8
"""Words of a terse example at most."""


class EnrichConfig(StageConfig):
    """Knobs of example requests that a model writes at ingest."""

    skill_characters: int = Field(12_000, ge=500, description="of a skill's text that the model reads")
    example_characters: int = Field(240, ge=40, le=1_000, description="of an example at most")
    least_examples: int = Field(
        3, ge=1, le=10, description="kept examples under which nothing of an answer is kept"
    )
    same_cosine: float = Field(
        0.95, gt=0, le=1, description="similarity from which two skills' examples say the same"
    )


class Enrichment(Value):
    """What the model writes. One field for each example: not every host can count the items of a list."""

    plain_1: str
    plain_2: str
    plain_3: str
    symptom_1: str
    symptom_2: str
    symptom_3: str
    symptom_4: str
    symptom_5: str
    terse_1: str
    terse_2: str
    summary: str
    not_for: str

    @property
    def examples(self) -> tuple[Written, ...]:
        """The ten requests, each with its kind."""
        fields = [name for name in type(self).model_fields if "_" in name and name != "not_for"]
        kinds: dict[str, Kind] = {"plain": "plain", "symptom": "symptom", "terse": "terse"}
        return tuple(
            Written(kind=kinds[name.partition("_")[0]], text=" ".join(getattr(self, name).split()))
            for name in fields
        )


class Written(Value):
    """One example request, and how it is put."""

    kind: Kind
    text: str


class Dropped(Written):
    """One that is not kept, and why."""

    reason: str


class Screened(Value):
    """What is kept of an answer."""

    examples: tuple[Written, ...]
    dropped: tuple[Dropped, ...]
    summary: str = ""
    not_for: str = ""


@dataclass(frozen=True)
class _Place:
    """Where a skill's examples stand among those of the others."""

    skill_id: str
    index: SearchIndex
    encoder: Embedder

    def objection(self, vector: Floats, config: EnrichConfig) -> str:
        """Why an example belongs to another skill; empty when it does not."""
        units = np.maximum(self.index.heads @ vector, self.index.texts @ vector)
        rows = self.index.skill_rows
        nearness = {skill_id: float(units[at].max()) for skill_id, at in rows.items()}
        told = self.index.examples.similarities(vector[None, :])[:, :, 0].max(axis=1)
        by_example = dict(zip(self.index.data.skills, told.tolist(), strict=True))
        for skill_id, cosine in by_example.items():
            if skill_id != self.skill_id and cosine >= config.same_cosine:
                return f"it says the same as an example of {skill_id}"
        own = max(nearness[self.skill_id], by_example[self.skill_id])
        others = {s: max(nearness[s], by_example[s]) for s in nearness if s != self.skill_id}
        nearest = max(others, key=lambda s: (others[s], s), default="")
        return f"it is nearer to {nearest}" if nearest and others[nearest] > own else ""


def screen_enrichment(
    answer: Enrichment,
    skill: Skill,
    index: SearchIndex,
    encoder: Embedder,
    guard: Guard,
    gate: GateConfig,
    config: EnrichConfig,
    told: str = "",
) -> Screened:
    """Keep what is a short request for this skill and for no other one, and what the gate allows.

    `told` is what the model was told: an example that holds no other word is an echo of it.
    """
    instructions = _content(told)
    kept: list[Written] = []
    dropped: list[Dropped] = []
    seen = {_content(example.text) for example in skill.examples}
    place = _Place(skill.skill_id, index, encoder)
    for written in answer.examples:
        reason = _form(written, skill, config) or (
            "it is a repetition" if _content(written.text) in seen else ""
        )
        if _content(written.text) <= instructions:
            reason = reason or "it repeats the instructions"
        reason = reason or place.objection(encoder.encode([written.text])[0], config)
        reason = reason or ("" if judge_note(written.text, guard, gate).allowed else "the gate refused it")
        if reason:
            dropped.append(Dropped(kind=written.kind, text=written.text, reason=reason))
        else:
            seen.add(_content(written.text))
            kept.append(written)
    if len(kept) < config.least_examples:
        # one stray example moves the skill to the weights of those with examples, and makes it worse to find
        reason = f"only {len(kept)} of {len(answer.examples)} could be kept"
        few = [Dropped(kind=written.kind, text=written.text, reason=reason) for written in kept]
        return Screened(examples=(), dropped=(*dropped, *few))
    lines = {"summary": answer.summary, "not_for": answer.not_for}
    notes = {
        name: "" if _content(text) <= instructions else _note(text, guard, gate, config)
        for name, text in lines.items()
    }
    if not notes["not_for"].lower().startswith("not for"):
        notes["not_for"] = ""
    return Screened(examples=tuple(kept), dropped=tuple(dropped), **notes)


def _content(text: str) -> frozenset[str]:
    return frozenset(stemmed_terms(text))


def _form(written: Written, skill: Skill, config: EnrichConfig) -> str:
    """What is wrong with the text itself; empty when nothing is."""
    text = written.text
    if not SHORTEST <= len(text) <= config.example_characters:
        return f"it has {len(text)} characters"
    if not text.isprintable() or LINK.search(text) or reserved_spans(text):
        return "it holds markup or a link"
    if len(plain_terms(text)) < 2:
        return "it is no request"
    if written.kind == "terse" and len(text.split()) > MOST_TERSE:
        return f"it is not terse: {len(text.split())} words"
    if written.kind == "symptom" and (named := next(_own_terms(text, skill), "")):
        return f'a symptom does not name the skill: "{named}"'
    return ""


def _own_terms(text: str, skill: Skill) -> Iterator[str]:
    own = {stem for stem in stemmed_terms(f"{skill.skill_id} {skill.title}") if len(stem) > 2}
    return (word for word in plain_terms(text) if own & set(stemmed_terms(word)))


def _note(text: str, guard: Guard, gate: GateConfig, config: EnrichConfig) -> str:
    """One line that may stand beside the skill; empty where it may not."""
    line = " ".join(text.split())
    fits = 0 < len(line) <= config.example_characters and line.isprintable()
    if not fits or LINK.search(line) or reserved_spans(line):
        return ""
    return line if judge_note(line, guard, gate).allowed else ""
