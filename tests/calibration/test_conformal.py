"""Prediction sets: the coverage that is promised is the coverage that is kept."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.conformal import aps_mass, aps_set, largest_mass, least_share, prediction_set

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
    masses = [value <= largest_mass(rest, coverage) for value, rest in zip(values, others, strict=True)]
    assert np.mean(masses) >= coverage - 1e-9


def test_coverage_is_not_far_above_the_promise() -> None:
    draw = np.random.default_rng(0)
    assert least_share(draw.uniform(size=1000), 0.9) == pytest.approx(0.1, abs=0.02)
    assert largest_mass(draw.uniform(size=1000), 0.9) == pytest.approx(0.9, abs=0.02)


@given(right_shares)
def test_more_coverage_never_means_a_smaller_set(values: list[float]) -> None:
    asked = (0.5, 0.8, 0.9, 0.99)
    thresholds = [least_share(np.array(values), coverage) for coverage in asked]
    assert thresholds == sorted(thresholds, reverse=True)
    masses = [largest_mass(np.array(values), coverage) for coverage in asked]
    assert masses == sorted(masses)


def test_too_few_requests_promise_nothing_but_everything() -> None:
    assert least_share(np.array([0.9] * 5), 0.9) == 0.0
    assert largest_mass(np.array([0.9] * 5), 0.9) == math.inf


def test_the_threshold_does_not_depend_on_the_order() -> None:
    values = np.linspace(0.1, 0.9, 30)
    assert least_share(values, 0.8) == least_share(values[::-1], 0.8)
    assert largest_mass(values, 0.8) == largest_mass(values[::-1], 0.8)


@given(sorted_shares, st.floats(0, 1), st.integers(1, 5))
def test_a_set_is_never_too_large(values: list[float], threshold: float, largest: int) -> None:
    assert 0 <= prediction_set(values, threshold, largest) <= min(len(values), largest)


@given(sorted_shares, st.floats(0, 1))
def test_a_set_holds_exactly_what_reaches_the_threshold(values: list[float], threshold: float) -> None:
    size = prediction_set(values, threshold, largest=len(values) or 1)
    assert all(share >= threshold for share in values[:size])
    assert all(share < threshold for share in values[size:])


def test_a_share_on_the_threshold_is_in() -> None:
    assert prediction_set([0.5, 0.2, 0.1], 0.2, largest=3) == 2


@given(sorted_shares, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_sets_of_a_higher_threshold_hold_those_of_a_lower_one(
    values: list[float], one: float, other: float, draw: float
) -> None:
    shares, (low, high) = np.array(values), sorted((one, other))
    assert aps_set(shares, low, draw) <= aps_set(shares, high, draw)


@given(sorted_shares.filter(bool), st.data())
def test_the_set_at_its_own_mass_holds_the_right_candidate(values: list[float], data) -> None:
    shares, draw = np.array(values) + 0.01, data.draw(st.floats(0.01, 1))
    right = data.draw(st.integers(0, len(values) - 1))
    assert aps_set(shares, aps_mass(shares, right, draw), draw) > right


@pytest.mark.parametrize("kind", ["lac", "aps"])
def test_in_simulation_both_kinds_keep_the_coverage(kind: str) -> None:
    draw = np.random.default_rng(7)
    covered = []
    for _ in range(200):
        shares = -np.sort(-draw.dirichlet(np.full(6, 0.4), size=101), axis=1)
        right = np.array([draw.choice(6, p=row) for row in shares])
        luck = draw.uniform(size=101)
        own = shares[np.arange(101), right]
        if kind == "lac":
            size = prediction_set(shares[-1].tolist(), least_share(own[:-1], 0.9), 6)
        else:
            masses = [aps_mass(shares[i], right[i], luck[i]) for i in range(100)]
            size = aps_set(shares[-1], largest_mass(np.array(masses), 0.9), luck[-1])
        covered.append(right[-1] < size)
    # 0.9 of 200 within three standard errors, from both sides: wider sets would be no feat
    assert abs(np.mean(covered) - 0.9) <= 3 * (0.9 * 0.1 / 200) ** 0.5
