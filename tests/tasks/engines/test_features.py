from __future__ import annotations

import numpy as np
import pytest

from pickysteve.tasks.engines.features import (
    EXAMPLE_FEATURES,
    REQUEST_FEATURES,
    TEXT_FEATURES,
    PairFeatures,
    pair_features,
    request_features,
)
from pickysteve.tasks.values import Clause

ASKED = (Clause(text="sail the boat", role="ask"),)
RULED_OUT = Clause(text="the clock is fine", role="ruled_out")


@pytest.fixture(scope="module")
def index(sketch, index_of):
    return index_of(
        sketch("apples", {"apples": (1, 0, 0)}, {"apples": "orchard fruit cider"}),
        sketch(
            "boats",
            {"boats": (0, 1, 0), "boats/knots": (0, 1, 1)},
            {"boats": "sail harbour boat"},
            examples={"trim the sail": (0, 1, 0.1), "moor it": (0, 1, -0.1)},
        ),
        sketch("clocks", {"clocks": (0, 0, 1)}, {"clocks": "pendulum clock"}),
    )


@pytest.fixture(scope="module")
def lookup(table_encoder):
    return table_encoder(
        {"sail the boat": (0, 1, 0), "the clock is fine": (0, 0, 1), "both": (0, 1, 1), "nothing": (1, 1, 1)}
    )


def column(features: PairFeatures, name: str) -> np.ndarray:
    return features.values[:, features.names.index(name)]


def test_there_is_a_row_for_each_unit_and_a_named_column_for_each_feature(index, lookup) -> None:
    features = pair_features("sail the boat", ASKED, index, lookup)
    assert features.names == TEXT_FEATURES + EXAMPLE_FEATURES
    assert len(set(features.names)) == len(features.names)
    assert features.values.shape == (4, len(features.names))
    assert np.isfinite(features.values).all()


def test_a_skill_without_examples_has_zeros_in_the_example_columns(index, lookup) -> None:
    features = pair_features("sail the boat", ASKED, index, lookup)
    assert features.has_examples.tolist() == [False, True, True, False]
    example_columns = features.values[:, len(TEXT_FEATURES) :]
    assert not example_columns[~features.has_examples].any()
    assert column(features, "examples")[1] == pytest.approx(np.cos(np.arctan(0.1)), abs=1e-6)
    assert column(features, "centroid")[1] == pytest.approx(1.0)


def test_units_of_one_skill_share_their_examples(index, lookup) -> None:
    values = pair_features("sail the boat", ASKED, index, lookup).values[:, len(TEXT_FEATURES) :]
    np.testing.assert_array_equal(values[1], values[2])


def test_without_any_examples_the_example_columns_are_zero(sketch, index_of, lookup) -> None:
    index = index_of(sketch("apples", {"apples": (1, 0, 0)}), sketch("boats", {"boats": (0, 1, 0)}))
    features = pair_features("sail the boat", ASKED, index, lookup)
    assert not features.has_examples.any()
    assert not features.values[:, len(TEXT_FEATURES) :].any()


def test_a_clause_that_is_ruled_out_moves_no_column(index, lookup) -> None:
    without = pair_features("both", ASKED, index, lookup)
    beside = pair_features("both", (*ASKED, RULED_OUT), index, lookup)
    np.testing.assert_array_equal(without.values, beside.values)


def test_a_clause_that_asks_moves_the_asked_columns_alone(index, lookup) -> None:
    without = pair_features("both", ASKED, index, lookup)
    asking = RULED_OUT.model_copy(update={"role": "ask"})
    beside = pair_features("both", (*ASKED, asking), index, lookup)
    moved = [n for n in without.names if not np.allclose(column(without, n), column(beside, n))]
    assert moved == [name for name in without.names if name.startswith("asked_")]


def test_where_all_is_ruled_out_the_query_itself_is_asked(index, lookup) -> None:
    denied = pair_features("both", (RULED_OUT,), index, lookup)
    asked = pair_features("both", (Clause(text="both", role="ask"),), index, lookup)
    np.testing.assert_array_equal(denied.values, asked.values)


def test_the_unit_that_is_meant_leads_in_every_text_column(index, lookup) -> None:
    features = pair_features("sail the boat", ASKED, index, lookup)
    for name in TEXT_FEATURES:
        assert column(features, name).argmax() == 1, name


def test_units_that_mean_the_same_have_the_same_cosines(sketch, index_of, lookup) -> None:
    index = index_of(*(sketch(name, {name: (1, 0, 0)}) for name in "abc"))
    features = pair_features("nothing", ASKED, index, lookup)
    for name in (n for n in features.names if "bm25" not in n):
        assert np.ptp(column(features, name)) < 1e-6, name


def test_a_single_refused_skill_still_has_finite_features(sketch, index_of, lookup) -> None:
    index = index_of(sketch("bad", {"bad": (1, 0, 0)}, refused=("bad",)))
    features = pair_features("both", ASKED, index, lookup)
    assert features.values.shape == (1, len(features.names))
    assert np.isfinite(features.values).all()
    assert column(features, "text")[0] == 0


def test_the_features_of_our_own_skills_are_finite(engines) -> None:
    index = engines.index
    features = pair_features(
        "tune my query", (Clause(text="tune my query", role="ask"),), index, engines.encoder
    )
    assert features.values.shape == (len(index.unit_ids), len(features.names))
    assert np.isfinite(features.values).all()
    assert features.has_examples.all()


def test_the_length_counts_distinct_stems_within_what_the_data_holds() -> None:
    assert request_features("sail sails sailing").tolist() == pytest.approx([np.log(3)])
    assert request_features("one two three four five").tolist() == pytest.approx([np.log(5)])
    assert request_features(" ".join(f"word{n}" for n in range(500))).tolist() == pytest.approx([np.log(60)])
    assert request_features("...").shape == (len(REQUEST_FEATURES),)
