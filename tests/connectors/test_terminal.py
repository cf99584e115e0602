from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pickysteve.connectors.terminal import visible


def test_all_text_from_outside_is_shown_on_one_line_without_control() -> None:
    assert visible("a\x1b[2J\r\n\u202e\U000e0041\ud800\x9b") == (r"a\x1b[2J\r\n\u202e\U000e0041\ud800\x9b")
    assert visible("größe 手順 \\n") == "größe 手順 \\n"


@given(st.text())
def test_nothing_is_left_that_is_not_printable(text: str) -> None:
    assert visible(text).isprintable()
