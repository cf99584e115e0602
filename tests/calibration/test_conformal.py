"""Prediction sets: the coverage that is promised is the coverage that is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.conformal import least_share, prediction_set

right_shares = st.lists(st.floats(0, 1), min_size=1, max_size=60)
coverages = st.sampled_from([0.5, 0.8, 0.9, 0.95])
sorted_shares = st.lists(st.floats(0, 1), max_size=8).map(lambda values: sorted(values, reverse=True))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), coverages)
def test_each_request_left_out_in_turn_is_covered_as_often_as_promised(
    values: list[float], coverage: float
) -> None:
    # exchangeable requests: any of them could have been the new one
    others = [np.array(values[:i] + values[i + 1 :]) for i in range(len(values))]
    kept = [value >= least_share(rest, coverage) for value, rest in zip(values, others, strict=True)]
    assert np.mean(kept) >= coverage - 1e-9


def test_coverage_is_not_far_above_the_promise() -> None:
    draw = np.random.default_rng(0)
    threshold = least_share(draw.uniform(size=1000), 0.9)
    assert threshold == pytest.approx(0.1, abs=0.02)


@given(right_shares)
def test_more_coverage_never_means_a_higher_threshold(values: list[float]) -> None:
    thresholds = [least_share(np.array(values), coverage) for coverage in (0.5, 0.8, 0.9, 0.99)]
    assert thresholds == sorted(thresholds, reverse=True)


def test_too_few_requests_promise_nothing_but_everything() -> None:
    assert least_share(np.array([0.9] * 5), 0.9) == 0.0


def test_the_threshold_does_not_depend_on_the_order() -> None:
    values = np.linspace(0.1, 0.9, 30)
    assert least_share(values, 0.8) == least_share(values[::-1], 0.8)


@given(sorted_shares, st.floats(0, 1), st.integers(1, 5))
def test_a_set_is_never_empty_where_there_is_a_candidate_and_never_too_large(
    values: list[float], threshold: float, largest: int
) -> None:
    size = prediction_set(values, threshold, largest)
    assert min(len(values), 1) <= size <= min(len(values), largest)


@given(sorted_shares, st.floats(0, 1))
def test_a_set_holds_exactly_what_reaches_the_threshold(values: list[float], threshold: float) -> None:
    size = prediction_set(values, threshold, largest=len(values) or 1)
    assert all(share >= threshold for share in values[1:size])
    assert all(share < threshold for share in values[size:])


def test_a_share_on_the_threshold_is_in() -> None:
    assert prediction_set([0.5, 0.2, 0.1], 0.2, largest=3) == 2
