"""Figures in words: the label of each, the value with its n and interval, and the outcome in a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pickysteve.calibration.figures import Area, Bound, Figures, Mean, Proportion
from pickysteve.calibration.metrics import Summary

if TYPE_CHECKING:
    from pickysteve.flows.trifecta_baseline import BrokenFloor, Comparison
    from pickysteve.flows.trifecta_report import SuiteReport, TrifectaReport

__all__ = [
    "GROUPS",
    "LABELS",
    "OWN_ONLY",
    "comparison_words",
    "figure_of",
    "figure_words",
    "floor_words",
    "markdown_summary",
    "outcome_words",
]

GROUPS = {
    "picking": {
        "right": "answered exactly as asked",
        "top1_picked": "top-1, picked (an abstention is a miss)",
        "compound_exact": "compound, exact set",
        "compound_f1": "compound, F1",
        "trap_leak": "trap picked first",
        "answered": "answered at the thresholds in use",
        "wrong_pick": "wrong among the answered",
        "coverage_at_5_risk": "coverage at 5 % wrong",
    },
    "ranking": {
        "top1_ranked": "top-1, ranked first",
        "recall_at_5": "recall@5",
        "mrr": "MRR",
        "set_coverage": "right skill in the prediction set",
        "set_size": "mean prediction set",
        "ambiguous": "ambiguous",
    },
    "abstaining": {
        "no_match_rejection": "no-match rejected",
        "false_pick": "no-match, falsely picked",
        "no_match_auroc": "no-match AUROC",
    },
    "gate": {
        "blocked": "blocked by the gate, wrongly",
        "injected_passed": "passed by the gate, wrongly",
    },
    "speed": {"p50_milliseconds": "p50 ms", "p95_milliseconds": "p95 ms"},
}
LABELS = {name: label for group in GROUPS.values() for name, label in group.items()}
OWN_ONLY = {
    "right",
    "compound_exact",
    "compound_f1",
    "no_match_rejection",
    "false_pick",
    "answered",
    "set_coverage",
    "set_size",
    "ambiguous",
    "blocked",
    "injected_passed",
}
"""What plain BM25 cannot do: it always answers, with one skill."""
NAMED_ROWS = 20


def figure_of(summary: Summary, name: str) -> Figures | None:
    """A figure of the summary with its n and interval; the times of whole requests have theirs too."""
    if name in GROUPS["speed"]:
        total = summary.stages.get("total")
        if total is None:
            return None
        value, (low, high) = (
            (total.p50, total.p50_interval) if name.startswith("p50") else (total.p95, total.p95_interval)
        )
        return Mean(value=value, n=total.n, low=low, high=high)
    figure: Figures | None = getattr(summary, name)
    return figure


def figure_words(figure: Figures | None) -> str:
    """A figure with its n and 95 % interval; "-" where no row bears on it."""
    if isinstance(figure, Proportion):
        return f"{figure.successes}/{figure.n} = {figure.value:.1%} [{figure.low:.1%}, {figure.high:.1%}]"
    if isinstance(figure, Bound):
        return f"{figure.errors}/{figure.n} = {figure.value:.1%} [at most {figure.upper:.1%}]"
    if isinstance(figure, Mean | Area):
        digits = 3 if figure.value < 10 else 1
        interval = f"[{figure.low:.{digits}f}, {figure.high:.{digits}f}]"
        return f"{figure.value:.{digits}f} (n={figure.n}) {interval}"
    return "-"


def outcome_words(report: TrifectaReport) -> str:
    """What the outcome rests on, naming rows that are newly wrong."""
    told = [words for suite in report.suites for words in _suite_words(suite)]
    return "; ".join(told) + "."


def markdown_summary(report: TrifectaReport, page: Path) -> str:
    """The figures of all suites as a table; names and ids are escaped, as a page would render them."""
    shown = [name for name in LABELS if any(figure_of(suite.ours, name) for suite in report.suites)]
    head = ["figure", *(_escaped(suite.name) for suite in report.suites)]
    rows = [
        [LABELS[name], *(figure_words(figure_of(suite.ours, name)) for suite in report.suites)]
        for name in shown
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    told = [f"- {_escaped(words)}" for suite in report.suites for words in _suite_words(suite)]
    return "\n".join([f"# {report.outcome}", "", *told, "", *lines, "", f"Page: {_escaped(str(page))}", ""])


def _escaped(words: str) -> str:
    return re.sub(r"([\\`*_{}\[\]()#+!|~>-])", r"\\\1", escape(words, quote=False))


def _suite_words(suite: SuiteReport) -> list[str]:
    told = [f"{suite.name}: {comparison_words(suite.comparison)}"]
    return told + [f"{suite.name}: {floor_words(floor)}" for floor in suite.broken_floors]


def comparison_words(comparison: Comparison) -> str:
    """What the paired comparison says, or what to do where there is none."""
    if comparison.state == "no_baseline":
        return 'no baseline yet, "pickysteve trifecta --accept" records one'
    if comparison.state == "dataset_changed" or comparison.paired is None:
        return (
            "its data changed since the baseline was accepted, so the rows cannot be paired: "
            'look at the report, then run "pickysteve trifecta --accept"'
        )
    paired = comparison.paired
    words = "significantly worse" if comparison.regressed else "not significantly worse"
    counts = f"{len(paired.newly_wrong)} rows newly wrong, {len(paired.newly_right)} newly right"
    named = f" ({_named(paired.newly_wrong)})" if paired.newly_wrong else ""
    return (
        f"{words} than the baseline, {counts} of {paired.n}{named}, adjusted p = {comparison.adjusted_p:.3g}"
    )


def floor_words(floor: BrokenFloor) -> str:
    """A broken floor with the rows that broke it."""
    value = "nothing" if floor.value is None else f"{floor.value:.3g}"
    named = f" ({_named(floor.rows)})" if floor.rows else ""
    return f"{LABELS.get(floor.figure, floor.figure)} is {value}, and {floor.allowed} is allowed{named}"


def _named(rows: Sequence[str]) -> str:
    more = f" and {len(rows) - NAMED_ROWS} more" if len(rows) > NAMED_ROWS else ""
    return ", ".join(rows[:NAMED_ROWS]) + more
