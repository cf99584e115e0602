"""Floors: the score under which nothing is picked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["net_benefit_floor", "youden_floor"]

Floats = NDArray[Any]
Flags = NDArray[np.bool_]


def net_benefit_floor(scores: Floats, right: Flags) -> float:
    """The floor with the most right picks minus wrong picks (Vickers & Elkin 2006, at equal weights).

    `scores` holds the best score of each request, `right` whether its pick would be right; a pick for
    a request that nothing answers is wrong. The floor lies half-way to the next lower score, so that
    no request sits on it; 1.0 when not picking at all is best.
    """
    return _best_floor(scores, np.where(right, 1.0, -1.0))


def youden_floor(scores: Floats, positive: Flags) -> float:
    """The floor with the most of J = sensitivity + specificity - 1 (Youden 1950).

    `positive` marks what should clear the floor: requests that something answers, or pairs of a request
    and a skill that belong together. Half-way floors as above; 1.0 when one of the classes is empty.
    """
    count = int(positive.sum())
    if count in (0, len(positive)):
        return 1.0
    return _best_floor(scores, np.where(positive, 1 / count, -1 / (len(positive) - count)))


def _best_floor(scores: Floats, gains: Floats) -> float:
    """The floor whose cleared rows have the highest sum of gains, the highest of equal ones."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    sums = np.cumsum(gains[order])
    # equal scores are picked together: only the last of them can be the lowest pick
    sums[:-1][ranked[1:] == ranked[:-1]] = 0
    # sums of fractions that are equal on paper differ in the last digits
    best = int(np.argmax(sums.round(9)))
    if sums[best] <= 1e-9:
        return 1.0
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)
