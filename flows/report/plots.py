"""The plots of a suite: each a drawing, a sentence on how to read it, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pickysteve.calibration.curves import ReliabilityBin, RiskCoverage, expected_calibration_error
from pickysteve.calibration.figures import Bound, Proportion
from pickysteve.flows.report.svg import Canvas, linear, percent
from pickysteve.flows.report.words import figure_words

__all__ = ["WIDTH", "Plot", "Table", "reliability_plot", "risk_plot", "score_plot"]

WIDTH = 520
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Table:
    """Cells in words; columns after the first are numbers unless told."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)
    """Columns that are words, by place."""


@dataclass(frozen=True)
class Plot:
    """A drawing with what it says and the numbers behind it."""

    title: str
    note: str
    svg: Markup
    table: Table
    wide: bool = False


def score_plot(slug: str, counts: Mapping[str, Sequence[int]], floor: float) -> Plot:
    """Histograms of the best score, one a kind of row, with the floor through all of them."""
    classes = ("right", "wrong", "nothing")
    height, bins = 92, len(next(iter(counts.values())))
    canvas = Canvas(
        slug,
        WIDTH,
        40 + height * len(counts) + 44,
        "Distribution of the best score",
        f"Histograms for {', '.join(counts)}; the floor is at {floor:.2f}.",
    )
    x = linear(0, 1, 16, WIDTH - 16)
    for at, (kind, values) in enumerate(counts.items()):
        base = 40 + height * (at + 1) - 14
        y = linear(0, max(*values, 1), base, base - height + 34)
        canvas.text(f"{kind}, n={sum(values)}", (x(0), base - height + 26), "label")
        for place, count in enumerate(values):
            told = f"{kind}: {count} rows with a score from {place / bins:.2f} to {(place + 1) / bins:.2f}"
            width = (x(1) - x(0)) / bins - 2
            spot = {"x": x(place / bins) + 1, "y": y(count), "width": width, "height": base - y(count)}
            canvas.shape("rect", f"fill {classes[at % 3]}", told, rx=1.5, **spot)
        canvas.line("axis", (x(0), base), (x(1), base))
    bottom = 40 + height * len(counts) - 14
    canvas.line("floor", (x(floor), 26), (x(floor), bottom))
    canvas.text(f"floor {floor:.2f}", (x(floor), 18), "floor-label", "middle")
    for value in FIFTHS:
        canvas.text(f"{value:.1f}", (x(value), bottom + 18), "tick", "middle")
    canvas.text("best score", (x(0.5), bottom + 38), "label", "middle")
    rows = tuple(
        (
            f"{place / bins:.2f} to {(place + 1) / bins:.2f}",
            *(str(values[place]) for values in counts.values()),
        )
        for place in range(bins)
    )
    note = "Under the floor nothing is picked. A good floor parts the first kind from the last."
    return Plot("Scores and the floor", note, canvas.markup(), Table(("best score", *counts), rows))


def reliability_plot(slug: str, bins: Sequence[ReliabilityBin]) -> Plot:
    """Share of right first ranks against the mean score of each bin, with intervals."""
    canvas = Canvas(
        slug,
        WIDTH,
        420,
        "Reliability",
        f"Share of right first ranks by score, in {len(bins)} bins; the diagonal is perfect calibration.",
    )
    x, y = linear(0, 1, 52, WIDTH - 16), linear(0, 1, 370, 30)
    canvas.frame(
        x, y, (FIFTHS, FIFTHS), ("mean score of the bin", "right skill ranked first"), (_tenth, percent)
    )
    canvas.line("guide", (x(0), y(0)), (x(1), y(1)))
    canvas.path("curve ours", [(x(one.mean_score), y(one.right.value)) for one in bins])
    for one in bins:
        canvas.line(
            "whisker ours", (x(one.mean_score), y(one.right.low)), (x(one.mean_score), y(one.right.high))
        )
        told = f"mean score {one.mean_score:.2f}: {figure_words(one.right)}"
        canvas.shape("circle", "dot ours", told, cx=x(one.mean_score), cy=y(one.right.value), r=5)
    error = expected_calibration_error(bins)
    rows = tuple(
        (f"{one.low:.2f} to {one.high:.2f}", f"{one.mean_score:.3f}", figure_words(one.right)) for one in bins
    )
    note = "On the diagonal, a score is the share of rows whose first rank is the skill that the suite names."
    title = "Reliability" if error is None else f"Reliability (expected calibration error {error:.3f})"
    columns = ("scores", "mean score", "right ranked first")
    return Plot(title, note, canvas.markup(), Table(columns, rows))


def risk_plot(
    slug: str, curves: Mapping[str, RiskCoverage], answered: Proportion | None, wrong: Bound | None
) -> Plot:
    """Wrong first ranks among the answered, for each share answered; ours first, then the baseline."""
    names = ", ".join(f"{name} (area {curve.area:.3f})" for name, curve in curves.items())
    canvas = Canvas(slug, WIDTH, 420, "Risk and coverage", f"Risk-coverage curves of {names}.")
    top = max([risk for curve in curves.values() for risk in curve.risk] + [0.1])
    ticks = [step / 10 for step in range(int(top * 10) + 2)]
    x, y = linear(0, 1, 52, WIDTH - 16), linear(0, ticks[-1], 370, 30)
    canvas.frame(x, y, (FIFTHS, ticks), ("share of rows answered", "wrong among them"))
    canvas.line("guide", (x(0), y(0.05)), (x(1), y(0.05)))
    canvas.text("5 %", (x(1), y(0.05) - 6), "tick", "end")
    for classes, curve in zip(("ours", "bm25"), curves.values(), strict=False):
        canvas.path(
            f"curve {classes}", [(x(c), y(r)) for c, r in zip(curve.coverage, curve.risk, strict=True)]
        )
    for at, (classes, name) in enumerate(zip(("ours", "bm25"), curves, strict=False)):
        canvas.shape("circle", f"dot {classes}", cx=x(0.04), cy=44 + 20 * at, r=5)
        canvas.text(f"{name}, area {curves[name].area:.3f}", (x(0.04) + 12, 48 + 20 * at), "label")
    rows = tuple(
        _risk_row(name, curve, level) for name, curve in curves.items() for level in (0.25, 0.5, 0.75, 1)
    )
    if answered and wrong:
        told = f"in use: {figure_words(answered)} answered, {wrong.errors}/{wrong.n} of them wrong"
        canvas.shape("circle", "ring ours", told, cx=x(answered.value), cy=y(wrong.value), r=7)
        rows = (("thresholds in use", figure_words(answered), figure_words(wrong)), *rows)
    note = "Lower is better. The ring is where the thresholds in use stand."
    return Plot("Risk and coverage", note, canvas.markup(), Table(("curve", "answered", "wrong"), rows))


def _risk_row(name: str, curve: RiskCoverage, level: float) -> tuple[str, ...]:
    pairs = zip(curve.coverage, curve.risk, strict=True)
    reached = [(covered, risk) for covered, risk in pairs if covered >= level]
    return (name, *(f"{value:.1%}" for value in reached[0])) if reached else (name, "-", "-")


def _tenth(value: float) -> str:
    return f"{value:.1f}"
