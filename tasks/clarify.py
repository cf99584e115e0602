"""Clarify: one question back, by a model, when nothing fits or several skills do.

What the model writes leaves the boundary, and it has read names and descriptions from the registry. So
it is one line, short, without markers, and judged by the gate like any request; else it is not asked.
"""

from __future__ import annotations

import re

from pydantic import Field

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.folding import reserved_spans
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.gate import judge_request
from pickysteve.tasks.gate_config import GateConfig
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, Role
from pickysteve.tasks.stage import stage
from pickysteve.tasks.values import Pick, Pool, Question, Request

__all__ = ["LINK", "Clarification", "clarify", "clarify_pick", "unfit"]

QUESTION_CHARACTERS = 300
OPTIONS = 3
LINK = re.compile(r"https?:|www\.|`|\]\(|<\w", re.IGNORECASE)


class Clarification(Value):
    """What the model would ask."""

    question: str = Field(max_length=2_000)


def clarify_pick(
    request: Request, pool: Pool, pick: Pick, index: SearchIndex, guard: Guard, role: Role, config: GateConfig
) -> Question:
    """A model's question in place of ours, where the pick asks one and the model's is fit to be asked."""
    if role.model is None or not pick.question:
        return Question()
    nearest = pick.prediction_set or tuple(o.skill_id for o in (pool.options or pool.nearest))
    try:
        reply = role.ask({"request": request.text[:4_000]} | _descriptions(nearest, index), Clarification)
    except ModelUnavailable as failed:
        return Question(degraded=f"asked without the model: {failed}", spent=role.lost(failed))
    question = " ".join(reply.answer.question.split())
    spent = role.spent(reply.usage)
    if reason := unfit(question, guard, config):
        return Question(degraded=f"asked without the model: {reason}", spent=spent)
    return Question(question=question, spent=spent)


def _descriptions(skills: tuple[str, ...], index: SearchIndex) -> dict[str, str]:
    """A line for each of the nearest skills, of files that the gate allows."""
    lines = {}
    for skill_id in skills[:OPTIONS]:
        units = [index.unit(unit_id) for unit_id in index.allowed_units(skill_id)]
        lines[f"skill {skill_id}"] = " ".join(units[0].description.split())[:300] if units else ""
    return lines


def unfit(question: str, guard: Guard, config: GateConfig) -> str:
    """Why a question must not be asked; empty when it may."""
    if not question.endswith("?") or len(question) > QUESTION_CHARACTERS:
        return "its question is no short question"
    if LINK.search(question) or reserved_spans(question) or not question.isprintable():
        return "its question holds markup or a link"
    verdict = judge_request(question, guard, config)
    return "" if verdict.allowed else "its question was refused by the gate"


clarify = stage("clarify", clarify_pick, cached=False, timeout_seconds=MODEL_STAGE_SECONDS)
