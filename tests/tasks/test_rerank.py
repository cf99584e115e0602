from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from pickysteve.tasks.engines.features import PairFeatures
from pickysteve.tasks.rerank import RerankConfig, rerank, score_candidates
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Candidate, Candidates, Clause, Cut, Route

ASKED = Route(query="ask", clauses=(Clause(text="ask", role="ask"),))
CUT = Cut(first="left", second="right", signalled=False)


class TableReranker:
    """Scores from a table: query to one score a unit, in the index's order."""

    fingerprint = "table"
    degraded = ""

    def __init__(self, table: Mapping[str, list[float]]) -> None:
        self.table = table
        self.asked: list[str] = []

    def scores(self, query, clauses, index, rows=None):
        self.asked.append(query)
        scores = np.array(self.table[query])
        return scores, PairFeatures(("own",), scores[:, None] * 2, np.zeros(len(scores), bool))


@pytest.fixture(scope="module")
def index(sketch, index_of):
    """Skill "a" speaks of left and "b" of right."""
    words = {"a": "left", "b": "right", "c": "neither"}
    return index_of(*(sketch(name, {name: (1, 0, 0)}, bodies={name: word}) for name, word in words.items()))


def candidates(*unit_ids: str) -> Candidates:
    return Candidates(
        candidates=tuple(
            Candidate(unit_id=u, skill_id=u, bm25=0, dense=0, fused_rank=rank)
            for rank, u in enumerate(unit_ids, start=1)
        )
    )


def scored(table: Mapping[str, list[float]], index, route: Route = ASKED, contest: float = 0.2):
    reranker = TableReranker(table)
    output = score_candidates(
        route, candidates("c", "a", "b"), index, reranker, RerankConfig(contest=contest)
    )
    return output.candidates, reranker.asked


def test_the_best_score_comes_first(index) -> None:
    found, _ = scored({"ask": [0.2, 0.9, 0.5]}, index)
    assert [(c.unit_id, c.score) for c in found] == [("b", 0.9), ("c", 0.5), ("a", 0.2)]


def test_equal_scores_keep_the_fused_order(index) -> None:
    found, _ = scored({"ask": [0.4, 0.4, 0.4]}, index)
    assert [c.unit_id for c in found] == ["c", "a", "b"]


def test_a_candidate_carries_its_own_features(index) -> None:
    found, _ = scored({"ask": [0.2, 0.9, 0.5]}, index)
    assert [c.features for c in found] == [{"own": 1.8}, {"own": 1.0}, {"own": 0.4}]


def test_a_request_without_cuts_is_scored_once(index) -> None:
    found, asked = scored({"ask": [0.9, 0.9, 0.9]}, index)
    assert asked == ["ask"]
    assert found[0].part_scores == ()


@pytest.mark.parametrize(
    ("scores", "signalled", "halves_are_scored"),
    [
        ([0.9, 0.1, 0.1], False, False),
        ([0.9, 0.2, 0.1], False, True),
        ([0.9, 0.1, 0.1], True, True),
    ],
    ids=["one clear skill", "a contested request", "a signalled joint"],
)
def test_halves_are_scored_where_a_second_job_is_likely(
    index, scores: list[float], signalled: bool, halves_are_scored: bool
) -> None:
    route = ASKED.model_copy(update={"cuts": (CUT.model_copy(update={"signalled": signalled}),)})
    table = {"ask": scores, "left": [0.7, 0.1, 0.3], "right": [0.0, 0.6, 0.2]}
    found, asked = scored(table, index, route)
    assert asked == (["ask", "left", "right"] if halves_are_scored else ["ask"])
    parts = {c.unit_id: c.part_scores for c in found}
    assert parts["a"] == ((0.7, 0.0) if halves_are_scored else (0.0, 0.0))


def test_halves_whose_words_point_to_one_skill_are_not_read(index) -> None:
    one = Cut(first="left", second="left and left", signalled=False)
    found, asked = scored({"ask": [0.9, 0.8, 0.1]}, index, ASKED.model_copy(update={"cuts": (one,)}))
    assert asked == ["ask"]
    assert {c.part_scores for c in found} == {(0.0, 0.0)}


def test_the_runner_up_is_another_skill_and_no_sibling_unit(sketch, index_of) -> None:
    index = index_of(sketch("a", {"a": (1, 0, 0), "a/more": (1, 0, 0)}), sketch("b", {"b": (0, 1, 0)}))
    route = ASKED.model_copy(update={"cuts": (CUT,)})
    reranker = TableReranker({"ask": [0.9, 0.8, 0.1]})
    score_candidates(route, candidates("a", "b"), index, reranker, RerankConfig())
    assert reranker.asked == ["ask"]


def test_what_the_gate_refused_stays_refused(index) -> None:
    refused = candidates("b").candidates
    gated = Candidates(candidates=candidates("a").candidates, refused=refused)
    output = score_candidates(ASKED, gated, index, TableReranker({"ask": [0.1, 0.9, 0.1]}), RerankConfig())
    assert [c.unit_id for c in output.candidates] == ["a"]
    assert output.refused == refused


def test_our_reranker_puts_the_skill_of_its_own_example_first(engines) -> None:
    index = engines.index
    for skill in index.skills.values():
        text = skill.examples[0].text
        route = Route(query=text, clauses=(Clause(text=text, role="ask"),))
        output = Direct()(
            rerank, route, candidates(*index.unit_ids), using=(index, engines.reranker), config=RerankConfig()
        )
        assert output.candidates[0].skill_id == skill.skill_id
        assert all(0 <= (c.score or 0.0) <= 1 for c in output.candidates)


def test_a_stand_in_says_so_in_the_output(small_index) -> None:
    unit_ids = small_index.unit_ids
    reranker = TableReranker({"ask": [0.5] * len(unit_ids)})
    assert (
        score_candidates(ASKED, Candidates(candidates=()), small_index, reranker, RerankConfig()).degraded
        == ""
    )
    reranker.degraded = "no calibration"
    found = score_candidates(ASKED, Candidates(candidates=()), small_index, reranker, RerankConfig())
    assert found.degraded == "no calibration"
