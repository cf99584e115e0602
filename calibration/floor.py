"""Floors: the score under which nothing is picked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["risk_controlled_floor", "youden_floor"]

Floats = NDArray[Any]


def youden_floor(fitting: Floats, unfitting: Floats) -> float:
    """The score that best parts best-candidate scores of answerable and unanswerable requests.

    Maximises sensitivity + specificity - 1 (Youden 1950); the floor lies half-way to the next lower
    score, so that neither class sits on it.
    """
    levels = np.unique(np.concatenate([fitting, unfitting]))
    gains = [float((fitting >= level).mean() - (unfitting >= level).mean()) for level in levels]
    best = int(np.argmax(gains))
    below = levels[best - 1] if best else 0.0
    return float((levels[best] + below) / 2)


def risk_controlled_floor(scores: Floats, wrong: NDArray[np.bool_], risk: float, confidence: float) -> float:
    """The lowest floor whose Clopper-Pearson bound on the wrong picks above it stays under `risk`.

    Scans from the highest score down and stops at the first failure (fixed-sequence testing), so the
    bound holds for the floor that is returned; 1.0 when no floor keeps the promise.
    """
    from pickysteve.calibration.metrics import clopper_pearson_upper

    order = np.argsort(-scores, kind="stable")
    floor = 1.0
    errors = 0
    for picked, row in enumerate(order, start=1):
        errors += int(wrong[row])
        if picked >= 20 and clopper_pearson_upper(errors, picked, confidence) > risk:
            break
        if picked >= 20:
            floor = float(scores[row])
    return floor
