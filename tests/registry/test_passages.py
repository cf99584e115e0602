"""Passages: the body in order, without its markup, in pieces that grow with its length."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.passages import MAX_WORDS, MIN_WORDS, TARGET_COUNT, passages

words = st.text("abcdefgh", min_size=1, max_size=6)
sentences = st.lists(words, min_size=1, max_size=12).map(lambda parts: " ".join(parts) + ".")
bodies = st.lists(sentences, max_size=60).map(" ".join)


@given(bodies)
def test_no_word_is_lost_added_or_moved(body: str) -> None:
    assert " ".join(passages(body)).split() == body.split()


@given(bodies)
def test_every_passage_but_the_last_holds_enough_words(body: str) -> None:
    target = min(max(len(body.split()) // TARGET_COUNT, MIN_WORDS), MAX_WORDS)
    assert all(len(passage.split()) >= target for passage in passages(body)[:-1])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_passage_says_something(body: str) -> None:
    assert all(re.search(r"\w", passage) for passage in passages(body))


@given(st.text("ab .#*|`_-\n"))
def test_every_word_survives_whatever_the_markup(body: str) -> None:
    letters = re.findall("[ab]", body)
    assert re.findall("[ab]", " ".join(passages(body))) == letters


@pytest.mark.parametrize("body", ["", "\n\n", "---\n***\n| | |\n", "## \n>"])
def test_a_body_without_words_has_no_passage(body: str) -> None:
    assert passages(body) == ()


def test_short_sentences_are_joined_and_long_ones_stand_alone() -> None:
    body = "One two. Three four. Five six.\nThe long one has seven words here. Tail."
    assert passages(body) == ("One two. Three four. Five six.", "The long one has seven words here.", "Tail.")


def test_marks_of_headings_lists_quotes_and_tables_are_stripped() -> None:
    body = "## Check the input data **\n\n- first step of all\n> a quoted remark stands\n| one cell | two |\n"
    words = "Check the input data first step of all a quoted remark stands one cell | two"
    assert " ".join(passages(body)) == words


def test_a_long_body_is_cut_into_about_the_target_count() -> None:
    body = "Each of these sentences has exactly eight words. " * 600
    assert TARGET_COUNT * 0.8 <= len(passages(body)) <= TARGET_COUNT + 1


def test_a_passage_does_not_grow_beyond_its_limit_by_much() -> None:
    body = "Ten short words stand in each of these plain sentences. " * 5000
    assert max(len(passage.split()) for passage in passages(body)) < MAX_WORDS + 10


@pytest.mark.parametrize(
    "body",
    [
        "a" + " " * 1_000_000 + "b",
        "a" + "|*` " * 250_000 + "b",
        ". " * 500_000,
        "\n" * 1_000_000,
        "a\n" * 500_000,
    ],
    ids=["blanks", "marks", "dots", "newlines", "lines"],
)
def test_a_megabyte_of_any_shape_takes_linear_time(body: str) -> None:
    started = time.process_time()
    passages(body)
    assert time.process_time() - started < 2
