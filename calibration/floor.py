"""Floors: the score under which nothing is picked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["net_benefit_floor"]


def net_benefit_floor(scores: NDArray[Any], right: NDArray[np.bool_]) -> float:
    """The floor with the most right picks minus wrong picks (Vickers & Elkin 2006, at equal weights).

    `scores` holds the best score of each request, `right` whether its pick would be right; a pick for
    a request that nothing answers is wrong. The floor lies half-way to the next lower score, so that
    no request sits on it; 1.0 when not picking at all is best.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    net = np.cumsum(np.where(right[order], 1, -1))
    # equal scores are picked together: only the last of them can be the lowest pick
    net[:-1][ranked[1:] == ranked[:-1]] = 0
    best = int(np.argmax(net))
    if net[best] <= 0:
        return 1.0
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)
