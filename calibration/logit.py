"""A conditional logit with an outside option: which of the candidates, or none of them.

McFadden (1974): each candidate i has a utility u_i = w.x_i + b, "none of these" has utility 0, and
P(i) = exp(u_i) / (1 + sum_j exp(u_j)). One fit gives the ranking (u), the score of a candidate on
its own (sigmoid(u), the candidate against nothing) and the chance that nothing fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Choice", "fit_rescaling", "fit_weights", "shares", "sigmoid"]

Floats = NDArray[Any]


@dataclass(frozen=True)
class Choice:
    """One request: a row of features for each candidate, and the rows that answer it (none: nothing fits)."""

    features: Floats
    right: NDArray[np.intp]


def sigmoid(utilities: Floats) -> Floats:
    """1 / (1 + exp(-u)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -utilities)))


def shares(utilities: Floats) -> Floats:
    """P(i) of each candidate; what is missing to 1 is the share of "none of these"."""
    top = max(float(utilities.max(initial=0.0)), 0.0)
    weights = np.exp(utilities - top)
    return np.asarray(weights / (weights.sum() + np.exp(-top)))


def fit_weights(choices: Sequence[Choice], l2: float, free: Sequence[int]) -> Floats:
    """Weights by maximum likelihood with a ridge on standardised features.

    The columns in `free`, the constants, are not penalised; a feature that never varies keeps weight 0.
    Returns one weight a column.
    """
    rows = np.vstack([choice.features for choice in choices])
    scale = np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), np.inf)
    scale[list(free)] = 1.0
    penalty = np.full(len(scale), l2)
    penalty[list(free)] = 0.0
    scaled = [Choice(choice.features / scale, choice.right) for choice in choices]
    return np.asarray(_maximise(scaled, penalty) / scale)


def fit_rescaling(choices: Sequence[Choice]) -> Floats:
    """Weights by maximum likelihood without a penalty, for the few parameters of a recalibration."""
    return _maximise(choices, np.full(choices[0].features.shape[1], 1e-6))


def _maximise(choices: Sequence[Choice], penalty: Floats) -> Floats:
    from scipy.optimize import minimize

    start = np.zeros(choices[0].features.shape[1])
    return np.asarray(minimize(_loss, start, args=(choices, penalty), jac=True, method="L-BFGS-B").x)


def _loss(weights: Floats, choices: Sequence[Choice], penalty: Floats) -> tuple[float, Floats]:
    """Mean negative log likelihood with its gradient; several right rows count by their summed share."""
    loss, gradient = 0.0, np.zeros_like(weights)
    for choice in choices:
        share = shares(choice.features @ weights)
        target = np.zeros_like(share)
        if choice.right.size:
            right = share[choice.right]
            loss -= np.log(right.sum() + 1e-12)
            target[choice.right] = right / (right.sum() + 1e-12)
        else:
            loss -= np.log(1 - share.sum() + 1e-12)
        gradient += choice.features.T @ (share - target)
    count = len(choices)
    return loss / count + float(penalty @ weights**2), gradient / count + 2 * penalty * weights
