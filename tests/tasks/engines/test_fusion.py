from __future__ import annotations

import numpy as np
import pytest

from pickysteve.tasks.engines.fusion import FusionReranker
from pickysteve.tasks.values import Clause

ASKED = (Clause(text="sail", role="ask"),)


@pytest.fixture(scope="module")
def index(sketch, index_of):
    return index_of(
        sketch("boats", {"boats": (0, 1, 0)}, {"boats": "sail"}),
        sketch("clocks", {"clocks": (0, 0.6, 0.8)}, {"clocks": "gear"}),
    )


def test_a_score_is_the_mean_of_cosine_and_term_coverage(index, table_encoder) -> None:
    lookup = table_encoder({"sail": (0, 1, 0)})
    scores, features = FusionReranker(lookup, "why").scores("sail", ASKED, index)
    bm25 = features.values[:, features.names.index("bm25")]
    assert bm25[0] > 0 == bm25[1]
    np.testing.assert_allclose(scores, [(1 + bm25[0]) / 2, 0.3], atol=1e-6)


def test_what_points_away_scores_zero_and_not_less(index, table_encoder) -> None:
    lookup = table_encoder({"gone": (0, -1, 0)})
    scores, _ = FusionReranker(lookup, "why").scores("gone", (Clause(text="gone", role="ask"),), index)
    assert scores.tolist() == [0.0, 0.0]


def test_it_says_why_it_stands_in_and_is_told_apart_by_its_fingerprint(table_encoder) -> None:
    reranker = FusionReranker(table_encoder({}), "no calibration")
    assert reranker.degraded == "no calibration"
    assert reranker.fingerprint == "fusion:table"
