from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import CalibrationMismatch
from pickysteve.tasks.floor import FloorConfig, floor, pool_options
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Candidate, Candidates, Pool

NAMES = ("a", "b", "c", "d", "e", "f")
DIRECTIONS = dict(zip(NAMES, [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1)], strict=True))
scores_of_skills = st.lists(st.floats(0, 1), min_size=0, max_size=6)


@pytest.fixture(scope="session")
def drawn(sketch, index_of):
    skills = [sketch(name, {name: DIRECTIONS[name], f"{name}/more": (1, 2, 3)}) for name in NAMES]
    return index_of(*skills, sketch("copy", {"copy": (1, 0.01, 0)}))


def candidate(unit_id: str, score: float, parts: tuple[float, ...] = ()) -> Candidate:
    return Candidate(
        unit_id=unit_id,
        skill_id=unit_id.split("/")[0],
        bm25=0,
        dense=0,
        fused_rank=1,
        score=score,
        part_scores=parts,
    )


def pooled(index, calibration, *candidates: Candidate, config: FloorConfig | None = None) -> Pool:
    ranked = sorted(candidates, key=lambda c: -(c.score or 0))
    return pool_options(Candidates(candidates=tuple(ranked)), index, calibration, config or FloorConfig())


def ids(pool: Pool) -> list[str]:
    return [option.skill_id for option in pool.options]


def test_sibling_units_are_one_option_that_the_best_stands_for(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.5), candidate("a", 0.7), candidate("a/more", 0.9))
    (only,) = pool.options
    assert (only.skill_id, only.unit_ids, only.score) == ("a", ("a/more", "a"), 0.9)


def test_a_skill_has_the_best_of_its_units_on_each_half(drawn, calibration_with) -> None:
    pool = pooled(
        drawn,
        calibration_with(floor=0.5),
        candidate("a", 0.7, (0.1, 0.8)),
        candidate("a/more", 0.9, (0.6, 0.2)),
    )
    assert pool.options[0].part_scores == (0.6, 0.8)


def test_a_copy_is_folded_into_the_better_of_the_two(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.5), candidate("a", 0.8), candidate("copy", 0.9))
    assert ids(pool) == ["copy"]
    assert pool.dropped == {"a": "says the same as copy"}


def test_similar_skills_under_the_threshold_both_stay(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.5), candidate("a", 0.8), candidate("d", 0.9))
    assert ids(pool) == ["d", "a"]


def test_what_is_under_the_floor_is_dropped_with_its_reason(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.5), candidate("a", 0.5), candidate("b", 0.49))
    assert ids(pool) == ["a"]
    assert pool.dropped == {"b": "score 0.49 is under the floor"}
    assert pool.nearest == ()
    assert pool.floor == 0.5


def test_a_skill_that_clears_the_floor_on_a_half_stays(drawn, calibration_with) -> None:
    pool = pooled(
        drawn,
        calibration_with(floor=0.5),
        candidate("a", 0.9, (0.9, 0.1)),
        candidate("b", 0.2, (0.1, 0.8)),
        candidate("c", 0.3, (0.2, 0.2)),
    )
    assert ids(pool) == ["a", "b"]


def test_when_nothing_clears_the_floor_the_nearest_are_named(drawn, calibration_with) -> None:
    scores = zip(NAMES, (0.1, 0.4, 0.2, 0.3, 0.05, 0.0), strict=True)
    pool = pooled(drawn, calibration_with(floor=0.5, set_share=0.9), *(candidate(n, s) for n, s in scores))
    assert (pool.options, pool.prediction_set) == ((), ())
    assert [option.skill_id for option in pool.nearest] == ["b", "d", "c"]


def test_the_prediction_set_does_not_know_the_floor(drawn, calibration_with) -> None:
    scored = (candidate("a", 0.45), candidate("b", 0.4), candidate("c", 0.01))
    for floor_score in (0.42, 0.5):
        pool = pooled(drawn, calibration_with(floor=floor_score, set_share=0.1), *scored)
        assert pool.prediction_set == ("a", "b")


def test_what_clears_the_floor_is_in_the_set_however_small_its_share(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.3, set_share=0.9), candidate("a", 0.4), candidate("b", 0.4))
    assert pool.prediction_set == ("a",)


@pytest.mark.parametrize(
    ("mode", "kept"), [("net-benefit", ["a", "b", "c"]), ("youden", ["a", "b"]), ("risk-controlled", ["a"])]
)
def test_the_mode_says_which_calibrated_floor_is_used(
    drawn, calibration_with, mode: str, kept: list[str]
) -> None:
    floors = {"floor": 0.2, "youden_floor": 0.5, "risk_floors": {"0.05": 0.8, "0.1": 0.6}}
    scored = (candidate("a", 0.9), candidate("b", 0.7), candidate("c", 0.3))
    config = FloorConfig.model_validate({"mode": mode})
    assert ids(pooled(drawn, calibration_with(**floors), *scored, config=config)) == kept


def test_a_promised_risk_counts_whole_requests_only(drawn, calibration_with) -> None:
    calibration = calibration_with(floor=0.5, risk_floors={"0.1": 0.5})
    scored = (candidate("a", 0.6, (0.9, 0.1)), candidate("b", 0.2, (0.1, 0.9)))
    strict = FloorConfig(mode="risk-controlled", risk="0.1")
    assert ids(pooled(drawn, calibration, *scored)) == ["a", "b"]
    assert ids(pooled(drawn, calibration, *scored, config=strict)) == ["a"]


def test_a_risk_that_the_calibration_cannot_promise_is_refused(drawn, calibration_with) -> None:
    calibration = calibration_with(risk_floors={"0.05": None, "0.1": 0.9})
    with pytest.raises(CalibrationMismatch, match=r"too few rows.*floor.risk to 0.1"):
        pooled(drawn, calibration, candidate("a", 0.9), config=FloorConfig(mode="risk-controlled"))


def test_no_candidates_give_an_empty_pool(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with())
    assert (pool.options, pool.prediction_set, pool.nearest, pool.dropped) == ((), (), (), {})


def test_shares_follow_the_odds_against_nothing(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.1), candidate("a", 0.75), candidate("b", 0.5))
    # odds 3 and 1, and 1 for "none of these"
    assert [option.share for option in pool.options] == pytest.approx([0.6, 0.2])


def test_the_prediction_set_holds_those_with_the_calibrated_share(drawn, calibration_with) -> None:
    scored = (candidate("a", 0.75), candidate("b", 0.5), candidate("c", 0.2))
    sets = {
        share: pooled(drawn, calibration_with(floor=0.1, set_share=share), *scored).prediction_set
        for share in (0.9, 0.5, 0.15, 0.0)
    }
    assert sets == {0.9: ("a",), 0.5: ("a",), 0.15: ("a", "b"), 0.0: ("a", "b", "c")}


@given(scores_of_skills)
def test_shares_are_a_part_of_one(drawn, calibration_with, scores: list[float]) -> None:
    made = [candidate(name, score) for name, score in zip(NAMES, scores, strict=False)]
    pool = pooled(drawn, calibration_with(floor=0.0), *made)
    total = sum(option.share for option in pool.options)
    # each share is rounded to six digits
    assert 0 <= total <= 1 + 1e-6 * len(made)
    if made and max(scores) < 0.99:
        assert total < 1


@given(scores_of_skills, st.floats(0, 1), st.floats(0, 1))
def test_the_set_is_at_most_four_of_the_best_skills(
    drawn, calibration_with, scores: list[float], least: float, share: float
) -> None:
    made = [candidate(name, score) for name, score in zip(NAMES, scores, strict=False)]
    pool = pooled(drawn, calibration_with(floor=least, set_share=share), *made)
    assert len(pool.prediction_set) <= 4
    ranked = [c.skill_id for c in sorted(made, key=lambda c: (-(c.score or 0), c.skill_id))]
    assert list(pool.prediction_set) == ranked[: len(pool.prediction_set)]
    assert not pool.options or pool.prediction_set


@given(scores_of_skills, st.floats(0, 1))
def test_every_skill_is_kept_or_dropped(drawn, calibration_with, scores: list[float], least: float) -> None:
    made = [candidate(name, score) for name, score in zip(NAMES, scores, strict=False)]
    pool = pooled(drawn, calibration_with(floor=least), *made)
    assert sorted([*ids(pool), *pool.dropped]) == [c.skill_id for c in made]
    assert all(option.score >= least for option in pool.options)
    assert [o.score for o in pool.options] == sorted((o.score for o in pool.options), reverse=True)


def test_equal_scores_fall_back_to_the_id(drawn, calibration_with) -> None:
    pool = pooled(drawn, calibration_with(floor=0.1), candidate("c", 0.5), candidate("b", 0.5))
    assert ids(pool) == ["b", "c"]


def test_the_stage_takes_the_index_and_the_calibration_as_handles(drawn, calibration_with) -> None:
    ranked = Candidates(candidates=(candidate("a", 0.9),))
    output = Direct()(floor, ranked, using=(drawn, calibration_with(floor=0.5)), config=FloorConfig())
    assert ids(output) == ["a"]
