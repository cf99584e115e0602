"""Thresholds from hand-made scores, and the figures that are told of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.calibration.fitted import EMBEDDED, Fitted
from pickysteve.calibration.logit import shares, sigmoid
from pickysteve.flows.scenes import MemoEmbedder, read_scenes
from pickysteve.flows.suite import Task
from pickysteve.flows.threshold_report import threshold_figures, two_job_figures
from pickysteve.flows.thresholds import (
    COVERAGE,
    Scored,
    one_a_request,
    right_shares,
    risk_floors,
    score_scenes,
    with_thresholds,
)

SHIPPED = Fitted.model_validate_json(EMBEDDED.read_bytes())


def drawn(n: int, states: int = 1, seed: int = 0) -> Scored:
    """Requests on so many states; four of five have an answer, ranked the better the higher it scores."""
    draw = np.random.default_rng(seed)
    ids = [str(request) for _ in range(states) for request in range(n)]
    nothing = np.array([int(name) % 5 == 0 for name in ids])
    best = draw.normal(np.where(nothing, -1.0, 2.0), 1.5)
    ranks = np.where(draw.uniform(size=len(ids)) < sigmoid(best), 0, draw.integers(1, 4, size=len(ids)))
    utilities = [np.array([top, top - 1.5, top - 3, top - 4]) for top in best]
    right = [
        np.arange(4) == rank if not none else np.zeros(4, bool)
        for rank, none in zip(ranks, nothing, strict=True)
    ]
    return Scored(
        ids=tuple(ids),
        groups=tuple(f"skill-{int(name) % 23}" for name in ids),
        single=~nothing,
        nothing=nothing,
        best=best,
        first=(ranks == 0) & ~nothing,
        shares=tuple(shares(utility) for utility in utilities),
        right=tuple(right),
    )


@pytest.fixture(scope="module")
def scored() -> Scored:
    return drawn(600)


def test_the_thresholds_keep_what_they_are_for(scored: Scored) -> None:
    fitted = with_thresholds(SHIPPED, scored)
    best = sigmoid(scored.best)
    picked = best >= fitted.floor
    assert (picked & scored.first).sum() > (picked & ~scored.first).sum()
    covered = right_shares(scored)[scored.single] >= fitted.set_share - 1e-4
    assert covered.mean() >= COVERAGE - 0.01
    sure = best[~scored.nothing] >= fitted.sure_score
    assert scored.first[~scored.nothing][sure].mean() == pytest.approx(0.9, abs=0.02)
    assert fitted.probability is not None
    assert fitted.probability.probability(3.0) > fitted.probability.probability(-1.0)


def test_a_stricter_promise_is_a_higher_floor_and_keeps_its_share(scored: Scored) -> None:
    fitted = with_thresholds(SHIPPED, scored)
    floors = [fitted.risk_floors[risk] for risk in ("0.05", "0.1", "0.2")]
    attained = [floor for floor in floors if floor is not None]
    assert attained and attained == sorted(attained, reverse=True)
    for risk, floor in fitted.risk_floors.items():
        if floor is not None:
            picked = sigmoid(scored.best) >= floor
            assert (picked & ~scored.first).sum() / picked.sum() <= float(risk)


def test_few_rows_promise_nothing() -> None:
    assert set(risk_floors(drawn(12)).values()) == {None}


def test_states_of_one_request_are_one_row_of_a_promise() -> None:
    rows = one_a_request(drawn(40, states=3).ids)
    assert len(rows) == 40
    assert {int(row) % 40 for row in rows} == set(range(40))
    assert len({int(row) // 40 for row in rows}) == 3
    found = risk_floors(drawn(600, states=3))["0.2"]
    assert found is not None and found.n == 600


def test_the_share_of_the_right_skill_is_zero_where_there_is_none(scored: Scored) -> None:
    found = right_shares(scored)
    assert not found[scored.nothing].any()
    assert (found[scored.single] > 0).all()


def test_the_figures_are_shares_and_name_what_cannot_be_promised(scored: Scored) -> None:
    figures = threshold_figures(scored)
    assert figures["requests"] == figures["scenes"] == 600
    named = (
        "top1",
        "no_match_auroc",
        "net_benefit_right",
        "youden_no_match_rejected",
        "lac_coverage",
        "platt_ece",
    )
    assert all(0 <= figures[name] <= 1 for name in named)
    assert figures["at_most_20_percent_wrong"].endswith("wrong")
    assert threshold_figures(drawn(40))["at_most_5_percent_wrong"] == "not attainable"
    assert threshold_figures(scored) == figures


def test_held_out_sets_cover_about_what_was_asked_for(scored: Scored) -> None:
    figures = threshold_figures(scored)
    for kind in ("lac", "aps"):
        assert figures[f"{kind}_coverage"] > COVERAGE - 0.06
        assert 1 <= figures[f"{kind}_size"] <= 4


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=9), st.lists(st.booleans(), min_size=1, max_size=9))
def test_pairs_have_a_precision_and_a_recall(read: list[bool], compound: list[bool]) -> None:
    figures = two_job_figures(
        {str(i): r for i, r in enumerate(read)}, {str(i): c for i, c in enumerate(compound)}
    )
    assert figures["second_precision"] == f"{sum(read)}/{len(read)}"
    assert figures["second_recall"] == f"{sum(read)}/{sum(compound)}"


def test_scenes_score_as_the_reranker_scores_them(engines, small_index, encoder) -> None:
    tasks = (
        Task(id="a", request="which index for this slow query", gold=("postgres-tuning",)),
        Task(id="b", request="write a haiku about snow", gold=()),
    )
    scenes = list(read_scenes(tasks, small_index, MemoEmbedder(encoder)))
    found = score_scenes(scenes, engines.calibration.fitted)
    for row, scene in enumerate(scenes):
        scores, _ = engines.reranker.scores(scene.route.query, scene.route.clauses, small_index)
        assert sigmoid(found.best[row : row + 1])[0] == pytest.approx(scores.max(), abs=1e-6)
    assert found.first.tolist() == [True, False]
    assert found.nothing.tolist() == [False, True]
    assert found.shares[0].sum() < 1 and (np.diff(found.shares[0]) <= 0).all()
    assert found.right[0][0] and found.right[0].sum() == 1
