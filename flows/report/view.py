"""What a page shows of a suite: its figures, plots and rows, worked out from the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from pickysteve.calibration.curves import confusions, reliability, risk_coverage, score_histogram
from pickysteve.calibration.figures import Area, Bound, Figures, Mean, Proportion
from pickysteve.calibration.measures import top1
from pickysteve.flows.report.bars import category_plot, interval_mark, stage_plot
from pickysteve.flows.report.plots import Plot, Table, reliability_plot, risk_plot, score_plot
from pickysteve.flows.report.words import (
    GROUPS,
    LABELS,
    OWN_ONLY,
    comparison_words,
    figure_of,
    figure_words,
    floor_words,
)
from pickysteve.flows.suite_rows import SuiteRow, read_rows
from pickysteve.flows.trifecta_report import SuiteReport, TrifectaReport, suite_folder

__all__ = ["FigureLine", "RowView", "SuiteView", "suite_view"]

CONFUSIONS = 15
UNBOUNDED = {"set_size", *GROUPS["speed"]}


@dataclass(frozen=True)
class FigureLine:
    """One line of the table of figures."""

    group: str
    label: str
    ours: str
    bm25: str
    mark: Markup


@dataclass(frozen=True)
class RowView:
    """One row of the suite, as a reader needs it to judge it."""

    id: str
    request: str
    asked: str
    given: str
    before: str
    right: bool
    best: str
    """The best skills with their scores."""


@dataclass(frozen=True)
class SuiteView:
    """Everything that the page shows of a suite."""

    name: str
    report: SuiteReport
    comparison: str
    floors: tuple[str, ...]
    figures: tuple[FigureLine, ...]
    plots: tuple[Plot, ...]
    confusions: Table
    changed: tuple[RowView, ...]
    wrong: tuple[RowView, ...]
    spread: Table


def suite_view(report: TrifectaReport, suite: SuiteReport, out: Path) -> SuiteView:
    """Work out the view of one suite; raises RunMissing when its rows are gone."""
    rows = read_rows(suite_folder(out, 1, suite.name))
    by_id = {row.id: row for row in rows}
    before = {changed.id: changed.before for changed in suite.comparison.changed}
    return SuiteView(
        name=suite.name,
        report=suite,
        comparison=comparison_words(suite.comparison),
        floors=tuple(floor_words(floor) for floor in suite.broken_floors),
        figures=tuple(_figure_lines(suite)),
        plots=_plots(suite, rows, report.workers),
        confusions=_confusion_table(rows),
        changed=tuple(_row_view(by_id[row_id], before[row_id]) for row_id in before if row_id in by_id),
        wrong=tuple(_row_view(row) for row in rows if not row.right),
        spread=_spread_table(suite),
    )


def _figure_lines(suite: SuiteReport) -> list[FigureLine]:
    lines = []
    for group, labels in GROUPS.items():
        for name, label in labels.items():
            ours = figure_of(suite.ours, name)
            if ours is not None:
                beside = None if name in OWN_ONLY else figure_of(suite.bm25, name)
                marks = [] if name in UNBOUNDED else [_marked("ours", ours), _marked("bm25", beside)]
                slug = f"{suite.name}-{name}"
                mark = interval_mark(slug, [m for m in marks if m], f"{label}, with interval")
                words = figure_words(beside) if beside else ""
                lines.append(FigureLine(group, label, figure_words(ours), words, mark))
    return lines


def _marked(classes: str, figure: Figures | None) -> tuple[str, float, float, float] | None:
    """A figure as a mark on a line from 0 to 1."""
    if isinstance(figure, Bound):
        return classes, figure.value, 0.0, figure.upper
    if isinstance(figure, Proportion | Area | Mean):
        return classes, figure.value, figure.low, figure.high
    return None


def _plots(suite: SuiteReport, rows: Sequence[SuiteRow], workers: int) -> tuple[Plot, ...]:
    seen = [row for row in rows if not row.must_block]
    scored = [row for row in seen if row.score is not None]
    kinds = {
        "right skill ranked first": [r.confidence for r in scored if r.first_is_right],
        "another skill ranked first": [r.confidence for r in scored if r.gold and not r.first_is_right],
        "nothing fits": [r.confidence for r in scored if not r.gold],
    }
    right = [row.first_is_right for row in seen]
    curves = {
        "PickySteve": risk_coverage([row.confidence for row in seen], right),
        "plain BM25": risk_coverage([row.bm25_score for row in seen], [_bm25_is_right(r) for r in seen]),
    }
    bins = reliability([row.confidence for row in scored], [row.first_is_right for row in scored])
    ours, name = suite.ours, suite.name
    return (
        score_plot(f"{name}-scores", {k: score_histogram(v) for k, v in kinds.items()}, suite.floor),
        category_plot(f"{name}-kinds", ours.right_by_category, suite.bm25.right_by_category),
        risk_plot(f"{name}-risk", curves, ours.answered, ours.wrong_pick),
        reliability_plot(f"{name}-reliability", bins),
        stage_plot(f"{name}-stages", ours.stages, workers),
    )


def _bm25_is_right(row: SuiteRow) -> bool:
    return top1(row.bm25_ranked, row.gold, row.accept)


def _confusion_table(rows: Sequence[SuiteRow]) -> Table:
    found = confusions(rows)[:CONFUSIONS]
    cells = tuple((one.expected, one.answered, str(one.count), ", ".join(one.rows)) for one in found)
    return Table(("asked for", "given", "rows", "which"), cells, words=(0, 1, 3))


def _row_view(row: SuiteRow, before: str = "") -> RowView:
    best = ", ".join(f"{skill} {score:.2f}" for skill, score in list(row.scores.items())[:3])
    return RowView(row.id, row.request, row.asked, row.given, before, row.right, best)


def _spread_table(suite: SuiteReport) -> Table:
    """Each figure's values over the runs, from the least to the greatest."""
    rows = []
    for name, values in suite.spread.items():
        known = [value for value in values if value is not None]
        if known:
            each = ", ".join(f"{value:.3g}" for value in known)
            rows.append((LABELS[name], f"{min(known):.4g}", f"{max(known):.4g}", each))
    return Table(("figure", "least", "most", "each run"), tuple(rows))
