"""Reach: whether requests that a skill is for find it, each left out of the index while it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from pickysteve.flows.dag import Engines
from pickysteve.flows.settings import Settings
from pickysteve.registry.index_tables import IndexData
from pickysteve.registry.models import Skill, Value
from pickysteve.tasks.engines.bm25 import count_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.rerank import score_candidates
from pickysteve.tasks.retrieve import retrieve_candidates
from pickysteve.tasks.route import parse_request
from pickysteve.tasks.values import Request

__all__ = ["Reach", "leave_out", "skill_reach"]

Progress = Callable[[str, int, int], None]


class Reach(Value):
    """How requests of a skill fared: its examples, or its own description where it has none."""

    skill_id: str
    asked: int = 0
    """Requests that were asked: a skill that was ranked first once is not asked about again."""
    first: int = 0
    """Requests that rank the skill first."""
    shortlisted: int = 0
    """Requests that rank it within the longest shortlist."""
    by_description: bool = False
    instead: dict[str, int] = Field(default_factory=dict)
    """What was ranked first where it was not, the most frequent first."""


def skill_reach(engines: Engines, settings: Settings, progress: Progress) -> tuple[Reach, ...]:
    """The reach of every skill that the gate lets through.

    The examples are left out in turns: the first of every skill, then the second, and so on, so that
    each request is asked of an index that does not hold it.
    """
    index = engines.index
    skills = [skill_id for skill_id in index.skills if index.allowed_units(skill_id)]
    fared: dict[str, list[tuple[str, ...]]] = {skill_id: [] for skill_id in skills}
    open_skills = [skill_id for skill_id in skills if _requests(index.skills[skill_id])]
    turn, settled, total = 0, 0, len(open_skills)
    while open_skills:
        held = replace(engines, index=SearchIndex(leave_out(index.data, turn)))
        missed = []
        for skill_id in open_skills:
            requests = _requests(index.skills[skill_id])
            fared[skill_id].append(_ranking(requests[turn], held, settings))
            won = fared[skill_id][-1][:1] == (skill_id,)
            if not won and turn + 1 < len(requests):
                missed.append(skill_id)
            else:
                settled += 1
                progress("asking for each skill", settled, total)
        open_skills, turn = missed, turn + 1
    longest = settings.floor.largest_set
    return tuple(_reach(skill_id, fared[skill_id], longest, index) for skill_id in skills)


def leave_out(data: IndexData, turn: int) -> IndexData:
    """The index without the example at that place of each skill."""
    seen: Counter[str] = Counter()
    rows = []
    for row, vector in enumerate(data.vectors):
        if vector.kind == "example":
            seen[vector.owner] += 1
            if seen[vector.owner] == turn + 1:
                continue
        rows.append(row)
    examples = {}
    for skill_id, counts in data.postings.get("examples", {}).items():
        held = " ".join(example.text for example in data.skills[skill_id].examples[turn : turn + 1])
        # a Counter's difference drops what falls to zero
        if left := Counter(counts) - count_terms(held):
            examples[skill_id] = dict(left)
    return replace(
        data,
        vectors=tuple(data.vectors[row] for row in rows),
        matrix=data.matrix[rows],
        postings={**data.postings, "examples": examples},
    )


def _requests(skill: Skill) -> tuple[str, ...]:
    """What a skill is for, in requests; its description where nobody wrote any."""
    if skill.examples:
        return tuple(example.text for example in skill.examples)
    return (skill.description,) if skill.description.strip() else ()


def _ranking(text: str, engines: Engines, settings: Settings) -> tuple[str, ...]:
    """Skills, best first, as the request flow would rank them before the floor."""
    request = Request(text=text)
    route = parse_request(request, settings.route)
    found = retrieve_candidates(request, route, engines.index, engines.encoder, settings.retrieve)
    allowed = [c for c in found.candidates if (v := engines.index.verdict_of(c.unit_id)) and v.allowed]
    scored = score_candidates(
        route,
        found.model_copy(update={"candidates": tuple(allowed)}),
        engines.index,
        engines.reranker,
        settings.rerank,
    )
    return tuple(dict.fromkeys(candidate.skill_id for candidate in scored.candidates))


def _reach(skill_id: str, rankings: list[tuple[str, ...]], longest: int, index: SearchIndex) -> Reach:
    others = Counter(ranking[0] for ranking in rankings if ranking and ranking[0] != skill_id)
    return Reach(
        skill_id=skill_id,
        asked=len(rankings),
        first=sum(ranking[:1] == (skill_id,) for ranking in rankings),
        shortlisted=sum(skill_id in ranking[:longest] for ranking in rankings),
        by_description=not index.skills[skill_id].examples,
        instead=dict(others.most_common()),
    )
