"""Judge: pick one skill, two for a truly compound request, or none, and say why.

Deterministic. Without a model an oblique request cannot always be settled, so an ambiguous pick
carries the shortlist, with what tells its skills apart, for whoever asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Note, Notes, Option, Pick, Pool, Route

__all__ = ["JudgeConfig", "judge", "judge_pool", "part_winners"]


class JudgeConfig(StageConfig):
    """The deterministic judge has no knobs: its thresholds are calibrated."""


def part_winners(scores: Mapping[str, Sequence[float]], floor: float, lead: float) -> tuple[str, ...]:
    """The two skills of a compound request, or none when it is a single one.

    `scores` holds each skill's score on each part. Two parts are two jobs when different skills win
    them, both clear `floor`, and each leads the other on its own part by `lead` in log-odds.
    """
    parts = len(next(iter(scores.values()), ()))
    winners = [max(scores, key=lambda skill, at=at: (scores[skill][at], skill)) for at in range(parts)]
    strength = [scores[winner][at] for at, winner in enumerate(winners)]
    for first in np.argsort([-value for value in strength], kind="stable"):
        for second in range(parts):
            pair = (winners[first], winners[second])
            if pair[0] != pair[1] and min(strength[first], strength[second]) >= floor:
                gaps = (
                    _log_odds(strength[first]) - _log_odds(scores[pair[1]][first]),
                    _log_odds(strength[second]) - _log_odds(scores[pair[0]][second]),
                )
                if min(gaps) >= lead:
                    return pair
    return ()


def _log_odds(score: float) -> float:
    clipped = min(max(score, 1e-9), 1 - 1e-9)
    return float(np.log(clipped / (1 - clipped)))


def judge_pool(
    route: Route, pool: Pool, notes: Notes, index: SearchIndex, calibration: Calibration, config: JudgeConfig
) -> Pick:
    """Decide; abstaining with a question is a decision."""
    fitted = calibration.fitted
    pair = part_winners(
        {option.skill_id: option.part_scores for option in pool.options if option.part_scores},
        fitted.part_floor,
        fitted.part_lead,
    )
    if pair:
        return _compound(pair, route, pool)
    best = next(iter(pool.options), None)
    if best is None or best.score < fitted.floor:
        return _abstain(pool)
    ambiguous = len(pool.prediction_set) > 1
    return Pick(
        status="ok",
        skills=(best.skill_id,),
        prediction_set=pool.prediction_set,
        low_confidence=best.score < fitted.sure_score,
        ambiguous=ambiguous,
        question=_which(pool.prediction_set) if ambiguous else "",
        reasons=_reasons(best, pool),
        shortlist=_shortlist(pool.prediction_set, notes, index) if ambiguous else {},
    )


def _compound(pair: tuple[str, ...], route: Route, pool: Pool) -> Pick:
    by_id = {option.skill_id: option for option in pool.options}
    reasons = []
    for skill_id in pair:
        scores = by_id[skill_id].part_scores
        at = int(np.argmax(scores))
        reasons.append(f'{skill_id} answers "{_short(route.sub_queries[at])}" (score {scores[at]:.2f})')
    ordered = sorted(pair, key=lambda skill_id: int(np.argmax(by_id[skill_id].part_scores)))
    return Pick(status="ok", skills=tuple(ordered), prediction_set=tuple(ordered), reasons=tuple(reasons))


def _abstain(pool: Pool) -> Pick:
    nearest = [option.skill_id for option in (pool.options or pool.nearest)]
    if nearest:
        hint = f"The nearest are {', '.join(nearest[:3])}, and none is close enough."
    else:
        hint = "Nothing in the registry is close."
    return Pick(
        status="no_confident_match",
        question=f"No skill here clearly fits. {hint} What outcome do you need, and in which tool or field?",
        reasons=(f"the best score is under the floor of {pool.floor:.2f}",),
    )


def _which(skills: Sequence[str]) -> str:
    return f"More than one skill may fit: {', '.join(skills)}. Which of them is it about?"


def _reasons(best: Option, pool: Pool) -> tuple[str, ...]:
    reasons = [f"{best.skill_id} is nearest: score {best.score:.2f}, {best.share:.0%} of the probability"]
    if len(pool.options) > 1:
        second = pool.options[1]
        reasons.append(f"{second.skill_id} follows: score {second.score:.2f}, {second.share:.0%}")
    return tuple(reasons)


def _shortlist(skills: Sequence[str], notes: Notes, index: SearchIndex) -> dict[str, str]:
    """A line for each skill: what it does, and what it is not for."""
    by_id = {note.skill_id: note for note in notes.notes}
    return {skill_id: _line(skill_id, by_id.get(skill_id), index) for skill_id in skills}


def _line(skill_id: str, note: Note | None, index: SearchIndex) -> str:
    about = _short(index.skills[skill_id].description, 200)
    return f"{about} | {_short(note.not_for, 200)}" if note and note.not_for else about


def _short(text: str, limit: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


judge = stage("judge", judge_pool, cached=True)
