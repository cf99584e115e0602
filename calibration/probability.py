"""From score to probability: how often a best match with this score was the right one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from pickysteve.calibration.logit import sigmoid

__all__ = ["Platt", "fit_isotonic", "fit_platt"]

Floats = NDArray[Any]
Flags = NDArray[np.bool_]


class Platt(BaseModel):
    """A logistic curve over the log-odds of a score (Platt 1999)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    slope: float = Field(ge=0)
    constant: float

    def probability(self, log_odds: float) -> float:
        """Probability that the pick is right; it never falls where the score rises."""
        return float(sigmoid(np.array(self.slope * log_odds + self.constant)))


def fit_platt(log_odds: Floats, right: Flags) -> Platt:
    """Fit the curve by maximum likelihood; `log_odds` and `right` have shape (n,).

    Where one outcome alone occurs it is flat, at the share with one more row of each (Laplace).
    """
    from sklearn.linear_model import LogisticRegression

    hits = int(right.sum())
    if hits in (0, len(right)):
        return Platt(slope=0.0, constant=round(math.log((hits + 1) / (len(right) - hits + 1)), 4))
    # practically no penalty: two parameters do not overfit
    fitted = LogisticRegression(C=1e6).fit(log_odds[:, None], right)
    slope, constant = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return Platt(slope=round(max(slope, 0.0), 4), constant=round(constant, 4))


def fit_isotonic(log_odds: Floats, right: Flags) -> tuple[Floats, Floats]:
    """Knots of the monotone map by pooled adjacent violators (Zadrozny & Elkan 2002), for numpy.interp."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(log_odds, right.astype(float))
    return np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
