"""Measures: rankings, picks and scores in, numbers out, each as its source defines it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "auroc",
    "auroc_interval",
    "bootstrap_interval",
    "clopper_pearson_upper",
    "coverage_at_risk",
    "exact_set",
    "mcnemar_exact",
    "recall_at",
    "reciprocal_rank",
    "set_f1",
    "top1",
    "wilson_interval",
]

Ids = Sequence[str]
Alternative = Literal["two-sided", "greater"]


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided score interval of a proportion (Wilson 1927); (0, 1) when n is 0.

    Raises ValueError when successes are not within 0..n.
    """
    _check_count(successes, n)
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    centre = share + z * z / (2 * n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (centre - margin) / scale
    high = 1.0 if successes == n else (centre + margin) / scale
    return low, high


def clopper_pearson_upper(errors: int, n: int, confidence: float) -> float:
    """One-sided exact upper bound of an error rate (Clopper and Pearson 1934).

    The rate is above it with probability at most 1 - confidence; 1 when n is 0, as nothing
    is known then. Raises ValueError when errors are not within 0..n.
    """
    _check_count(errors, n)
    if errors == n:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(errors + 1, n - errors, confidence))


def top1(ranked: Ids, gold: Collection[str], accept: Collection[str] = ()) -> bool:
    """Whether the first of the ranking is right; accept holds the contested labels."""
    return bool(ranked) and (ranked[0] in gold or ranked[0] in accept)


def recall_at(k: int, ranked: Ids, gold: Collection[str], accept: Collection[str] = ()) -> float:
    """Part of the gold labels among the first k (Manning et al. 2008, ch. 8).

    An accepted label stands in for a missing gold one. Raises ValueError without gold.
    """
    wanted = set(gold)
    if not wanted:
        raise ValueError("Recall needs gold labels: leave out the rows that have none.")
    found = len(set(ranked[:k]) & (wanted | set(accept)))
    return min(found / len(wanted), 1.0)


def reciprocal_rank(ranked: Ids, gold: Collection[str], accept: Collection[str] = ()) -> float:
    """1 / rank of the first right label, 0 without one (Voorhees 1999, TREC-8)."""
    ranks = (rank for rank, label in enumerate(ranked, start=1) if label in gold or label in accept)
    return 1 / next(ranks, math.inf)


def exact_set(picks: Collection[str], gold: Collection[str]) -> bool:
    """Whether the picks are the gold labels, no more and no fewer (subset accuracy)."""
    return set(picks) == set(gold)


def set_f1(picks: Collection[str], gold: Collection[str]) -> float:
    """Harmonic mean of precision and recall of two sets (van Rijsbergen 1979); 1 for two empty ones."""
    total = len(set(picks)) + len(set(gold))
    return 2 * len(set(picks) & set(gold)) / total if total else 1.0


def auroc(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """Probability that a positive outscores a negative, ties counting half (Hanley and McNeil 1982).

    scores and labels have shape (n,); labels are true for positives. None when a class is empty.
    """
    values, positive = _ordered(scores), np.asarray(labels, dtype=bool)
    hits = int(positive.sum())
    misses = positive.size - hits
    if hits == 0 or misses == 0:
        return None
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mid_ranks = np.cumsum(sizes) - (sizes - 1) / 2
    rank_sum = float(mid_ranks[group][positive].sum())
    return (rank_sum - hits * (hits + 1) / 2) / (hits * misses)


def auroc_interval(
    area: float, positives: int, negatives: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Score interval of an AUROC (Newcombe 2006, part 2, method 5): it stays within 0..1, also at 1."""
    from scipy.optimize import brentq

    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    others = (positives + negatives) / 2 - 1

    def excess(theta: float) -> float:
        spread = 1 + others * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return float((area - theta) ** 2 - z * z * theta * (1 - theta) * spread / (positives * negatives))

    # at the very ends the excess has no sign to change
    low = 0.0 if area <= 1e-6 else brentq(excess, 0.0, area - 1e-9)
    high = 1.0 if area >= 1 - 1e-6 else brentq(excess, area + 1e-9, 1.0)
    return float(low), float(high)


def coverage_at_risk(confidences: ArrayLike, correct: ArrayLike, risk: float) -> float | None:
    """Largest share that can be answered with at most that share of wrong answers among them.

    Answered are all at or above one confidence, so ties stand or fall together
    (El-Yaniv and Wiener 2010). Both have shape (n,); None when n is 0.
    """
    values, right = _ordered(confidences), np.asarray(correct, dtype=bool)
    if values.size == 0:
        return None
    order = np.argsort(-values, kind="stable")
    answered = np.arange(1, values.size + 1)
    risks = np.cumsum(~right[order]) / answered
    cuts = np.append(values[order][1:] != values[order][:-1], True)
    allowed = answered[cuts & (risks <= risk)]
    return float(allowed.max() / values.size) if allowed.size else 0.0


def mcnemar_exact(b: int, c: int, alternative: Alternative = "two-sided") -> float:
    """Exact p-value of b against c discordant pairs (McNemar 1947); 1 without any.

    "greater" asks only whether b is larger than chance allows. Raises ValueError for a negative count.
    """
    if min(b, c) < 0:
        raise ValueError("Discordant pairs are counts: give two numbers that are not negative.")
    if b + c == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(b, b + c, alternative=alternative).pvalue)


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], float] = np.mean,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a statistic (Efron 1979); values have n rows, n at least 1."""
    sample = np.asarray(values, dtype=float)
    draw = np.random.default_rng(seed)
    found = [statistic(sample[draw.integers(len(sample), size=len(sample))]) for _ in range(resamples)]
    low, high = np.quantile(found, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)


def _ordered(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("A score that is not a number has no rank: leave its row out, or give it -inf.")
    return values


def _check_count(count: int, n: int) -> None:
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is no proportion: give a count between 0 and n.")
