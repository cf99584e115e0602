from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.curves import reliability, risk_coverage
from pickysteve.calibration.figures import latency, share
from pickysteve.flows.report.bars import category_plot, interval_mark, stage_plot
from pickysteve.flows.report.plots import reliability_plot, risk_plot, score_plot
from pickysteve.flows.report.svg import Canvas, linear, logarithmic


def test_scales_map_ends_to_ends() -> None:
    assert [linear(0, 10, 100, 200)(value) for value in (0, 5, 10)] == [100, 150, 200]
    assert linear(1, 1, 0, 9)(1) == 0
    scale = logarithmic(0.1, 1000, 0, 40)
    assert [round(scale(value), 6) for value in (0.1, 1, 1000)] == [0, 10, 40]
    assert scale(0.0) == 0


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn"))))
def test_any_words_are_drawn_as_words(words: str) -> None:
    canvas = Canvas("slug", 10, 10, words, words)
    canvas.text(words, (1, 2))
    drawn = fromstring(str(canvas.markup()))
    assert [element.text or "" for element in drawn] == [words] * 3


@pytest.mark.parametrize("count", [0, 1, 7])
def test_plots_of_few_or_no_rows_are_drawn(count: int) -> None:
    scores, right = [0.5] * count, [True] * count
    curve = risk_coverage(scores, right)
    times = {"route": latency([0.0] * count), "total": latency([2e5] * count)}
    plots = [
        score_plot("a", {"right": [count] * 20, "wrong": [0] * 20}, 0.6),
        reliability_plot("b", reliability(scores, right)),
        risk_plot("c", {"ours": curve, "bm25": curve}, share(right), None),
        category_plot("d", {"": share(right)}, {}),
        stage_plot("e", {name: figure for name, figure in times.items() if figure}, 1),
    ]
    for plot in plots:
        assert fromstring(str(plot.svg)).tag == "svg"
        assert "nan" not in str(plot.svg)


def test_the_numbers_of_a_plot_are_those_that_it_draws() -> None:
    plot = category_plot("d", {"terse": share([True, False])}, {"terse": share([False, False])})
    assert plot.table.rows[0][0] == "terse"
    assert plot.table.rows[0][1].startswith("1/2 = 50.0%")
    assert plot.table.rows[0][2].startswith("0/2")


def test_a_mark_without_figures_is_nothing() -> None:
    assert interval_mark("slug", [], "words") == ""
