"""Judge: pick one skill, two for a truly compound request, or none, and say why.

Deterministic. Without a model an oblique request cannot always be settled, so an ambiguous pick
carries the shortlist, with what tells its skills apart, for whoever asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pickysteve.calibration.fitted import Weights
from pickysteve.calibration.probability import Platt
from pickysteve.tasks.engines.bm25 import plain_terms, stemmed_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.stage import StageConfig
from pickysteve.tasks.values import Contrast, Note, Notes, Option, Pick, Pool, Route

__all__ = [
    "PAIR_FEATURES",
    "JudgeConfig",
    "Pair",
    "abstention",
    "half_winners",
    "judge_pool",
    "log_odds",
    "shortlist_of",
    "which_question",
]


class JudgeConfig(StageConfig):
    """Knobs of a judge by a model. The deterministic one has none: its thresholds are calibrated."""

    judged_options: int = Field(5, gt=0, description="options that the model reads")
    judge_characters: int = Field(24_000, ge=1_000, description="characters of all options together")
    mode: Literal["consensus", "two-tier"] = Field(
        "consensus",
        description="consensus: the judge is asked, and on confusable pools the escalation model too, where "
        "one is named; two-tier: a settled pick is left to the deterministic judge, the rest goes to the "
        "escalation model, or to the judge where none is named",
    )


PAIR_FEATURES = ("weaker", "lead", "whole", "signalled")


@dataclass(frozen=True)
class Pair:
    """The skills that win the two halves of a cut, with the evidence that these are two jobs."""

    skills: tuple[str, str]
    cut: int
    features: dict[str, float]

    def utility(self, weights: Weights) -> float:
        """Above 0 when the calibration data says that such a pair is meant."""
        return sum(weights.features[name] * value for name, value in self.features.items()) + weights.constant


def half_winners(
    whole: Mapping[str, float], halves: Mapping[str, Sequence[float]], signalled: Sequence[bool]
) -> list[Pair]:
    """One pair for each cut whose halves have different winners.

    `whole` and `halves` hold each skill's log-odds on the request and on both halves of every cut. The
    evidence is how well the weaker winner fits its half, how far each winner leads the other one on
    its own half, how well the weaker fits the whole request, and whether the joint says "also".
    """
    pairs = []
    for at, signal in enumerate(signalled):
        first = max(halves, key=lambda skill: (halves[skill][2 * at], skill))
        second = max(halves, key=lambda skill: (halves[skill][2 * at + 1], skill))
        if first != second:
            one, two = halves[first][2 * at : 2 * at + 2], halves[second][2 * at : 2 * at + 2]
            evidence = (
                min(one[0], two[1]),
                min(one[0] - two[0], two[1] - one[1]),
                min(whole[first], whole[second]),
                float(signal),
            )
            pairs.append(Pair((first, second), at, dict(zip(PAIR_FEATURES, evidence, strict=True))))
    return pairs


def _best_pair(pool: Pool, route: Route, weights: Weights) -> Pair | None:
    whole = {option.skill_id: log_odds(option.score) for option in pool.options}
    halves = {option.skill_id: [log_odds(part) for part in option.part_scores] for option in pool.options}
    scored = bool(pool.options) and all(halves.values())
    pairs = half_winners(whole, halves, [cut.signalled for cut in route.cuts]) if scored else []
    best = max(pairs, key=lambda pair: pair.utility(weights), default=None)
    return best if best and best.utility(weights) > 0 else None


def log_odds(score: float) -> float:
    """ln(score / (1 - score)), kept finite."""
    clipped = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(clipped / (1 - clipped))


def judge_pool(
    route: Route, pool: Pool, notes: Notes, index: SearchIndex, calibration: Calibration, config: JudgeConfig
) -> Pick:
    """Decide; abstaining with a question is a decision."""
    fitted = calibration.fitted
    pair = _best_pair(pool, route, fitted.second)
    if pair:
        return _compound(pair, route, pool)
    pool, said = _by_signals(pool, route, notes)
    best = next(iter(pool.options), None)
    if best is None or best.score < pool.floor:
        reason = f"the best score is under the floor of {pool.floor:.2f}"
        return abstention(pool, reason, shortlist_of(pool.prediction_set, notes, index))
    ambiguous = len(pool.prediction_set) > 1
    return Pick(
        status="ok",
        skills=(best.skill_id,),
        prediction_set=pool.prediction_set,
        confidence=_confidence(best, fitted.probability),
        low_confidence=best.score < fitted.sure_score,
        ambiguous=ambiguous,
        question=which_question(pool.prediction_set) if ambiguous else "",
        reasons=(*_reasons(best, pool), *said),
        shortlist=shortlist_of(pool.prediction_set, notes, index) if ambiguous else {},
    )


def _confidence(best: Option, curve: Platt | None) -> float | None:
    return round(curve.probability(log_odds(best.score)), 4) if curve else None


def _compound(pair: Pair, route: Route, pool: Pool) -> Pick:
    cut = route.cuts[pair.cut]
    reasons = [
        f'{skill} answers "{_short(half)}"'
        for skill, half in zip(pair.skills, (cut.first, cut.second), strict=True)
    ]
    best_first = tuple(option.skill_id for option in pool.options if option.skill_id in pair.skills)
    return Pick(status="ok", skills=best_first, prediction_set=best_first, reasons=tuple(reasons))


def abstention(pool: Pool, reason: str, shortlist: dict[str, str]) -> Pick:
    """No pick: why, the nearest skills, and a question back."""
    nearest = [option.skill_id for option in (pool.options or pool.nearest)]
    if nearest:
        hint = f"The nearest are {', '.join(nearest[:3])}, and none is close enough."
    else:
        hint = "Nothing in the registry is close."
    return Pick(
        status="no_confident_match",
        prediction_set=pool.prediction_set,
        question=f"No skill here clearly fits. {hint} What outcome do you need, and in which tool or field?",
        reasons=(reason,),
        shortlist=shortlist,
    )


def which_question(skills: Sequence[str]) -> str:
    """The question that goes with a shortlist."""
    return f"More than one skill may fit: {', '.join(skills)}. Which of them is it about?"


def _by_signals(pool: Pool, route: Route, notes: Notes) -> tuple[Pool, tuple[str, ...]]:
    """Swap the two best where people's edge joins them and the request says the second one's sign alone.

    Both stay in the prediction set: a sign settles which is likelier, and not that the other is excluded.
    """
    if len(pool.options) < 2 or len(pool.prediction_set) < 2:
        return pool, ()
    first, second, *rest = pool.options
    by_id = {note.skill_id: note for note in notes.notes}
    edges = by_id[first.skill_id].contrasts if first.skill_id in by_id else ()
    edge = next((e for e in edges if e.other == second.skill_id and e.confirmed), None)
    if edge is None or second.skill_id not in pool.prediction_set:
        return pool, ()
    asked = " ".join(clause.text for clause in route.clauses if clause.role != "ruled_out") or route.query
    mine, others = (signal_terms(asked, one, other) for one, other in _both_ways(edge))
    if mine or not others:
        return pool, ()
    swapped = tuple({second.skill_id: 0, first.skill_id: 0} | dict.fromkeys(pool.prediction_set, 0))
    reason = f"the request says {', '.join(others)}, which tells {second.skill_id} from {first.skill_id}"
    changes = {"options": (second, first, *rest), "prediction_set": swapped}
    return pool.model_copy(update=changes), (reason,)


def _both_ways(edge: Contrast) -> tuple[tuple[str, str], tuple[str, str]]:
    return (edge.signal, edge.other_signal), (edge.other_signal, edge.signal)


def signal_terms(asked: str, signal: str, other: str) -> tuple[str, ...]:
    """The words of a signal that a request says and the other side's signal does not hold."""
    said, foreign = set(stemmed_terms(asked)), set(stemmed_terms(other))
    words = (word for word in plain_terms(signal) if len(word) > 3)
    return tuple(
        dict.fromkeys(
            w for w in words if set(stemmed_terms(w)) <= said and not set(stemmed_terms(w)) & foreign
        )
    )


def _reasons(best: Option, pool: Pool) -> tuple[str, ...]:
    reasons = [f"{best.skill_id} is nearest: score {best.score:.2f}, {best.share:.0%} of the probability"]
    if len(pool.options) > 1:
        second = pool.options[1]
        reasons.append(f"{second.skill_id} follows: score {second.score:.2f}, {second.share:.0%}")
    return tuple(reasons)


def shortlist_of(skills: Sequence[str], notes: Notes, index: SearchIndex) -> dict[str, str]:
    """A line for each skill: what it does, what it is not for, and what tells it from the others."""
    by_id = {note.skill_id: note for note in notes.notes}
    return {skill_id: _line(skill_id, by_id.get(skill_id), skills, index) for skill_id in skills}


def _line(skill_id: str, note: Note | None, among: Sequence[str], index: SearchIndex) -> str:
    # not the skill's own description: that of a file which the gate refused is not repeated
    units = [index.unit(unit_id) for unit_id in index.allowed_units(skill_id)[:1]]
    about = [unit.description or index.skills[skill_id].summary for unit in units]
    parts = [_short("".join(about), 200)]
    if note and note.not_for:
        parts.append(_short(note.not_for, 200))
    told = [contrast for contrast in note.contrasts if contrast.other in among] if note else []
    for contrast in told[:2]:
        said = f"{contrast.distinguisher} " if contrast.distinguisher else ""
        signal = f"here: {contrast.signal}" if contrast.signal else ""
        if said or signal:
            parts.append(_short(f"unlike {contrast.other}: {said}{signal}", 200))
    return " | ".join(parts)


def _short(text: str, limit: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."
