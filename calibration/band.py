"""The gray band of a detector: scores that are too low to block and too high to let pass unasked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.measures import clopper_pearson_upper

__all__ = ["Band", "gray_band"]

Floats = NDArray[Any]


@dataclass(frozen=True)
class Band:
    """Under `low` a text passes, from `high` on it is blocked, between them a second judge is asked."""

    low: float
    """At most the promised share of attacks scores under it; 0 where the attacks are too few to promise."""
    high: float
    """At most the promised share of ordinary texts scores it or more; above 1 where these are too few."""

    def share(self, scores: Floats) -> float:
        """Share of these texts that a second judge would be asked about."""
        return float(((scores >= self.low) & (scores < self.high)).mean()) if len(scores) else 0.0


def gray_band(
    ordinary: Floats, attacks: Floats, *, missed: float, blocked: float, confidence: float = 0.95
) -> Band:
    """The narrowest band that keeps two promises, each with the given confidence.

    `ordinary` and `attacks` hold scores, (n,) each, of texts that the detector was not fitted on. At most
    a share `missed` of attacks passes unasked, at most a share `blocked` of ordinary texts is blocked
    unasked. The edges are order statistics, as tolerance limits (Wilks 1941). Where the promises leave no
    gray texts, both edges meet half-way.
    """
    low = _edge(attacks, missed, confidence)
    high = _edge(-ordinary, blocked, confidence)
    lowest = 0.0 if low is None else low
    # a text on the upper edge is blocked, so the edge lies just over the last one that must not be
    highest = float(np.nextafter(1.0 if high is None else -high, np.inf))
    if lowest > highest:
        lowest = highest = (lowest + highest) / 2
    return Band(lowest, highest)


def _edge(scores: Floats, share: float, confidence: float) -> float | None:
    """The highest edge under which at most this share of the scores to come lies; None for too few rows."""
    counts = range(int(share * len(scores)) + 1)
    kept = [under for under in counts if clopper_pearson_upper(under, len(scores), confidence) <= share]
    return float(np.sort(scores)[kept[-1]]) if kept and len(scores) else None
