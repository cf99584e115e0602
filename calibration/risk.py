"""Risk control: a floor that keeps its promise on requests like those it was calibrated on.

"At most a share `risk` of the answered requests is answered wrongly, with `confidence`." Clopper-Pearson
bounds are tested from the strictest floor to looser ones, and the first that fails ends the sequence, so
that no correction for many tests is due (fixed-sequence testing: Angelopoulos et al. 2021, Learn then
Test; selective prediction: Geifman & El-Yaniv 2017). Floors are ranks among the calibration scores, fixed
before any label is seen; the argument needs that a looser floor never has the smaller risk, and that the
requests to come are exchangeable with those of the calibration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.measures import clopper_pearson_upper

__all__ = ["RiskFloor", "least_answered", "risk_controlled_floor"]

START = 0.2
"""Share answered by the first floor: a stricter one stands or falls with a single wrong pick."""
STEP = 0.02
"""Share that each further floor adds: with single rows, the sequence ends at the first unlucky one."""


@dataclass(frozen=True)
class RiskFloor:
    """The loosest floor whose bound holds, and what it was seen to do."""

    floor: float
    answered: int
    wrong: int
    n: int
    bound: float
    """Upper bound on the share of wrong picks among the answered requests."""

    @property
    def coverage(self) -> float:
        """Share of all requests that are answered."""
        return self.answered / self.n


def least_answered(risk: float, confidence: float) -> int:
    """Answered requests, all of them right, without which no floor can keep the promise.

    Raises ValueError for a risk or a confidence that is no share between 0 and 1: nothing can promise that.
    """
    if not (0 < risk < 1 and 0 < confidence < 1):
        raise ValueError(
            f"A risk of {risk} with confidence {confidence} cannot be promised: give 0 < share < 1."
        )
    return math.ceil(math.log(1 - confidence) / math.log(1 - risk))


def risk_controlled_floor(
    scores: NDArray[Any], right: NDArray[np.bool_], risk: float, confidence: float = 0.95
) -> RiskFloor | None:
    """The loosest floor that keeps the promise; None where the rows cannot attain it.

    `scores` holds the best score of each request, (n,), `right` whether its pick would be right; one row a
    request, as rows of one request are not independent. The floor lies half-way to the next lower score.
    Raises ValueError for a promise that is no share between 0 and 1, and for scores that are no numbers.
    """
    if len(scores) != len(right) or not np.isfinite(scores).all():
        raise ValueError("A floor needs one finite score and one outcome for each request.")
    order = np.argsort(-scores, kind="stable")
    ranked, wrong = scores[order], np.cumsum(~right[order])
    n, found = len(ranked), None
    for answered in _ranks(n, least_answered(risk, confidence)):
        if answered < n and ranked[answered] == ranked[answered - 1]:
            # equal scores stand or fall together, so there is no such floor
            continue
        bound = clopper_pearson_upper(int(wrong[answered - 1]), answered, confidence)
        if bound > risk:
            break
        below = ranked[answered] if answered < n else 0.0
        floor = float((ranked[answered - 1] + below) / 2)
        found = RiskFloor(floor, answered, int(wrong[answered - 1]), n, bound)
    return found


def _ranks(n: int, least: int) -> range:
    return range(max(least, round(START * n)), n + 1, max(round(STEP * n), 1))
