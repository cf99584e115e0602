from __future__ import annotations

import numpy as np
import pytest

from pickysteve.calibration.fitted import Weights
from pickysteve.calibration.logit import sigmoid
from pickysteve.tasks.engines.features import (
    EXAMPLE_FEATURES,
    REQUEST_FEATURES,
    TEXT_FEATURES,
    PairFeatures,
    pair_features,
)
from pickysteve.tasks.engines.reranker import EmbeddedReranker, class_columns
from pickysteve.tasks.values import Clause

ASKED = (Clause(text="sail", role="ask"),)
WEIGHTS = Weights(features={"text": 1.0}, constant=0.0)


def logit(scores: np.ndarray) -> np.ndarray:
    return np.log(scores / (1 - scores))


@pytest.fixture(scope="module")
def index(sketch, index_of):
    return index_of(
        sketch("boats", {"boats": (0, 1, 0)}, {"boats": "sail"}, examples={"trim it": (0, 1, 0)}),
        sketch("clocks", {"clocks": (0, 0.6, 0.8)}, {"clocks": "gear"}),
    )


@pytest.fixture(scope="module")
def lookup(table_encoder):
    return table_encoder({"sail": (0, 1, 0)})


def test_a_skill_is_weighed_by_whether_it_has_examples(index, lookup, calibration_with) -> None:
    calibration = calibration_with(
        with_examples=Weights(features={"examples": 2.0}, constant=-1.0),
        without_examples=Weights(features={"text": 3.0}, constant=-2.0),
        request=Weights(features={}, constant=0.0),
    )
    scores, features = EmbeddedReranker(lookup, calibration).scores("sail", ASKED, index)
    np.testing.assert_allclose(scores, sigmoid(np.array([2.0 * 1 - 1, 3.0 * 0.6 - 2])), atol=1e-6)
    of_pairs = pair_features("sail", ASKED, index, lookup)
    assert features.names == of_pairs.names + REQUEST_FEATURES
    np.testing.assert_array_equal(features.values[:, : -len(REQUEST_FEATURES)], of_pairs.values)


def test_the_length_of_the_request_moves_all_scores_alike(index, lookup, calibration_with) -> None:
    weights = {"with_examples": WEIGHTS, "without_examples": WEIGHTS}
    plain = calibration_with(**weights, request=Weights(features={}, constant=0.0))
    moved = calibration_with(**weights, request=Weights(features={"length": 2.0}, constant=-0.5))
    before, _ = EmbeddedReranker(lookup, plain).scores("sail", ASKED, index)
    after, features = EmbeddedReranker(lookup, moved).scores("sail", ASKED, index)
    length = np.log(3)
    assert features.values[:, features.names.index("length")].tolist() == pytest.approx([length, length])
    np.testing.assert_allclose(logit(after) - logit(before), 2 * length - 0.5)


def test_scores_lie_between_zero_and_one_even_for_extreme_weights(index, lookup, calibration_with) -> None:
    for constant in (-1e4, 1e4):
        weights = Weights(features={}, constant=constant)
        calibration = calibration_with(with_examples=weights, without_examples=weights)
        scores, _ = EmbeddedReranker(lookup, calibration).scores("sail", ASKED, index)
        assert ((scores >= 0) & (scores <= 1)).all()


def test_the_fingerprint_changes_with_the_encoder_and_the_calibration(
    lookup, table_encoder, calibration_with
) -> None:
    other = table_encoder({})
    other.fingerprint = "another"
    prints = {
        EmbeddedReranker(lookup, calibration_with()).fingerprint,
        EmbeddedReranker(lookup, calibration_with(floor=0.123)).fingerprint,
        EmbeddedReranker(other, calibration_with()).fingerprint,
    }
    assert len(prints) == 3
    assert EmbeddedReranker(lookup, calibration_with()).fingerprint in prints


def test_the_embedded_calibration_weighs_known_features_only(calibration_with) -> None:
    fitted = calibration_with().fitted
    assert set(fitted.with_examples.features) <= {*TEXT_FEATURES, *EXAMPLE_FEATURES}
    assert set(fitted.without_examples.features) <= set(TEXT_FEATURES)
    assert set(fitted.request.features) == set(REQUEST_FEATURES)


def test_the_columns_of_the_joint_fit_part_the_two_kinds_of_skills() -> None:
    names = TEXT_FEATURES + EXAMPLE_FEATURES
    values = np.arange(1.0, 1 + 2 * len(names)).reshape(2, -1)
    columns = class_columns(PairFeatures(names, values, np.array([True, False])))
    text = len(TEXT_FEATURES)
    assert columns.shape == (2, text + 1 + len(names) + 1)
    np.testing.assert_array_equal(columns[0], [*[0] * (text + 1), *values[0], 1])
    np.testing.assert_array_equal(columns[1], [*values[1, :text], 1, *[0] * (len(names) + 1)])


def test_one_fit_over_the_columns_gives_the_utilities_of_both_kinds() -> None:
    names = TEXT_FEATURES + EXAMPLE_FEATURES
    draw = np.random.default_rng(0)
    values = draw.normal(size=(2, len(names)))
    weights = draw.normal(size=len(TEXT_FEATURES) + 1 + len(names) + 1)
    utilities = class_columns(PairFeatures(names, values, np.array([True, False]))) @ weights
    text = len(TEXT_FEATURES)
    assert utilities[0] == pytest.approx(values[0] @ weights[text + 1 : -1] + weights[-1])
    assert utilities[1] == pytest.approx(values[1, :text] @ weights[:text] + weights[text])


def test_a_request_for_something_else_scores_under_the_floor(engines) -> None:
    text = "how long should I boil an egg at high altitude"
    scores, _ = engines.reranker.scores(text, (Clause(text=text, role="ask"),), engines.index)
    assert scores.max() < engines.calibration.fitted.floor


def test_the_same_request_scores_the_same(engines) -> None:
    first, _ = engines.reranker.scores("tune my query", ASKED, engines.index)
    second, _ = engines.reranker.scores("tune my query", ASKED, engines.index)
    np.testing.assert_array_equal(first, second)
