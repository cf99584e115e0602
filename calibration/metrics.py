"""Metrics: the figures of an evaluation, each with its n and a 95 % interval; the measures beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from pickysteve.calibration.measures import (
    auroc,
    bootstrap_interval,
    coverage_at_risk,
    exact_set,
    recall_at,
    reciprocal_rank,
    set_f1,
    top1,
    wilson_interval,
)

__all__ = ["Mean", "Proportion", "Row", "Summary", "summarise"]


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Figures):
    """One request of a suite and what became of it."""

    id: str
    category: str
    gold: tuple[str, ...]
    """The right skills; empty when none is."""
    accept: tuple[str, ...] = ()
    """Contested labels, right as well."""
    traps: tuple[str, ...] = ()
    """Skills that look right and are not."""
    status: Literal["ok", "no_confident_match", "blocked_request", "blocked_retrieved"]
    picks: tuple[str, ...] = ()
    prediction_set: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    """Skills, best first, before the floor."""
    score: float | None = Field(None, allow_inf_nan=False)
    """Confidence that there is a match; None when nothing was scored, which counts as the lowest."""
    ambiguous: bool = False
    milliseconds: float

    @property
    def answer(self) -> tuple[str, ...]:
        """What was picked; nothing unless the status is ok."""
        return self.picks if self.status == "ok" else ()


class Proportion(_Figures):
    """Successes of n, with the Wilson 95 % interval."""

    successes: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.successes / self.n


class Mean(_Figures):
    """A mean over n rows, with the bootstrap 95 % interval."""

    value: float
    n: int
    low: float
    high: float


class Summary(_Figures):
    """All figures of a suite; None where no row bears on one."""

    n: int
    top1_ranked: Proportion | None
    """Rows with gold: the first ranked is right, whether or not it was picked."""
    top1_picked: Proportion | None
    """Rows with gold: the status is ok and the first pick is right."""
    recall_at_5: Proportion | None
    """Gold labels of all rows that stand among the first five ranked of their row."""
    mrr: Mean | None
    compound_exact: Proportion | None
    """Rows with two or more gold labels: the picks are these, and no accepted ones beside them."""
    compound_f1: Mean | None
    no_match_rejection: Proportion | None
    """Rows without gold: no confident match."""
    false_pick: Proportion | None
    """Rows without gold: something was picked."""
    no_match_auroc: float | None
    """Score of the rows with gold against that of the rows without."""
    coverage_at_5_risk: float | None
    """Share of all rows that can be answered with at most 5 % wrong first ranks among them."""
    trap_leak: Proportion | None
    """Rows with traps: a trap was picked first."""
    set_coverage: Proportion | None
    """Rows with gold: the prediction set holds a right skill; an empty set does not."""
    set_size: Mean | None
    ambiguous: Proportion | None
    blocked: Proportion | None
    p50_milliseconds: float | None
    p95_milliseconds: float | None
    categories: dict[str, Proportion | None]
    """top1_ranked of each category."""


def summarise(rows: Iterable[Row]) -> Summary:
    """Compute every figure over the rows that bear on it."""
    every = tuple(rows)
    matching = [row for row in every if row.gold]
    nothing = [row for row in every if not row.gold]
    compound = [row for row in matching if len(set(row.gold)) > 1]
    trapped = [row for row in every if row.traps]
    return Summary(
        n=len(every),
        top1_ranked=_top1_ranked(matching),
        top1_picked=_share(top1(row.answer, row.gold, row.accept) for row in matching),
        recall_at_5=_recall(5, matching),
        mrr=_mean(reciprocal_rank(row.ranked, row.gold, row.accept) for row in matching),
        compound_exact=_share(exact_set(row.answer, row.gold) for row in compound),
        compound_f1=_mean(set_f1(row.answer, row.gold) for row in compound),
        no_match_rejection=_share(row.status == "no_confident_match" for row in nothing),
        false_pick=_share(bool(row.answer) for row in nothing),
        no_match_auroc=auroc([_score(row) for row in every], [bool(row.gold) for row in every]),
        coverage_at_5_risk=coverage_at_risk(
            [_score(row) for row in every], [top1(row.ranked, row.gold, row.accept) for row in every], 0.05
        ),
        trap_leak=_share(top1(row.answer, row.traps) for row in trapped),
        set_coverage=_share(bool({*row.gold, *row.accept} & {*row.prediction_set}) for row in matching),
        set_size=_mean(len(row.prediction_set) for row in matching),
        ambiguous=_share(row.ambiguous for row in every),
        blocked=_share(row.status.startswith("blocked") for row in every),
        p50_milliseconds=_percentile(every, 50),
        p95_milliseconds=_percentile(every, 95),
        categories=_by_category(matching),
    )


def _top1_ranked(rows: Sequence[Row]) -> Proportion | None:
    return _share(top1(row.ranked, row.gold, row.accept) for row in rows)


def _by_category(rows: Sequence[Row]) -> dict[str, Proportion | None]:
    names = sorted({row.category for row in rows})
    return {name: _top1_ranked([row for row in rows if row.category == name]) for name in names}


def _recall(k: int, rows: Sequence[Row]) -> Proportion | None:
    sizes = [len(set(row.gold)) for row in rows]
    found = [
        round(recall_at(k, row.ranked, row.gold, row.accept) * size)
        for row, size in zip(rows, sizes, strict=True)
    ]
    return _proportion(sum(found), sum(sizes))


def _share(outcomes: Iterable[bool]) -> Proportion | None:
    kept = list(outcomes)
    return _proportion(sum(kept), len(kept))


def _proportion(successes: int, n: int) -> Proportion | None:
    if n == 0:
        return None
    low, high = wilson_interval(successes, n)
    return Proportion(successes=successes, n=n, low=low, high=high)


def _mean(values: Iterable[float]) -> Mean | None:
    kept = list(values)
    if not kept:
        return None
    low, high = bootstrap_interval(kept)
    return Mean(value=float(np.mean(kept)), n=len(kept), low=low, high=high)


def _score(row: Row) -> float:
    return -np.inf if row.score is None else row.score


def _percentile(rows: Sequence[Row], percent: float) -> float | None:
    return float(np.percentile([row.milliseconds for row in rows], percent)) if rows else None
