"""Paired comparison: the same rows before and now, and whether more went wrong than chance explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pickysteve.calibration.figures import Figures
from pickysteve.calibration.measures import mcnemar_exact

__all__ = ["Paired", "compare_paired", "holm"]


class Paired(Figures):
    """The rows that changed sides, and the one-sided exact McNemar p-value of "it got worse"."""

    n: int
    newly_wrong: tuple[str, ...]
    newly_right: tuple[str, ...]
    p_value: float


def compare_paired(before: Mapping[str, bool], now: Mapping[str, bool]) -> Paired:
    """Compare whether each row was right, by id (McNemar 1947, exact).

    Raises ValueError when the two do not hold the same rows.
    """
    if before.keys() != now.keys():
        raise ValueError("A paired comparison needs the same rows on both sides.")
    worse = tuple(sorted(row for row, right in now.items() if before[row] and not right))
    better = tuple(sorted(row for row, right in now.items() if right and not before[row]))
    return Paired(
        n=len(now),
        newly_wrong=worse,
        newly_right=better,
        p_value=mcnemar_exact(len(worse), len(better), "greater"),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P-values adjusted for several tests at once (Holm 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for step, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - step)))
        adjusted[at] = highest
    return tuple(adjusted)
