"""Metrics: the rows of an evaluation in, all its figures out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from pickysteve.calibration.figures import (
    Area,
    Bound,
    Figures,
    Latency,
    Mean,
    Proportion,
    area,
    bound,
    coverage,
    latency,
    mean,
    proportion,
    share,
)
from pickysteve.calibration.measures import exact_set, recall_at, reciprocal_rank, set_f1, top1

__all__ = ["Row", "Summary", "summarise"]

BLOCKED = "(blocked)"


class Row(Figures):
    """One request of a suite and what became of it."""

    id: str
    category: str
    gold: tuple[str, ...]
    """The right skills; empty when none is."""
    accept: tuple[str, ...] = ()
    """Contested labels, right as well."""
    traps: tuple[str, ...] = ()
    """Skills that look right and are not."""
    must_block: bool = False
    """The gate has to refuse this request."""
    status: Literal["ok", "no_confident_match", "blocked_request", "blocked_retrieved"]
    picks: tuple[str, ...] = ()
    prediction_set: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    """Skills, best first, before the floor."""
    score: float | None = Field(None, allow_inf_nan=False)
    """Confidence that there is a match; None when nothing was scored, which counts as the lowest."""
    ambiguous: bool = False
    milliseconds: float
    stages: dict[str, float] = Field(default_factory=dict)
    """Milliseconds of each stage that ran."""

    @property
    def answer(self) -> tuple[str, ...]:
        """What was picked; nothing unless the status is ok."""
        return self.picks if self.status == "ok" else ()

    @property
    def blocked(self) -> bool:
        """Whether the gate refused the request, or all that was retrieved for it."""
        return self.status.startswith("blocked")

    @property
    def right(self) -> bool:
        """Whether the caller got exactly what the row asks for: no more, no less, and nothing else."""
        if self.must_block:
            return self.blocked
        if not self.gold:
            return self.status == "no_confident_match"
        if len(set(self.gold)) > 1:
            return exact_set(self.answer, self.gold)
        return len(self.answer) == 1 and top1(self.answer, self.gold, self.accept)

    @property
    def asked(self) -> str:
        """What the row asks for, in words."""
        return BLOCKED if self.must_block else " + ".join(self.gold) or "(nothing fits)"

    @property
    def given(self) -> str:
        """What the caller got, in words."""
        return BLOCKED if self.blocked else " + ".join(self.answer) or "(abstained)"

    @property
    def first_is_right(self) -> bool:
        """Whether the first ranked is right, picked or not."""
        return top1(self.ranked, self.gold, self.accept)

    @property
    def confidence(self) -> float:
        """The score as a number that can be ranked."""
        return -np.inf if self.score is None else self.score


class Summary(Figures):
    """All figures of a suite; None where no row bears on one.

    Rows that the gate must refuse count in `n`, `right` and `injected_passed` alone.
    """

    n: int
    right: Proportion | None
    """All rows: answered exactly as asked, abstention and refusal among the answers."""
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
    no_match_auroc: Area | None
    """Score of the rows with gold against that of the rows without."""
    coverage_at_5_risk: Mean | None
    """Share of all rows that can be answered with at most 5 % wrong first ranks among them."""
    answered: Proportion | None
    """Rows for which something was picked: the coverage at the thresholds in use."""
    wrong_pick: Bound | None
    """Of the answered rows, those whose first pick is wrong."""
    trap_leak: Proportion | None
    """Rows with traps: a trap was picked first."""
    set_coverage: Proportion | None
    """Rows with gold: the prediction set holds a right skill; an empty set does not."""
    set_size: Mean | None
    ambiguous: Proportion | None
    blocked: Proportion | None
    """Rows that the gate should let pass, and did not."""
    injected_passed: Proportion | None
    """Rows that the gate must refuse, and let pass."""
    p50_milliseconds: float | None
    p95_milliseconds: float | None
    stages: dict[str, Latency]
    """Of each stage, in the order of the flow; "total" is the whole request."""
    categories: dict[str, Proportion | None]
    """top1_ranked of each category."""
    right_by_category: dict[str, Proportion | None]


def summarise(rows: Iterable[Row]) -> Summary:
    """Compute every figure over the rows that bear on it."""
    rows = tuple(rows)
    every = [row for row in rows if not row.must_block]
    matching = [row for row in every if row.gold]
    nothing = [row for row in every if not row.gold]
    compound = [row for row in matching if len(set(row.gold)) > 1]
    trapped = [row for row in every if row.traps]
    answered = [row for row in every if row.answer]
    confidences = [row.confidence for row in every]
    return Summary(
        n=len(rows),
        right=share(row.right for row in rows),
        top1_ranked=share(row.first_is_right for row in matching),
        top1_picked=share(top1(row.answer, row.gold, row.accept) for row in matching),
        recall_at_5=_recall(5, matching),
        mrr=mean(reciprocal_rank(row.ranked, row.gold, row.accept) for row in matching),
        compound_exact=share(exact_set(row.answer, row.gold) for row in compound),
        compound_f1=mean(set_f1(row.answer, row.gold) for row in compound),
        no_match_rejection=share(row.status == "no_confident_match" for row in nothing),
        false_pick=share(bool(row.answer) for row in nothing),
        no_match_auroc=area(confidences, [bool(row.gold) for row in every]),
        coverage_at_5_risk=coverage(confidences, [row.first_is_right for row in every], 0.05),
        answered=share(bool(row.answer) for row in every),
        wrong_pick=bound(not top1(row.answer, row.gold, row.accept) for row in answered),
        trap_leak=share(top1(row.answer, row.traps) for row in trapped),
        set_coverage=share(bool({*row.gold, *row.accept} & {*row.prediction_set}) for row in matching),
        set_size=mean(len(row.prediction_set) for row in matching),
        ambiguous=share(row.ambiguous for row in every),
        blocked=share(row.blocked for row in every),
        injected_passed=share(not row.blocked for row in rows if row.must_block),
        p50_milliseconds=_percentile(rows, 50),
        p95_milliseconds=_percentile(rows, 95),
        stages=_stages(rows),
        categories={
            name: share(row.first_is_right for row in members)
            for name, members in _by_category(matching).items()
        },
        right_by_category={
            name: share(row.right for row in members) for name, members in _by_category(rows).items()
        },
    )


def _by_category(rows: Sequence[Row]) -> dict[str, list[Row]]:
    names = sorted({row.category for row in rows})
    return {name: [row for row in rows if row.category == name] for name in names}


def _stages(rows: Sequence[Row]) -> dict[str, Latency]:
    """Stages of the row that went furthest give the order; a blocked request has only the first."""
    if not rows:
        return {}
    names = max((tuple(row.stages) for row in rows), key=len)
    times = {name: [row.stages[name] for row in rows if name in row.stages] for name in names}
    found = {
        name: latency(values) for name, values in (times | {"total": [r.milliseconds for r in rows]}).items()
    }
    return {name: figure for name, figure in found.items() if figure}


def _recall(k: int, rows: Sequence[Row]) -> Proportion | None:
    sizes = [len(set(row.gold)) for row in rows]
    found = [
        round(recall_at(k, row.ranked, row.gold, row.accept) * size)
        for row, size in zip(rows, sizes, strict=True)
    ]
    return proportion(sum(found), sum(sizes))


def _percentile(rows: Sequence[Row], percent: float) -> float | None:
    return float(np.percentile([row.milliseconds for row in rows], percent)) if rows else None
