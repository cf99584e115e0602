"""Thresholds: floors, sets and probabilities of a fitted reranker, from requests that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.conformal import least_share
from pickysteve.calibration.fitted import Fitted
from pickysteve.calibration.floor import net_benefit_floor, youden_floor
from pickysteve.calibration.logit import shares, sigmoid
from pickysteve.calibration.probability import fit_platt
from pickysteve.calibration.risk import RiskFloor, risk_controlled_floor
from pickysteve.flows.scenes import SEED, Scene
from pickysteve.flows.suite import Task
from pickysteve.tasks.engines.features import EXAMPLE_FEATURES, REQUEST_FEATURES, TEXT_FEATURES

__all__ = [
    "COVERAGE",
    "RISKS",
    "Scored",
    "gather_scored",
    "one_a_request",
    "right_shares",
    "risk_floors",
    "score_scenes",
    "with_thresholds",
]

COVERAGE = 0.95
"""Of the prediction sets on the calibrate split; on the other split, of other skills, they then keep 0.9."""
SURE = 0.9
"""Share of right first picks from which a pick is not marked as unsure."""
RISKS = (0.05, 0.1, 0.2)
"""Promised shares of wrong picks among the answered requests."""

Floats = NDArray[Any]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """Scenes as a fitted reranker scores them, one row a scene."""

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    single: Flags
    """Exactly one skill answers the request."""
    nothing: Flags
    """None does."""
    best: Floats
    """Log-odds of the best unit against "none of these"."""
    first: Flags
    """The best unit answers the request."""
    shares: tuple[Floats, ...]
    """Shares of the skills, best first; what is missing to 1 is that of "none of these"."""
    right: tuple[Flags, ...]
    """For each of these shares whether the skill answers the request."""

    def part(self, rows: Sequence[int] | NDArray[np.intp]) -> Scored:
        """The same for some of the rows."""
        kept = [int(row) for row in rows]
        listed: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in kept) for name in _LISTED}
        arrays: dict[str, Any] = {
            name: getattr(self, name)[kept] for name in ("single", "nothing", "best", "first")
        }
        return Scored(**listed, **arrays)


_LISTED = ("ids", "groups", "shares", "right")


def score_scenes(scenes: Sequence[Scene], fitted: Fitted) -> Scored:
    """Score scenes with the weights of a fitted file, as the reranker does."""
    weights = _joint_weights(fitted)
    asked = np.array([fitted.request.features[name] for name in REQUEST_FEATURES])
    of_skills = []
    for scene in scenes:
        utilities = scene.columns @ weights + scene.asked @ asked + fitted.request.constant
        of_skills.append(np.array([utilities[rows].max() for rows in scene.skill_rows]))
    return gather_scored([(s.task, s.group, s.right_skills) for s in scenes], of_skills)


def gather_scored(asked: Sequence[tuple[Task, str, Flags]], of_skills: Sequence[Floats]) -> Scored:
    """Scenes as the fits of thresholds take them.

    For each its task, its group, which of its skills answer it, and the log-odds of these skills.
    """
    orders = [np.argsort(-utilities, kind="stable") for utilities in of_skills]
    right = tuple(flags[order] for (_, _, flags), order in zip(asked, orders, strict=True))
    ranked = [utilities[order] for utilities, order in zip(of_skills, orders, strict=True)]
    return Scored(
        ids=tuple(task.id for task, _, _ in asked),
        groups=tuple(group for _, group, _ in asked),
        single=np.array([len(task.gold) == 1 for task, _, _ in asked]),
        nothing=np.array([not task.gold for task, _, _ in asked]),
        best=np.array([float(utilities[0]) for utilities in ranked]),
        first=np.array([bool(flags[0]) for flags in right]),
        shares=tuple(shares(utilities) for utilities in ranked),
        right=right,
    )


def _joint_weights(fitted: Fitted) -> Floats:
    """The weights of both classes of skills in the columns of the joint fit."""
    without, having = fitted.without_examples, fitted.with_examples
    return np.array(
        [
            *(without.features[name] for name in TEXT_FEATURES),
            without.constant,
            *(having.features[name] for name in TEXT_FEATURES + EXAMPLE_FEATURES),
            having.constant,
        ]
    )


def with_thresholds(draft: Fitted, scored: Scored) -> Fitted:
    """The fitted file with its thresholds, from requests that neither weights nor scales have seen."""
    best = sigmoid(scored.best)
    kept = risk_floors(scored)
    return draft.model_copy(
        update={
            "floor": round(net_benefit_floor(best, scored.first), 4),
            "youden_floor": round(youden_floor(best, scored.first), 4),
            "pairs_sha256": "",
            # rounded upwards: a promise is not given away with the last digit
            "risk_floors": {
                risk: _rounded_up(found.floor) if found else None for risk, found in kept.items()
            },
            "set_share": round(least_share(right_shares(scored)[scored.single], COVERAGE), 4),
            "sure_score": _sure_score(best[~scored.nothing], scored.first[~scored.nothing]),
            "probability": fit_platt(scored.best, scored.first),
        }
    )


def _rounded_up(floor: float) -> float:
    return min(math.ceil(floor * 1e6) / 1e6, 1.0)


def right_shares(scored: Scored) -> Floats:
    """The share of the right skill, the best of several; 0 where the registry has none."""
    pairs = zip(scored.shares, scored.right, strict=True)
    return np.array([float(share[right].max(initial=0.0)) for share, right in pairs])


def risk_floors(scored: Scored) -> dict[str, RiskFloor | None]:
    """The risk-controlled floor of each promise, from one scene a request."""
    one = scored.part(one_a_request(scored.ids))
    scores = sigmoid(one.best)
    return {str(risk): risk_controlled_floor(scores, one.first, risk) for risk in RISKS}


def one_a_request(ids: Sequence[str]) -> NDArray[np.intp]:
    """One row for each request, drawn with a fixed seed: scenes of one request are not independent."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(ids):
        rows.setdefault(name, []).append(row)
    draw = np.random.default_rng(SEED)
    return np.array([own[draw.integers(len(own))] for own in rows.values()], dtype=np.intp)


def _sure_score(best: Floats, first: Flags) -> float:
    """The lowest score from which nine of ten first picks are right on the calibrate split."""
    order = np.argsort(-best)
    precision = np.cumsum(first[order]) / np.arange(1, len(order) + 1)
    reached = np.flatnonzero((precision >= SURE) & (np.arange(len(order)) >= 20))
    return round(float(best[order][reached[-1]]), 4) if reached.size else 1.0
