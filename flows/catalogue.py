"""What the registry holds, as records for people and programs."""

from __future__ import annotations

from typing import Any

from pickysteve.registry.models import Skill
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.knowledge import KnowledgeConfig, confused_with, not_for_of

__all__ = ["skill_record", "skill_records"]


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
        "summary": skill.summary,
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
