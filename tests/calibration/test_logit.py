"""The conditional logit against its definition, and fits against what generated the data."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.logit import Choice, fit_rescaling, fit_weights, shares, sigmoid

utilities = st.lists(st.floats(-800, 800), max_size=8).map(np.array)
NONE = np.array([], dtype=np.intp)


def simulated(count: int, weights: list[float], seed: int = 0, candidates: int = 5) -> list[Choice]:
    """Choices drawn from the model itself; the last column is a constant."""
    draw = np.random.default_rng(seed)
    choices = []
    for _ in range(count):
        rows = np.hstack([draw.normal(size=(candidates, len(weights) - 1)), np.ones((candidates, 1))])
        chances = shares(rows @ np.array(weights))
        picked = draw.choice(candidates + 1, p=np.append(chances, 1 - chances.sum()))
        choices.append(Choice(rows, NONE if picked == candidates else np.array([picked])))
    return choices


def log_likelihood(choices: list[Choice], weights: np.ndarray) -> float:
    """By the definition, in the plainest form."""
    total = 0.0
    for choice in choices:
        odds = np.exp(choice.features @ weights)
        chance = odds[choice.right].sum() if choice.right.size else 1.0
        total += math.log(chance / (1 + odds.sum()))
    return total / len(choices)


@given(utilities)
def test_shares_and_the_share_of_none_sum_to_1(u: np.ndarray) -> None:
    share = shares(u)
    assert np.all((share >= 0) & (share <= 1))
    assert share.sum() <= 1 + 1e-9
    top = max(u.max(initial=0.0), 0.0)
    none = math.exp(-top) / (np.exp(u - top).sum() + math.exp(-top))
    assert share.sum() + none == pytest.approx(1)


@given(utilities)
def test_a_better_candidate_never_has_the_smaller_share(u: np.ndarray) -> None:
    order = np.argsort(u)
    assert np.all(np.diff(shares(u)[order]) >= 0)


@given(st.floats(-800, 800))
def test_a_candidate_alone_has_the_sigmoid_for_its_share(u: float) -> None:
    assert shares(np.array([u]))[0] == pytest.approx(sigmoid(np.array([u]))[0], abs=1e-12)


@given(st.floats(-800, 800))
def test_the_sigmoid_is_symmetric_and_does_not_overflow(u: float) -> None:
    both = sigmoid(np.array([u, -u]))
    assert both.sum() == pytest.approx(1)
    assert np.all((both >= 0) & (both <= 1))


def test_equal_candidates_at_utility_0_share_with_none() -> None:
    np.testing.assert_allclose(shares(np.zeros(3)), [0.25, 0.25, 0.25])


def test_no_candidates_have_no_shares() -> None:
    assert shares(np.array([])).shape == (0,)


def test_a_fit_finds_the_weights_that_made_the_choices() -> None:
    truth = [2.0, -1.0, 0.0, -0.5]
    fitted = fit_weights(simulated(2000, truth), l2=0.0, free=[3])
    np.testing.assert_allclose(fitted, truth, atol=0.15)


def test_no_neighbour_of_a_fit_is_likelier() -> None:
    choices = simulated(400, [1.0, -1.0, 0.3])
    fitted = fit_weights(choices, l2=0.0, free=[2])
    best = log_likelihood(choices, fitted)
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 0.05:
        assert log_likelihood(choices, fitted + step) < best


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_the_unit_of_a_feature_does_not_change_what_is_predicted(factor: float) -> None:
    choices = simulated(300, [1.5, -0.7, 0.2])
    scaled = [Choice(choice.features * [factor, 1, 1], choice.right) for choice in choices]
    one = fit_weights(choices, l2=0.05, free=[2])
    other = fit_weights(scaled, l2=0.05, free=[2])
    np.testing.assert_allclose(other * [factor, 1, 1], one, atol=1e-3)


def test_more_ridge_means_smaller_weights_but_not_a_smaller_constant() -> None:
    choices = simulated(500, [2.0, -1.0, 1.0])
    sizes = [np.abs(fit_weights(choices, l2, free=[2])[:2]).sum() for l2 in (0.0, 0.1, 10.0)]
    assert sizes[0] > sizes[1] > sizes[2]
    nothing_fitted = fit_weights(choices, 1e6, free=[2])
    answered = np.mean([choice.right.size > 0 for choice in choices])
    # with the features gone, the constant alone gives the share of requests that were answered
    assert 5 * math.exp(nothing_fitted[2]) == pytest.approx(answered / (1 - answered), rel=0.02)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -7.3])
def test_a_feature_that_never_varies_keeps_weight_0(value: float) -> None:
    choices = [
        Choice(np.insert(choice.features, 0, value, axis=1), choice.right)
        for choice in simulated(200, [1.0, 0.5])
    ]
    fitted = fit_weights(choices, l2=0.05, free=[2])
    assert fitted[0] == 0
    np.testing.assert_allclose(fitted[1:], fit_weights(simulated(200, [1.0, 0.5]), 0.05, [1]), atol=1e-3)


def test_the_order_of_requests_does_not_matter() -> None:
    choices = simulated(200, [1.0, -1.0, 0.3])
    there, back = (fit_weights(order, 0.03, [2]) for order in (choices, choices[::-1]))
    np.testing.assert_allclose(there, back, atol=1e-3)


def test_either_of_two_right_candidates_will_do() -> None:
    # nothing tells the two right rows apart, so they are right together: a third of the mass is not lost
    rows = np.array([[1.0], [1.0], [-1.0]])
    fitted = fit_weights([Choice(rows, np.array([0, 1]))], l2=0.01, free=[])
    assert shares(rows @ fitted)[:2].sum() > 0.8


def test_a_rescaling_of_calibrated_utilities_changes_nothing() -> None:
    truth = np.array([1.5, -0.5])
    choices = [
        Choice(np.stack([c.features @ truth, np.ones(len(c.features))], axis=1), c.right)
        for c in simulated(3000, list(truth))
    ]
    scale, bias = fit_rescaling(choices)
    assert (scale, bias) == (pytest.approx(1, abs=0.1), pytest.approx(0, abs=0.1))


@pytest.mark.parametrize("temperature", [0.25, 4.0])
def test_a_rescaling_undoes_overconfidence_and_its_opposite(temperature: float) -> None:
    truth = np.array([1.5, -0.5])
    choices = [
        Choice(np.stack([c.features @ truth * temperature, np.ones(len(c.features))], axis=1), c.right)
        for c in simulated(1500, list(truth))
    ]
    assert fit_rescaling(choices)[0] == pytest.approx(1 / temperature, rel=0.1)
