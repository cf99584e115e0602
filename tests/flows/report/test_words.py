from __future__ import annotations

from pathlib import Path

from pickysteve.calibration.figures import Area, Bound, Mean, Proportion
from pickysteve.calibration.metrics import Summary
from pickysteve.calibration.paired import Paired
from pickysteve.flows.report.words import GROUPS, LABELS, comparison_words, figure_words, markdown_summary
from pickysteve.flows.suite_table import FIGURES
from pickysteve.flows.trifecta_baseline import Comparison


def test_figures_carry_their_n_and_interval() -> None:
    assert figure_words(Proportion(successes=3, n=4, low=0.3, high=0.95)) == "3/4 = 75.0% [30.0%, 95.0%]"
    assert figure_words(Bound(errors=1, n=20, upper=0.216)) == "1/20 = 5.0% [at most 21.6%]"
    assert figure_words(Mean(value=12.3, n=7, low=10, high=15)) == "12.3 (n=7) [10.0, 15.0]"
    assert figure_words(Area(value=0.9, positives=3, negatives=2, low=0.5, high=1)).startswith("0.900 (n=5)")
    assert figure_words(None) == "-"


def test_every_figure_that_a_floor_may_name_has_a_label() -> None:
    assert set(FIGURES) - {"n"} == set(LABELS)
    assert set(LABELS) <= set(Summary.model_fields)
    assert sum(len(group) for group in GROUPS.values()) == len(LABELS)


def test_a_comparison_names_the_first_rows_and_counts_the_rest() -> None:
    rows = tuple(f"r{number:02}" for number in range(25))
    paired = Paired(n=90, newly_wrong=rows, newly_right=(), p_value=0.0001)
    words = comparison_words(Comparison(state="compared", paired=paired, adjusted_p=0.0002))
    assert words.startswith("significantly worse")
    assert "r19 and 5 more" in words
    assert "r20" not in words


def test_without_a_comparable_baseline_the_command_is_named() -> None:
    assert "--accept" in comparison_words(Comparison(state="no_baseline"))
    assert "--accept" in comparison_words(Comparison(state="dataset_changed"))


def test_the_markdown_holds_the_figures_and_escapes_what_a_page_would_render(tiny_run) -> None:
    report, _ = tiny_run
    (suite,) = report.suites
    paired = Paired(n=19, newly_wrong=("[x](javascript:alert(1))<b>|",), newly_right=(), p_value=0.001)
    comparison = Comparison(state="compared", paired=paired, adjusted_p=0.001)
    hostile = report.model_copy(update={"suites": (suite.model_copy(update={"comparison": comparison}),)})
    words = markdown_summary(hostile, Path("/out/report.html"))
    assert figure_words(suite.ours.right) in words
    assert "[x](javascript" not in words
    assert "<b>" not in words
