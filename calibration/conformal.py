"""Split-conformal prediction sets: how many candidates to show so that the right one is among them.

Both kinds promise marginal coverage: of requests exchangeable with those of the calibration, and that
something answers, at least that share has the right skill in its set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["aps_mass", "aps_set", "largest_mass", "least_share", "prediction_set"]

Floats = NDArray[Any]


def least_share(right_shares: Floats, coverage: float) -> float:
    """The LAC threshold (Sadinle et al. 2019): candidates with at least this share form the set.

    `right_shares` holds the share of the right candidate for each calibration request.
    """
    count = len(right_shares)
    rank = math.floor((1 - coverage) * (count + 1))
    return float(np.sort(right_shares)[rank - 1]) if rank >= 1 else 0.0


def prediction_set(shares: Sequence[float], threshold: float, largest: int) -> int:
    """How many of the best candidates form the LAC set; `shares` is sorted, best first."""
    return min(sum(share >= threshold for share in shares), largest)


def aps_mass(shares: Floats, right: int, draw: float) -> float:
    """The APS score of the right candidate (Romano et al. 2020): the mass before it, and a part of its own.

    `shares` is sorted, best first; `right` is the rank of the right one, from 0; `draw` is uniform in [0, 1].
    """
    return float(shares[:right].sum() + draw * shares[right])


def largest_mass(masses: Floats, coverage: float) -> float:
    """The APS threshold: the conformal quantile of the calibration masses; infinite for too few rows."""
    count = len(masses)
    rank = math.ceil(coverage * (count + 1))
    return float(np.sort(masses)[rank - 1]) if rank <= count else math.inf


def aps_set(shares: Floats, threshold: float, draw: float) -> int:
    """How many of the best candidates form the APS set, for one `draw` a request."""
    masses = np.cumsum(shares) - shares + draw * shares
    # a mass on the threshold is in, whichever way its sum was rounded
    return int((masses <= threshold + 1e-12).sum())
