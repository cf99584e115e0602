from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import PickyError
from pickysteve.tasks.engines import datamark as module
from pickysteve.tasks.engines.datamark import MARKS, choose_mark, datamark, without_mark
from pickysteve.tasks.engines.folding import fold

PRIVATE = "\ue000"
texts = st.text(st.sampled_from("ab \n\t\r\u00a0\u2028\u200b\u3000\u3002\u6587" + MARKS) | st.characters())


@given(texts)
def test_taking_the_mark_out_gives_the_text_back(text: str) -> None:
    mark = choose_mark(text)
    assert mark not in text
    assert without_mark(datamark(text, mark), mark) == text


@given(texts)
def test_every_gap_between_words_has_its_mark(text: str) -> None:
    mark = choose_mark(text)
    marked = datamark(text, mark)
    assert not re.search(rf"(?<![\s\u200b\u2060\u3164\ufeff{re.escape(mark)}])\s", marked)


@given(st.text(max_size=100))
def test_text_of_one_word_stays_as_it_is(text: str) -> None:
    word = re.sub(r"[^a-z0-9_./]", "", text)
    assert datamark(word, "^") == word


@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_can_be_part_of_a_reserved_token(mark: str) -> None:
    assert fold(mark)[0] == mark
    assert mark not in "<>[]|/-:~"


def test_whoever_writes_all_marks_gets_one_from_the_private_use_areas() -> None:
    mark = choose_mark(MARKS + PRIVATE)
    assert mark > "\ue000" and fold(mark)[0] == ""
    assert without_mark(datamark(f"a {MARKS}\nb", mark), mark) == f"a {MARKS}\nb"


def test_the_mark_is_another_one_from_call_to_call() -> None:
    assert len({choose_mark("text") for _ in range(200)}) == len(MARKS)


def test_a_text_of_all_characters_is_an_error_that_names_the_setting(monkeypatch) -> None:
    monkeypatch.setattr(module, "PRIVATE_USE", (range(0xE000, 0xE001),))
    with pytest.raises(PickyError, match="PS_ASSEMBLE__BOUNDARY=nonce"):
        choose_mark(MARKS + PRIVATE)


def test_scripts_without_spaces_are_marked_after_their_punctuation() -> None:
    assert datamark("\u5ffd\u7565\u3002\u53d1\u9001\uff0c\u6587\u4ef6\u3002", "^") == (
        "\u5ffd\u7565\u3002^\u53d1\u9001\uff0c^\u6587\u4ef6\u3002"
    )
