"""Risk control: the bound holds on the calibration rows, and the promise on rows to come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.calibration.measures import clopper_pearson_upper
from pickysteve.calibration.risk import least_answered, risk_controlled_floor

# tenths, so that ties are common
scores = st.integers(0, 10).map(lambda tenths: tenths / 10)
graded = st.lists(st.tuples(scores, st.floats(0, 1)), min_size=1, max_size=150)
risks = st.sampled_from([0.05, 0.1, 0.2, 0.5])


# the first call loads scipy
@settings(deadline=None)
@given(graded, st.floats(0, 0.3), risks)
def test_the_bound_is_kept_on_the_calibration_rows(
    rows: list[tuple[float, float]], error_rate: float, risk: float
) -> None:
    values = np.array([score for score, _ in rows])
    right = np.array([luck >= error_rate for _, luck in rows])
    found = risk_controlled_floor(values, right, risk)
    if found is None:
        return
    answered = values >= found.floor
    assert answered.sum() == found.answered >= least_answered(risk, 0.95)
    assert (answered & ~right).sum() == found.wrong
    assert clopper_pearson_upper(found.wrong, found.answered, 0.95) == found.bound <= risk
    assert found.coverage == answered.mean()


@settings(deadline=None)
@given(graded, risks)
def test_the_order_of_requests_does_not_matter(rows: list[tuple[float, float]], risk: float) -> None:
    values = np.array([score for score, _ in rows])
    right = np.array([luck > 0.05 for _, luck in rows])
    backwards = risk_controlled_floor(values[::-1], right[::-1], risk)
    assert risk_controlled_floor(values, right, risk) == backwards


@pytest.mark.parametrize(("risk", "least"), [(0.05, 59), (0.1, 29), (0.2, 14)])
def test_the_least_rows_are_those_of_which_all_must_be_right(risk: float, least: int) -> None:
    assert least_answered(risk, 0.95) == least
    assert clopper_pearson_upper(0, least, 0.95) <= risk < clopper_pearson_upper(0, least - 1, 0.95)
    values = np.linspace(1, 0.5, least)
    assert risk_controlled_floor(values[:-1], np.ones(least - 1, bool), risk) is None
    found = risk_controlled_floor(values, np.ones(least, bool), risk)
    assert found is not None and found.answered == least


def test_where_every_pick_is_wrong_nothing_is_promised() -> None:
    assert risk_controlled_floor(np.linspace(0, 1, 500), np.zeros(500, bool), 0.2) is None


def test_a_looser_promise_never_answers_less() -> None:
    draw = np.random.default_rng(5)
    values = draw.uniform(size=600)
    right = draw.uniform(size=600) < 0.6 + 0.4 * values
    answered = [
        found.answered if (found := risk_controlled_floor(values, right, risk)) else 0
        for risk in (0.05, 0.1, 0.2, 0.3)
    ]
    assert answered == sorted(answered) and answered[-1] > answered[0]


@pytest.mark.parametrize("n", [214, 600])
def test_the_promise_is_kept_in_at_least_nineteen_of_twenty_calibrations(n: int) -> None:
    draw = np.random.default_rng(1)
    broken = promised = 0
    for _ in range(400):
        values = draw.uniform(size=n)
        # wrong with probability (1 - score) / 2: above a floor f, a share (1 - f) / 4 of picks is wrong
        right = draw.uniform(size=n) >= (1 - values) / 2
        found = risk_controlled_floor(values, right, 0.2)
        if found is not None:
            promised += 1
            broken += (1 - found.floor) / 4 > 0.2
    assert promised > 200
    # 5 % of 400 with three standard errors
    assert broken / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize(
    ("risk", "confidence"), [(0.0, 0.95), (1.0, 0.95), (-0.1, 0.95), (0.05, 1.0), (0.05, 0.0)]
)
def test_what_nothing_can_promise_is_refused(risk: float, confidence: float) -> None:
    with pytest.raises(ValueError, match="cannot be promised"):
        risk_controlled_floor(np.linspace(0, 1, 500), np.ones(500, bool), risk, confidence)


@pytest.mark.parametrize("values", [[0.5, float("nan")], [0.5], [0.5, float("inf")]])
def test_rows_that_are_no_scores_give_no_floor(values: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite score"):
        risk_controlled_floor(np.array(values), np.ones(2, bool), 0.2)
