from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.tasks.retrieve import RetrieveConfig, reciprocal_rank_fusion, retrieve, retrieve_candidates
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Candidates, Cut, Request, Route

CONFIG = RetrieveConfig()
rankings = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.permutations(range(size)).map(np.array), min_size=1, max_size=4)
)


@pytest.fixture(scope="module")
def index(sketch, index_of):
    return index_of(
        sketch("apples", {"apples": (1, 0, 0)}, {"apples": "orchard fruit cider"}),
        sketch("boats", {"boats": (0, 1, 0)}, {"boats": "harbour sail rudder"}),
        sketch("clocks", {"clocks": (0, 0, 1), "clocks/spring": (0, 1, 1)}, {"clocks": "pendulum gear"}),
    )


@pytest.fixture(scope="module")
def lookup(table_encoder):
    return table_encoder({"sail": (0, 1, 0), "time": (0, 0.2, 1)})


def found(text: str, index, encoder, *, exclude: tuple[str, ...] = (), config=CONFIG) -> Candidates:
    return retrieve_candidates(
        Request(text=text, exclude=exclude), Route(query=text, clauses=()), index, encoder, config
    )


def test_fusion_is_the_sum_of_inverse_ranks() -> None:
    fused = reciprocal_rank_fusion([np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.9, 0.5])], k=60)
    expected = [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62]
    np.testing.assert_allclose(fused, expected, rtol=1e-12)


def test_equal_scores_keep_the_order_of_the_items() -> None:
    fused = reciprocal_rank_fusion([np.zeros(3)], k=1)
    np.testing.assert_allclose(fused, [1 / 2, 1 / 3, 1 / 4])


@given(rankings, st.integers(1, 100))
def test_only_ranks_count_for_fusion(scores: list, k: int) -> None:
    stretched = [np.exp(ranking / 3.0) * 7 - 2 for ranking in scores]
    np.testing.assert_array_equal(reciprocal_rank_fusion(scores, k), reciprocal_rank_fusion(stretched, k))


@given(rankings, st.integers(1, 100))
def test_the_order_of_the_rankings_does_not_matter(scores: list, k: int) -> None:
    np.testing.assert_allclose(
        reciprocal_rank_fusion(scores, k), reciprocal_rank_fusion(scores[::-1], k), rtol=1e-12
    )


@given(rankings, st.integers(1, 100), st.randoms(use_true_random=False))
def test_renaming_items_renames_their_fused_scores(scores: list, k: int, random) -> None:
    order = list(range(len(scores[0])))
    random.shuffle(order)
    moved = reciprocal_rank_fusion([ranking[order] for ranking in scores], k)
    np.testing.assert_allclose(moved, reciprocal_rank_fusion(scores, k)[order], rtol=1e-12)


@given(rankings, st.integers(1, 100))
def test_an_item_that_is_behind_in_no_ranking_is_fused_ahead(scores: list, k: int) -> None:
    fused = reciprocal_rank_fusion(scores, k)
    for a in range(len(fused)):
        for b in range(len(fused)):
            if all(ranking[a] > ranking[b] for ranking in scores):
                assert fused[a] > fused[b]


def test_words_and_meaning_bring_up_a_unit(index, lookup) -> None:
    best = found("sail", index, lookup).candidates[0]
    assert (best.unit_id, best.skill_id, best.fused_rank) == ("boats", "boats", 1)
    assert best.dense == pytest.approx(1.0)
    assert 0 < best.bm25 < 1


def test_every_unit_is_a_candidate_with_its_rank(index, lookup) -> None:
    candidates = found("time", index, lookup).candidates
    assert [c.fused_rank for c in candidates] == [1, 2, 3, 4]
    assert {c.unit_id for c in candidates} == set(index.unit_ids)


def test_no_more_than_top_n_are_handed_on(index, lookup) -> None:
    candidates = found("time", index, lookup, config=RetrieveConfig(top_n=2)).candidates
    assert candidates == found("time", index, lookup).candidates[:2]


def test_an_excluded_skill_disappears_with_all_its_units(index, lookup) -> None:
    candidates = found("time", index, lookup, exclude=("clocks",)).candidates
    assert [c.skill_id for c in candidates if c.skill_id == "clocks"] == []
    assert [c.fused_rank for c in candidates] == [1, 2]


def test_excluding_a_skill_keeps_the_order_and_scores_of_the_others(index, lookup) -> None:
    everything = [(c.unit_id, c.bm25, c.dense) for c in found("time", index, lookup).candidates]
    rest = [(c.unit_id, c.bm25, c.dense) for c in found("time", index, lookup, exclude=("boats",)).candidates]
    assert rest == [entry for entry in everything if entry[0] != "boats"]


def test_excluding_everything_leaves_nothing(index, lookup) -> None:
    assert found("time", index, lookup, exclude=("apples", "boats", "clocks")).candidates == ()


def test_an_unknown_exclusion_changes_nothing(index, lookup) -> None:
    assert found("time", index, lookup, exclude=("nobody",)) == found("time", index, lookup)


def test_the_words_of_a_half_bring_up_the_second_job(index, lookup) -> None:
    request = Request(text="sail")
    cut = Cut(first="sail", second="pendulum", signalled=True)
    whole = Route(query="sail", clauses=())
    before, after = (
        {c.unit_id: c.fused_rank for c in retrieve_candidates(request, r, index, lookup, CONFIG).candidates}
        for r in (whole, whole.model_copy(update={"cuts": (cut,)}))
    )
    assert before["boats"] == after["boats"] == 1
    assert after["clocks"] < before["clocks"]


def test_the_examples_of_a_skill_speak_for_its_units(sketch, index_of, table_encoder) -> None:
    index = index_of(
        sketch("far", {"far": (1, 0, 0)}, examples={"one": (0, 1, 0)}), sketch("near", {"near": (1, 0.2, 0)})
    )
    best = found("ask", index, table_encoder({"ask": (0, 1, 0)})).candidates[0]
    assert (best.unit_id, best.dense) == ("far", pytest.approx(1.0))


def test_a_registry_of_refused_units_is_searched_by_words_alone(sketch, index_of, table_encoder) -> None:
    index = index_of(sketch("bad", {"bad": (1, 0, 0)}, {"bad": "cider"}, refused=("bad",)))
    (only,) = found("cider", index, table_encoder({})).candidates
    assert (only.unit_id, only.dense) == ("bad", 0.0)


def test_the_own_examples_of_our_skills_bring_them_up(small_index, engines) -> None:
    run = Direct()
    for skill in small_index.skills.values():
        request = Request(text=skill.examples[0].text)
        routed = parse_request(request, RouteConfig())
        output = run(retrieve, request, routed, using=(small_index, engines.encoder), config=CONFIG)
        assert skill.skill_id in [c.skill_id for c in output.candidates[:3]]
