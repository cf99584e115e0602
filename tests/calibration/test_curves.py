from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.curves import (
    confusions,
    expected_calibration_error,
    reliability,
    risk_coverage,
    score_histogram,
)
from pickysteve.calibration.metrics import Row

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.booleans()), max_size=40)


def row(number: int, **changes: object) -> Row:
    fields = {"id": str(number), "category": "", "gold": ("a",), "status": "ok", "picks": ("a",)}
    return Row.model_validate(fields | {"milliseconds": 1.0} | changes)


@given(scored)
def test_every_row_stands_in_one_bin_of_the_histogram_and_of_the_reliability(rows: list) -> None:
    scores, right = [score for score, _ in rows], [hit for _, hit in rows]
    assert sum(score_histogram(scores)) == len(rows)
    bins = reliability(scores, right)
    assert sum(one.right.n for one in bins) == len(rows)
    assert sum(one.right.successes for one in bins) == sum(right)
    assert all(one.low <= one.mean_score <= one.high + 1e-12 for one in bins)


def test_the_calibration_error_weighs_the_bins_by_their_rows() -> None:
    bins = reliability([0.1, 0.1, 0.9, 0.9], [False, False, True, False], bins=2)
    assert expected_calibration_error(bins) == pytest.approx((0.1 + 0.4) / 2)
    assert expected_calibration_error(()) is None


def test_risk_rises_with_coverage_when_the_scores_are_good() -> None:
    curve = risk_coverage([0.9, 0.8, 0.7, 0.6], [True, True, False, False])
    assert curve.coverage == (0.25, 0.5, 0.75, 1.0)
    assert curve.risk == pytest.approx((0, 0, 1 / 3, 0.5))
    assert curve.area == pytest.approx((0 + 0 + 1 / 3 + 0.5) / 4)


@given(scored)
def test_ties_are_answered_together_and_all_rows_at_the_end(rows: list) -> None:
    scores, right = [score for score, _ in rows], [hit for _, hit in rows]
    curve = risk_coverage(scores, right)
    assert len(curve.coverage) == len(set(scores))
    if rows:
        assert curve.coverage[-1] == 1.0
        assert curve.risk[-1] == pytest.approx(1 - np.mean(right))


def test_confusions_name_what_was_asked_and_what_was_given_instead() -> None:
    rows = [
        row(1, picks=("b",)),
        row(2, picks=("b",)),
        row(3),
        row(4, gold=(), picks=("c",)),
        row(5, status="no_confident_match", picks=()),
        row(6, status="blocked_request", picks=()),
    ]
    found = [(one.expected, one.answered, one.count) for one in confusions(rows)]
    assert found == [
        ("a", "b", 2),
        ("(nothing fits)", "c", 1),
        ("a", "(abstained)", 1),
        ("a", "(blocked)", 1),
    ]
    assert confusions(rows)[0].rows == ("1", "2")
