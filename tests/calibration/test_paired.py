from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.paired import compare_paired, holm


def test_the_rows_that_changed_are_named_and_the_test_is_one_sided() -> None:
    before = {"a": True, "b": True, "c": False, "d": True, "e": True, "f": True, "g": True}
    now = before | {"a": False, "b": False, "d": False, "e": False, "f": False, "c": True}
    paired = compare_paired(before, now)
    assert paired.newly_wrong == ("a", "b", "d", "e", "f")
    assert paired.newly_right == ("c",)
    assert paired.n == 7
    assert paired.p_value == pytest.approx(7 / 64)
    assert compare_paired(now, before).p_value == pytest.approx(63 / 64)


def test_equal_rows_are_no_regression() -> None:
    assert compare_paired({"a": True, "b": False}, {"b": False, "a": True}).p_value == 1.0


def test_other_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="same rows"):
        compare_paired({"a": True}, {"b": True})


def test_holm_agrees_with_a_worked_example() -> None:
    # 0.01 * 4, then 0.005 first: 0.005 * 4 = 0.02, 0.01 * 3 = 0.03, 0.03 * 2 = 0.06, 0.04 * 1 -> 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_p_value_and_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1.0, p * len(p_values)) + 1e-12
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    ranked = [adjusted[at] for at in order]
    assert ranked == sorted(ranked)
