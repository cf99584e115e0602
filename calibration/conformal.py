"""Split-conformal prediction sets: how many candidates to show so that the right one is among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_share", "prediction_set"]

Floats = NDArray[Any]


def least_share(right_shares: Floats, coverage: float) -> float:
    """The LAC threshold (Sadinle et al. 2019): candidates with at least this share form the set.

    `right_shares` holds the share of the right candidate for each calibration request; the promise of
    marginal coverage holds for requests exchangeable with those.
    """
    count = len(right_shares)
    rank = math.floor((1 - coverage) * (count + 1))
    return float(np.sort(right_shares)[rank - 1]) if rank >= 1 else 0.0


def prediction_set(shares: Sequence[float], threshold: float, largest: int) -> int:
    """How many of the best candidates form the set: `shares` is sorted, best first."""
    over = sum(share >= threshold for share in shares)
    return min(max(over, 1), largest, len(shares))
