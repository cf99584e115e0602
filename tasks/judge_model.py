"""Judge by a model: it reads the bodies and notes of the pool, and picks one, two for two jobs, or none.

It answers with numbers, so it can name nothing outside the pool, and no text of a skill or of its own
comes back. A model that fails leaves the decision of the deterministic judge, marked as degraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import create_model

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.judge import JudgeConfig, abstention, judge_pool, shortlist_of, which_question
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, Role
from pickysteve.tasks.stage import stage
from pickysteve.tasks.values import Note, Notes, Option, Pick, Pool, Route

__all__ = ["Judgement", "judge", "judge_with_model", "judgement_over"]

NONE = "none"


class Judgement(Value):
    """What the model decides; which numbers it may name depends on the pool."""

    jobs: Literal["one", "two", "none"]
    first: str
    second: str
    sure: bool


@lru_cache
def judgement_over(options: int) -> type[Judgement]:
    """The form of an answer about so many options, numbered from 1."""
    # built at run time, since the numbers are those of the pool
    number: Any = Literal[(NONE, *(str(at) for at in range(1, options + 1)))]
    return create_model("Judgement", __base__=Judgement, first=(number, ...), second=(number, ...))


def judge_with_model(
    route: Route,
    pool: Pool,
    notes: Notes,
    index: SearchIndex,
    calibration: Calibration,
    role: Role,
    config: JudgeConfig,
) -> Pick:
    """Decide by the model where there is one and something to choose from, else without it."""
    offline = judge_pool(route, pool, notes, index, calibration, config)
    settled = config.spare_settled and offline.status == "ok" and not offline.ambiguous
    if role.model is None or settled or not pool.options:
        return offline
    options = pool.options[: config.judged_options]
    try:
        reply = role.ask(
            dict(_texts(route, options, notes, index, config)), judgement_over(len(options)), exact=False
        )
    except ModelUnavailable as failed:
        return offline.model_copy(update={"degraded": f"judged without the model: {failed}"})
    pick = _pick(reply.answer, options, pool, notes, index)
    return pick.model_copy(update={"spent": role.spent(reply.usage)})


def _texts(
    route: Route, options: Sequence[Option], notes: Notes, index: SearchIndex, config: JudgeConfig
) -> Iterator[tuple[str, str]]:
    """The request, and each option with its notes and as much of its text as has room."""
    yield "request", route.query
    noted = {note.skill_id: note for note in notes.notes}
    room = config.judge_characters // len(options)
    for number, option in enumerate(options, start=1):
        units = [index.unit(unit_id) for unit_id in index.allowed_units(option.skill_id)]
        note = noted.get(option.skill_id)
        lines = _notes(note) if note else []
        lines += [unit.description for unit in units[:1]] + [unit.body for unit in units]
        yield f"option {number}: {option.skill_id}", "\n\n".join(lines)[:room]


def _notes(note: Note) -> list[str]:
    """What the knowledge graph says of an option."""
    lines = [f"not for: {note.not_for}"] if note.not_for else []
    for contrast in note.contrasts:
        about = f": {contrast.distinguisher}" if contrast.distinguisher else ""
        signal = f" This one when a request says: {contrast.signal}." if contrast.signal else ""
        lines.append(f"often confused with {contrast.other}{about}{signal}")
    return lines


def _pick(answer: Judgement, options: Sequence[Option], pool: Pool, notes: Notes, index: SearchIndex) -> Pick:
    """The decision in ids. A second skill counts only where the model also sees two jobs."""
    if answer.first == NONE or answer.jobs == NONE:
        reason = f"the model finds none of {len(options)} candidates that fits"
        return abstention(pool, reason, shortlist_of(pool.prediction_set, notes, index))
    first = options[int(answer.first) - 1].skill_id
    if answer.jobs == "two" and answer.second not in (NONE, answer.first):
        both = (first, options[int(answer.second) - 1].skill_id)
        reasons = (f"the model sees two jobs, for {both[0]} and for {both[1]}",)
        return Pick(
            status="ok", skills=both, prediction_set=both, low_confidence=not answer.sure, reasons=reasons
        )
    others = tuple(skill_id for skill_id in pool.prediction_set if skill_id != first)
    prediction_set = (first, *others) if not answer.sure else (first,)
    ambiguous = len(prediction_set) > 1
    return Pick(
        status="ok",
        skills=(first,),
        prediction_set=prediction_set,
        low_confidence=not answer.sure,
        ambiguous=ambiguous,
        question=which_question(prediction_set) if ambiguous else "",
        reasons=(f"the model picks {first} of {len(options)} candidates",),
        shortlist=shortlist_of(prediction_set, notes, index) if ambiguous else {},
    )


judge = stage("judge", judge_with_model, cached=True, timeout_seconds=MODEL_STAGE_SECONDS)
