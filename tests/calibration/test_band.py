"""The gray band: its edges keep their promises, and what they leave in between is what must be asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.calibration.band import Band, gray_band
from pickysteve.calibration.measures import clopper_pearson_upper

values = st.lists(st.integers(0, 20).map(lambda twentieth: twentieth / 20), max_size=120).map(np.array)


@settings(deadline=None)
@given(values, values, st.sampled_from([0.05, 0.2, 0.5]))
def test_both_bounds_hold_on_the_calibration_rows(
    ordinary: np.ndarray, attacks: np.ndarray, share: float
) -> None:
    band = gray_band(ordinary, attacks, missed=share, blocked=share)
    assert band.low <= band.high
    if band.low < band.high and band.low > 0:
        assert clopper_pearson_upper(int((attacks < band.low).sum()), len(attacks), 0.95) <= share
    if band.low < band.high and band.high <= 1:
        assert clopper_pearson_upper(int((ordinary >= band.high).sum()), len(ordinary), 0.95) <= share


def test_too_few_rows_promise_nothing_so_all_is_gray() -> None:
    band = gray_band(np.array([0.1] * 5), np.array([0.9] * 5), missed=0.05, blocked=0.05)
    assert band.low == 0.0 and band.high > 1.0
    assert band.share(np.array([0.0, 0.5, 1.0])) == 1.0


def test_well_parted_texts_need_no_second_judge() -> None:
    draw = np.random.default_rng(0)
    ordinary, attacks = draw.uniform(0, 0.4, 300), draw.uniform(0.6, 1, 300)
    band = gray_band(ordinary, attacks, missed=0.05, blocked=0.05)
    assert 0.35 < band.low == band.high < 0.65
    assert band.share(np.concatenate([ordinary, attacks])) < 0.05


def test_a_stricter_promise_makes_a_wider_band() -> None:
    draw = np.random.default_rng(1)
    ordinary, attacks = draw.normal(0.35, 0.15, 800).clip(0, 1), draw.normal(0.65, 0.15, 800).clip(0, 1)
    widths = [
        band.high - band.low
        for share in (0.2, 0.1, 0.05, 0.01)
        for band in [gray_band(ordinary, attacks, missed=share, blocked=share)]
    ]
    assert widths == sorted(widths) and widths[-1] > widths[0]


def test_the_promise_is_kept_in_at_least_nineteen_of_twenty_calibrations() -> None:
    draw = np.random.default_rng(2)
    # uniform scores: the share under an edge is the edge itself
    lows = [
        gray_band(draw.uniform(size=300), draw.uniform(size=300), missed=0.1, blocked=0.1).low
        for _ in range(300)
    ]
    assert np.mean(np.array(lows) > 0.1) <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
    assert np.mean(lows) > 0.03


@pytest.mark.parametrize(("score", "gray"), [(0.2, 0.0), (0.3, 1.0), (0.69, 1.0), (0.7, 0.0)])
def test_the_lower_edge_is_gray_and_the_upper_is_not(score: float, gray: float) -> None:
    assert Band(0.3, 0.7).share(np.array([score])) == gray


def test_no_texts_have_no_share() -> None:
    assert Band(0.3, 0.7).share(np.array([])) == 0.0
