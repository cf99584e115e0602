"""What the registry holds, as records for people and programs, and what could be better in it."""

from __future__ import annotations

from typing import Any

from pickysteve.registry.models import Problem, Skill, Verdict
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.knowledge import KnowledgeConfig, confused_with, not_for_of

__all__ = ["lint_registry", "skill_record", "skill_records"]

SHORT_DESCRIPTION = 40
LONG_DESCRIPTION = 1024
TWIN_COSINE = 0.9


def skill_records(index: SearchIndex) -> list[dict[str, Any]]:
    """One line a skill."""
    return [
        {
            "id": skill.skill_id,
            "units": len(skill.unit_ids),
            "examples": len(skill.examples),
            "gate": _worst(skill, index),
            "description": skill.description,
        }
        for skill in index.skills.values()
    ]


def skill_record(skill_id: str, index: SearchIndex) -> dict[str, Any]:
    """Everything about one skill but its body."""
    skill = index.skills[skill_id]
    units = index.units_of(skill_id, refused=True)
    return {
        "id": skill_id,
        "title": skill.title,
        "description": skill.description,
        "not_for": not_for_of(skill_id, index),
        "confused_with": list(confused_with(skill_id, index, KnowledgeConfig())),
        "files": [
            u.model_dump(include={"unit_id", "source", "sha256", "indexed_at", "stale"}) for u in units
        ],
        "examples": [example.model_dump(include={"text", "origin"}) for example in skill.examples],
        "gate": [
            {"unit": unit.unit_id, **verdict.model_dump(include={"allowed", "risk", "score", "findings"})}
            for unit in units
            if (verdict := index.verdict_of(unit.unit_id))
        ],
    }


def _worst(skill: Skill, index: SearchIndex) -> str:
    verdicts = [index.verdict_of(unit_id) for unit_id in skill.unit_ids]
    risks = [verdict.risk if verdict else "block" for verdict in verdicts]
    return max(risks, key=("low", "review", "block").index)


def lint_registry(index: SearchIndex) -> list[Problem]:
    """The problems of ingest, and what makes a skill hard to find or impossible to deliver."""
    found = list(index.data.problems)
    for skill in index.skills.values():
        found += _description_problems(skill)
        if not skill.examples:
            remedy = "write ten into examples.yaml beside it: they are the strongest help there is"
            found.append(_remark(skill.skill_id, "has no example requests", remedy))
        for unit_id in skill.unit_ids:
            verdict = index.verdict_of(unit_id)
            if verdict is not None and verdict.risk == "review":
                found.append(
                    _remark(unit_id, _suspicion(verdict), "read the passage; it is delivered as data")
                )
    return found + _twins(index)


def _remark(path: str, reason: str, remedy: str) -> Problem:
    return Problem(path=path, reason=reason, remedy=remedy, fatal=False)


def _description_problems(skill: Skill) -> list[Problem]:
    length = len(skill.description)
    if length < SHORT_DESCRIPTION:
        remedy = "say what it does and when to use it"
        return [_remark(skill.skill_id, f"has a description of {length} characters", remedy)]
    if length > LONG_DESCRIPTION:
        return [_remark(skill.skill_id, f"has a description of {length:,} characters", "keep it under 1,024")]
    return []


def _suspicion(verdict: Verdict) -> str:
    rules = ", ".join(dict.fromkeys(finding.rule for finding in verdict.findings))
    return f"looks suspicious to the gate ({rules}, score {verdict.score:.2f})"


def _twins(index: SearchIndex) -> list[Problem]:
    """Pairs of skills that say nearly the same: they split the vote."""
    rows = [index.skill_rows[skill_id][0] for skill_id in index.skills]
    ids = list(index.skills)
    nearness = index.texts[rows] @ index.texts[rows].T
    return [
        _remark(
            ids[a], f"says nearly the same as {ids[b]} (cosine {nearness[a, b]:.2f})", "merge or part them"
        )
        for a in range(len(ids))
        for b in range(a + 1, len(ids))
        if nearness[a, b] >= TWIN_COSINE
    ]
