from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.tasks.engines.windows import WINDOW_CHARACTERS, WINDOW_TOKENS, window_bounds


@given(st.lists(st.integers(1, 40), max_size=900))
@settings(max_examples=60, deadline=None)
def test_windows_cover_everything_and_stay_short(lengths: list[int]) -> None:
    offsets, end = [], 0
    for length in lengths:
        offsets.append((end, end + length))
        end += length + 1
    spans = list(window_bounds(offsets, end))
    assert set().union(*(range(begin, stop) for begin, stop in spans)) == set(range(end))
    for begin, stop in spans:
        assert stop - begin <= WINDOW_CHARACTERS
        assert sum(begin <= a and b <= stop for a, b in offsets) <= WINDOW_TOKENS
