"""Plots that stand in rows: intervals beside a table, kinds of request, stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from pickysteve.calibration.figures import Latency, Proportion
from pickysteve.flows.report.plots import WIDTH, Plot, Table
from pickysteve.flows.report.svg import Canvas, linear, logarithmic, percent
from pickysteve.flows.report.words import figure_words

__all__ = ["category_plot", "interval_mark", "stage_plot"]

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def interval_mark(slug: str, figures: Sequence[tuple[str, float, float, float]], words: str) -> Markup:
    """Values with their intervals on a line from 0 to 1; each is (class, value, low, high).

    Without figures there is nothing to draw.
    """
    if not figures:
        return Markup()
    canvas = Canvas(slug, 160, 6 + 9 * len(figures), words, "The interval of each figure from 0 to 1.")
    x = linear(0, 1, 4, 156)
    canvas.line("rail", (x(0), canvas.height / 2), (x(1), canvas.height / 2))
    for at, (classes, value, low, high) in enumerate(figures):
        y = 7.5 + 9 * at
        canvas.line(f"whisker {classes}", (x(low), y), (x(high), y))
        canvas.shape("circle", f"dot {classes}", cx=x(value), cy=y, r=3.2)
    return canvas.markup()


def category_plot(
    slug: str, ours: Mapping[str, Proportion | None], bm25: Mapping[str, Proportion | None]
) -> Plot:
    """Rows answered exactly as asked, by kind of request, with intervals and the baseline's mark."""
    kinds = {kind: share for kind, share in ours.items() if share}
    canvas = Canvas(
        slug,
        WIDTH,
        60 + 34 * len(kinds),
        "Answered exactly as asked, by kind of request",
        "; ".join(f"{kind or 'no kind'}: {figure_words(share)}" for kind, share in kinds.items()),
    )
    x = linear(0, 1, 104, WIDTH - 76)
    for value in QUARTERS:
        canvas.line("grid", (x(value), 12), (x(value), canvas.height - 40))
        canvas.text(percent(value), (x(value), canvas.height - 22), "tick", "middle")
    for at, (kind, share) in enumerate(kinds.items()):
        y, other = 30 + 34 * at, bm25.get(kind)
        canvas.text(kind or "no kind", (94, y + 4), "label", "end")
        box = {"x": x(0), "y": y - 9, "width": max(x(share.value) - x(0), 1.0), "height": 18}
        canvas.shape("rect", "fill ours soft", figure_words(share), rx=3, **box)
        canvas.line("whisker ours", (x(share.low), y), (x(share.high), y))
        canvas.shape("circle", "dot ours", figure_words(share), cx=x(share.value), cy=y, r=4)
        if other:
            told = f"plain BM25: {figure_words(other)}"
            canvas.shape("rect", "fill bm25", told, x=x(other.value) - 1.5, y=y - 12, width=3, height=24)
        canvas.text(f"{share.successes}/{share.n}", (WIDTH - 8, y + 4), "tick", "end")
    rows = tuple(
        (kind or "no kind", figure_words(share), figure_words(other) if (other := bm25.get(kind)) else "-")
        for kind, share in kinds.items()
    )
    note = "The upright mark is plain BM25, which always answers with one skill."
    columns = ("kind", "PickySteve", "plain BM25")
    return Plot("By kind of request", note, canvas.markup(), Table(columns, rows))


def stage_plot(slug: str, stages: Mapping[str, Latency], workers: int) -> Plot:
    """Median and 95th percentile of each stage, on a logarithmic scale."""
    canvas = Canvas(
        slug,
        WIDTH,
        60 + 28 * len(stages),
        "Milliseconds of each stage",
        "; ".join(f"{name}: p50 {one.p50:.2f}, p95 {one.p95:.2f}" for name, one in stages.items()),
    )
    marks = [10.0**power for power in range(-2, 5)]
    low = max([mark for mark in marks if all(mark <= one.p50 for one in stages.values())] or marks[:1])
    high = min([mark for mark in marks if all(mark >= one.p95 for one in stages.values())] or marks[-1:])
    x = logarithmic(low, max(high, low * 10), 124, WIDTH - 92)
    for value in [mark for mark in marks if low <= mark <= max(high, low * 10)]:
        canvas.line("grid", (x(value), 12), (x(value), canvas.height - 40))
        canvas.text(f"{value:g} ms", (x(value), canvas.height - 22), "tick", "middle")
    for at, (name, one) in enumerate(stages.items()):
        y = 26 + 28 * at
        canvas.text(name, (114, y + 4), "label", "end")
        canvas.line("span ours", (x(one.p50), y), (x(one.p95), y))
        canvas.shape(
            "circle", "dot ours", f"{name}: p50 {one.p50:.2f} ms, n={one.n}", cx=x(one.p50), cy=y, r=4.5
        )
        canvas.shape(
            "circle", "ring ours", f"{name}: p95 {one.p95:.2f} ms, n={one.n}", cx=x(one.p95), cy=y, r=4.5
        )
        canvas.text(f"{one.p50:.1f} / {one.p95:.1f}", (WIDTH - 8, y + 4), "tick", "end")
    rows = tuple(
        (name, _times(one.p50, one.p50_interval), _times(one.p95, one.p95_interval), str(one.n))
        for name, one in stages.items()
    )
    busy = "one request at a time" if workers == 1 else f"{workers} requests at a time"
    note = f"Full dot: median; ring: 95th percentile. Measured with {busy}; the scale is logarithmic."
    return Plot("Time of each stage", note, canvas.markup(), Table(("stage", "p50 ms", "p95 ms", "n"), rows))


def _times(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
