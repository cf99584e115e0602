"""Figures: what an evaluation reports, each with the n that it rests on and a 95 % interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict

from pickysteve.calibration.measures import (
    auroc,
    auroc_interval,
    bootstrap_interval,
    clopper_pearson_upper,
    coverage_at_risk,
    wilson_interval,
)

__all__ = [
    "Area",
    "Bound",
    "Figures",
    "Latency",
    "Mean",
    "Proportion",
    "area",
    "bound",
    "coverage",
    "latency",
    "mean",
    "proportion",
    "share",
]


class Figures(BaseModel):
    """A frozen value of numbers; a field that does not exist is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Proportion(Figures):
    """Successes of n, with the Wilson 95 % interval."""

    successes: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.successes / self.n


class Mean(Figures):
    """A mean over n rows, or a share chosen over them, with the bootstrap 95 % interval."""

    value: float
    n: int
    low: float
    high: float


class Area(Figures):
    """An area under the ROC curve, with Newcombe's 95 % interval."""

    value: float
    positives: int
    negatives: int
    low: float
    high: float

    @property
    def n(self) -> int:
        """Rows of both classes."""
        return self.positives + self.negatives


class Bound(Figures):
    """Errors of n, with the one-sided 95 % upper bound (Clopper and Pearson 1934)."""

    errors: int
    n: int
    upper: float

    @property
    def value(self) -> float:
        """The observed rate."""
        return self.errors / self.n


class Latency(Figures):
    """Milliseconds at the median and at the 95th percentile, with bootstrap 95 % intervals."""

    p50: float
    p95: float
    n: int
    p50_interval: tuple[float, float]
    p95_interval: tuple[float, float]


def proportion(successes: int, n: int) -> Proportion | None:
    """The share; None when n is 0."""
    if n == 0:
        return None
    low, high = wilson_interval(successes, n)
    return Proportion(successes=successes, n=n, low=low, high=high)


def share(outcomes: Iterable[bool]) -> Proportion | None:
    """The share of outcomes that are true; None without any."""
    kept = list(outcomes)
    return proportion(sum(kept), len(kept))


def bound(mistakes: Iterable[bool]) -> Bound | None:
    """The rate of mistakes with its upper bound; None without any row."""
    kept = list(mistakes)
    if not kept:
        return None
    errors = sum(kept)
    return Bound(errors=errors, n=len(kept), upper=clopper_pearson_upper(errors, len(kept), 0.95))


def mean(values: Iterable[float]) -> Mean | None:
    """The mean; None without values."""
    kept = list(values)
    if not kept:
        return None
    low, high = bootstrap_interval(kept)
    return Mean(value=float(np.mean(kept)), n=len(kept), low=low, high=high)


def area(scores: Sequence[float], labels: Sequence[bool]) -> Area | None:
    """The AUROC of scores against labels; None when a class is empty."""
    value = auroc(scores, labels)
    if value is None:
        return None
    positives = sum(labels)
    negatives = len(labels) - positives
    low, high = auroc_interval(value, positives, negatives)
    return Area(value=value, positives=positives, negatives=negatives, low=low, high=high)


def coverage(confidences: Sequence[float], correct: Sequence[bool], risk: float) -> Mean | None:
    """Coverage at a risk, its threshold chosen anew in each resample; None without rows."""
    value = coverage_at_risk(confidences, correct, risk)
    if value is None:
        return None
    rows = np.stack([np.asarray(confidences, dtype=float), np.asarray(correct, dtype=float)], axis=1)
    low, high = bootstrap_interval(
        rows, lambda sample: coverage_at_risk(sample[:, 0], sample[:, 1], risk) or 0.0
    )
    return Mean(value=value, n=len(rows), low=low, high=high)


def latency(milliseconds: ArrayLike, resamples: int = 1000, seed: int = 0) -> Latency | None:
    """The percentiles of times of shape (n,); None without any."""
    sample = np.asarray(milliseconds, dtype=float)
    if not sample.size:
        return None
    draws = np.random.default_rng(seed).integers(sample.size, size=(resamples, sample.size))
    resampled = np.percentile(sample[draws], [50, 95], axis=1)
    (low50, high50), (low95, high95) = np.quantile(resampled, [0.025, 0.975], axis=1).T
    p50, p95 = np.percentile(sample, [50, 95])
    return Latency(
        p50=float(p50),
        p95=float(p95),
        n=sample.size,
        p50_interval=(float(low50), float(high50)),
        p95_interval=(float(low95), float(high95)),
    )
