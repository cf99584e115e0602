"""Curves: what the figures of a suite look like over all thresholds and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pickysteve.calibration.figures import Figures, Proportion, share
from pickysteve.calibration.metrics import Row

__all__ = [
    "Confusion",
    "ReliabilityBin",
    "RiskCoverage",
    "confusions",
    "expected_calibration_error",
    "reliability",
    "risk_coverage",
    "score_histogram",
]


class ReliabilityBin(Figures):
    """Rows of neighbouring scores: their mean score against the share of right first ranks."""

    low: float
    high: float
    mean_score: float
    right: Proportion


class RiskCoverage(Figures):
    """Share of wrong first ranks among the most confident rows, for each share of rows answered."""

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float
    """Mean risk over all coverages (AURC, Geifman et al. 2019); lower is better."""


class Confusion(Figures):
    """How often one answer was given where another was asked for."""

    expected: str
    answered: str
    count: int
    rows: tuple[str, ...]


def score_histogram(scores: ArrayLike, bins: int = 20) -> tuple[int, ...]:
    """Rows in equal bins of [0, 1]."""
    counts, _ = np.histogram(np.asarray(scores, dtype=float), bins=bins, range=(0.0, 1.0))
    return tuple(int(count) for count in counts)


def reliability(scores: ArrayLike, right: Sequence[bool], bins: int = 8) -> tuple[ReliabilityBin, ...]:
    """Bins of about the same n, by score (Nixon et al. 2019); scores have shape (n,)."""
    values = np.asarray(scores, dtype=float)
    parts = np.array_split(np.argsort(values, kind="stable"), min(bins, values.size) or 1)
    found = []
    for part in parts:
        hits = share(right[row] for row in part)
        if hits is not None:
            mine = values[part]
            found.append(ReliabilityBin(low=mine[0], high=mine[-1], mean_score=mine.mean(), right=hits))
    return tuple(found)


def expected_calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """Mean distance of score and share, weighed by the rows of each bin; None without bins."""
    total = sum(one.right.n for one in bins)
    if not total:
        return None
    return sum(one.right.n * abs(one.mean_score - one.right.value) for one in bins) / total


def risk_coverage(confidences: ArrayLike, right: ArrayLike) -> RiskCoverage:
    """One point a distinct confidence; ties are answered together (El-Yaniv and Wiener 2010)."""
    values, hits = np.asarray(confidences, dtype=float), np.asarray(right, dtype=bool)
    order = np.argsort(-values, kind="stable")
    answered = np.arange(1, values.size + 1)
    risks = np.cumsum(~hits[order]) / answered
    cuts = np.append(values[order][1:] != values[order][:-1], True) if values.size else np.zeros(0, bool)
    widths = np.diff(answered[cuts], prepend=0)
    return RiskCoverage(
        coverage=tuple((answered[cuts] / max(values.size, 1)).tolist()),
        risk=tuple(risks[cuts].tolist()),
        area=float((widths * risks[cuts]).sum() / max(values.size, 1)),
    )


def confusions(rows: Iterable[Row]) -> tuple[Confusion, ...]:
    """What was answered instead, the most frequent first."""
    members: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if not row.right:
            members.setdefault((row.asked, row.given), []).append(row.id)
    counts = Counter({pair: len(ids) for pair, ids in members.items()})
    return tuple(
        Confusion(expected=pair[0], answered=pair[1], count=count, rows=tuple(members[pair]))
        for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
