"""The floor with the most net benefit, against every other floor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.floor import net_benefit_floor

# hundredths, so that ties are common and a half-way floor is never one of the scores
scores = st.integers(1, 99).map(lambda hundredths: hundredths / 100)
graded = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=30)


def net_benefit(rows: list[tuple[float, bool]], floor: float) -> int:
    """Right picks minus wrong picks when everything at or above the floor is picked."""
    return sum(1 if right else -1 for score, right in rows if score >= floor)


def floor_of(rows: list[tuple[float, bool]]) -> float:
    return net_benefit_floor(np.array([score for score, _ in rows]), np.array([right for _, right in rows]))


@given(graded)
def test_no_other_floor_has_more_net_benefit(rows: list[tuple[float, bool]]) -> None:
    others = [net_benefit(rows, floor) for floor in [0.0, 1.0, *(score for score, _ in rows)]]
    assert net_benefit(rows, floor_of(rows)) == max(others)


@given(graded)
def test_no_request_sits_on_the_floor(rows: list[tuple[float, bool]]) -> None:
    assert floor_of(rows) not in {score for score, _ in rows}


@given(graded, st.randoms(use_true_random=False))
def test_the_order_of_requests_does_not_matter(rows: list[tuple[float, bool]], random) -> None:
    assert floor_of(random.sample(rows, len(rows))) == floor_of(rows)


def test_the_floor_lies_half_way_between_right_and_wrong() -> None:
    assert floor_of([(0.9, True), (0.8, True), (0.4, False)]) == pytest.approx(0.6)


def test_equal_scores_stand_or_fall_together() -> None:
    assert floor_of([(0.5, True), (0.5, False), (0.5, False), (0.9, True)]) == pytest.approx(0.7)


@pytest.mark.parametrize("rows", [[(0.9, False)], [(0.9, False), (0.8, True)], [(0.5, True), (0.5, False)]])
def test_where_picking_does_not_pay_nothing_is_picked(rows: list[tuple[float, bool]]) -> None:
    assert floor_of(rows) == 1.0


def test_where_every_pick_is_right_all_are_picked() -> None:
    assert floor_of([(0.4, True), (0.8, True)]) == pytest.approx(0.2)


def test_of_equal_floors_the_highest_is_taken() -> None:
    assert floor_of([(0.9, True), (0.5, False), (0.4, True)]) == pytest.approx(0.7)
