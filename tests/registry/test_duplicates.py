from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.duplicates import families, near_duplicates

names = st.sampled_from("abcdefgh")


def test_the_overlap_is_the_share_of_common_three_word_runs() -> None:
    # five and five runs, four of them common: 4 / 6
    (pair,) = near_duplicates({"x": "a b c d e f g", "y": "A, b c: d e f h"}, 0.1)
    assert (pair.first, pair.second) == ("x", "y")
    assert pair.jaccard == pytest.approx(4 / 6, abs=1e-4)


def test_pairs_under_the_threshold_and_texts_without_words_are_left_out() -> None:
    texts = {"x": "one two three four", "y": "one two three five", "z": "", "w": "..."}
    assert near_duplicates(texts, 0.4) == ()
    assert len(near_duplicates(texts, 0.3)) == 1
    assert near_duplicates({"z": "", "w": "a b"}, 0.1) == ()


def test_equal_texts_are_the_nearest() -> None:
    texts = {"x": "one two three four", "y": "one two three five", "z": "one two three four"}
    assert [(p.first, p.second, p.jaccard) for p in near_duplicates(texts, 0.9)] == [("x", "z", 1.0)]


@given(st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), max_size=10))
def test_families_are_the_connected_components(pairs: list[tuple[str, str]]) -> None:
    found = families(pairs)
    members = [name for family in found for name in family]
    assert len(members) == len(set(members))
    assert set(members) == {name for pair in pairs for name in pair}
    home = {name: family for family in found for name in family}
    assert all(home[first] == home[second] for first, second in pairs)
    for family in found:
        reached, grown = {family[0]}, True
        while grown:
            more = {n for pair in pairs for n in pair if set(pair) & reached}
            grown, reached = not more <= reached, reached | more
        assert reached == set(family)
