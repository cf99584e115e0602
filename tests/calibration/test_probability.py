"""Probabilities: monotone in the score, and as often right as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.calibration.logit import sigmoid
from pickysteve.calibration.probability import Platt, fit_isotonic, fit_platt

log_odds = st.lists(st.floats(-8, 8), min_size=6, max_size=60)


def drawn(n: int, slope: float, constant: float) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    values = draw.normal(0, 2, size=n)
    return values, draw.uniform(size=n) < sigmoid(slope * values + constant)


@settings(deadline=None, max_examples=25)
@given(log_odds, st.randoms(use_true_random=False))
def test_a_higher_score_never_means_a_lower_probability(values: list[float], random) -> None:
    right = np.array([random.random() < 0.5 for _ in values])
    right[:2] = True, False
    ranked = np.sort(values)
    curve = fit_platt(np.array(values), right)
    assert (np.diff([curve.probability(value) for value in ranked]) >= 0).all()
    assert (np.diff(np.interp(ranked, *fit_isotonic(np.array(values), right))) >= -1e-12).all()


def test_the_curve_that_made_the_data_is_found() -> None:
    curve = fit_platt(*drawn(20_000, 0.8, -0.5))
    assert (curve.slope, curve.constant) == pytest.approx((0.8, -0.5), abs=0.08)


def test_a_score_that_misleads_gets_a_flat_curve() -> None:
    curve = fit_platt(*drawn(2_000, -1.0, 0.0))
    assert curve.slope == 0.0
    assert curve.probability(-5) == curve.probability(5)


def test_probabilities_stay_within_zero_and_one() -> None:
    curve = Platt(slope=1.0, constant=0.0)
    assert 0 <= curve.probability(-1e6) < curve.probability(0) < curve.probability(1e6) <= 1


@pytest.mark.parametrize(("right", "likely"), [([True] * 8, 0.9), ([False] * 8, 0.1)])
def test_one_outcome_alone_gives_a_flat_curve_that_is_not_certain(right, likely):
    curve = fit_platt(np.arange(8.0), np.array(right))
    assert curve.slope == 0
    assert curve.probability(3.0) == pytest.approx(likely, abs=1e-3)
