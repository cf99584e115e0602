"""Judge by a model: it reads the bodies and notes of the pool, and picks one, two for two jobs, or none.

It answers with numbers, so it can name nothing outside the pool, and no text of a skill or of its own
comes back. A model that fails leaves the decision of the deterministic judge, marked as degraded. A stronger
one may be asked too where skills are easily confused, or alone where the cheap answer is not settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import create_model

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.consensus import consensus, is_confusable
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.judge import JudgeConfig, abstention, judge_pool, shortlist_of, which_question
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, OFF, Role
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
    escalation: Role,
    config: JudgeConfig,
) -> Pick:
    """Decide by the models where there are some and something to choose from, else without them."""
    offline = judge_pool(route, pool, notes, index, calibration, config)
    if not pool.options:
        return offline
    asking = _Asking(route, pool, notes, index, config, offline)
    if config.mode == "two-tier":
        # a conformal singleton is answered cheaply
        settled = offline.status == "ok" and not offline.ambiguous
        stronger, weaker = (escalation, role) if escalation.model else (role, OFF)
        return offline if settled else asking.first_answer(stronger, weaker)
    if role.model is None or escalation.model is None or not is_confusable(pool, notes):
        return asking.first_answer(role, OFF)
    judged, second = asking.answer(role), asking.answer(escalation)
    if judged.degraded or second.degraded:
        failed, left = (judged, second) if judged.degraded else (second, judged)
        if left.degraded:
            return left.model_copy(update={"spent": judged.spent + second.spent})
        return left.model_copy(
            update={
                "low_confidence": True,
                "spent": judged.spent + second.spent,
                "degraded": failed.degraded.replace("judged without the model", "judged by one model alone"),
            }
        )
    return consensus(offline, judged, second, notes, index)


@dataclass(frozen=True)
class _Asking:
    """One question to judges: what they read, and what stands where they fail."""

    route: Route
    pool: Pool
    notes: Notes
    index: SearchIndex
    config: JudgeConfig
    offline: Pick

    def answer(self, role: Role) -> Pick:
        """What the role's model decides; where it fails the deterministic pick, marked."""
        options = self.pool.options[: self.config.judged_options]
        texts = dict(_texts(self.route, options, self.notes, self.index, self.config))
        try:
            reply = role.ask(texts, judgement_over(len(options)))
        except ModelUnavailable as failed:
            degraded = f"judged without the model: {failed}"
            return self.offline.model_copy(update={"degraded": degraded, "spent": role.lost(failed)})
        pick = _pick(reply.answer, options, self.pool, self.notes, self.index)
        return pick.model_copy(update={"spent": role.spent(reply.usage)})

    def first_answer(self, *roles: Role) -> Pick:
        """That of the first role whose model answers; a failure before it stays named."""
        failures: list[Pick] = []
        for role in roles:
            if role.model is None:
                continue
            pick = self.answer(role)
            spent = tuple(one for failed in failures for one in failed.spent) + pick.spent
            if not pick.degraded:
                said = (
                    failures[0].degraded.replace("without the model", "by the weaker model")
                    if failures
                    else ""
                )
                return pick.model_copy(update={"spent": spent, "degraded": said})
            failures.append(pick)
        if not failures:
            return self.offline
        return failures[0].model_copy(
            update={"spent": tuple(one for failed in failures for one in failed.spent)}
        )


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


judge = stage("judge", judge_with_model, cached=True, timeout_seconds=2 * MODEL_STAGE_SECONDS)
