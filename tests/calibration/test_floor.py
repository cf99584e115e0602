"""Floors: the best by its own measure, against every other floor."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.floor import net_benefit_floor, youden_floor

Rows = list[tuple[float, bool]]
# hundredths, so that ties are common and a half-way floor is never one of the scores
scores = st.integers(1, 99).map(lambda hundredths: hundredths / 100)
graded = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=30)
each_floor = pytest.mark.parametrize("choose", [net_benefit_floor, youden_floor])


def net_benefit(rows: Rows, floor: float) -> float:
    """Right picks minus wrong picks when everything at or above the floor is picked."""
    return sum(1 if right else -1 for score, right in rows if score >= floor)


def youden_j(rows: Rows, floor: float) -> float:
    """Sensitivity + specificity - 1 of picking at or above the floor."""
    positive = [score >= floor for score, right in rows if right]
    negative = [score < floor for score, right in rows if not right]
    return sum(positive) / max(len(positive), 1) + sum(negative) / max(len(negative), 1) - 1


def floor_of(rows: Rows, choose: Callable[..., float] = net_benefit_floor) -> float:
    return choose(np.array([score for score, _ in rows]), np.array([right for _, right in rows]))


@pytest.mark.parametrize(("choose", "measure"), [(net_benefit_floor, net_benefit), (youden_floor, youden_j)])
@given(rows=graded)
def test_no_other_floor_is_better_by_its_own_measure(choose, measure, rows: Rows) -> None:
    others = [measure(rows, floor) for floor in [0.0, 1.0, *(score for score, _ in rows)]]
    if choose is net_benefit_floor or len({right for _, right in rows}) == 2:
        assert measure(rows, floor_of(rows, choose)) == pytest.approx(max(others))


@each_floor
@given(rows=graded)
def test_no_request_sits_on_the_floor(choose, rows: Rows) -> None:
    assert floor_of(rows, choose) not in {score for score, _ in rows}


@each_floor
@given(rows=graded, random=st.randoms(use_true_random=False))
def test_the_order_of_requests_does_not_matter(choose, rows: Rows, random) -> None:
    assert floor_of(random.sample(rows, len(rows)), choose) == floor_of(rows, choose)


@each_floor
def test_the_floor_lies_half_way_between_right_and_wrong(choose) -> None:
    assert floor_of([(0.9, True), (0.8, True), (0.4, False)], choose) == pytest.approx(0.6)


def test_equal_scores_stand_or_fall_together() -> None:
    assert floor_of([(0.5, True), (0.5, False), (0.5, False), (0.9, True)]) == pytest.approx(0.7)


@pytest.mark.parametrize("rows", [[(0.9, False)], [(0.9, False), (0.8, True)], [(0.5, True), (0.5, False)]])
def test_where_picking_does_not_pay_nothing_is_picked(rows: Rows) -> None:
    assert floor_of(rows) == 1.0


def test_where_every_pick_is_right_all_are_picked() -> None:
    assert floor_of([(0.4, True), (0.8, True)]) == pytest.approx(0.2)


def test_of_equal_floors_the_highest_is_taken() -> None:
    assert floor_of([(0.9, True), (0.5, False), (0.4, True)]) == pytest.approx(0.7)


@pytest.mark.parametrize("rows", [[(0.9, True), (0.4, True)], [(0.9, False), (0.4, False)]])
def test_youden_needs_both_kinds(rows: Rows) -> None:
    assert floor_of(rows, youden_floor) == 1.0


def test_youden_weighs_a_rare_kind_as_much_as_a_frequent_one() -> None:
    # one wrong among nine right: net benefit takes all, J gives up four right ones for it
    rows = [(0.9, True)] * 5 + [(0.5, False)] + [(0.4, True)] * 4
    assert floor_of(rows) == pytest.approx(0.2)
    assert floor_of(rows, youden_floor) == pytest.approx(0.7)
