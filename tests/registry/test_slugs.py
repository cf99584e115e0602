"""Names made from anything are plain, and never given twice."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.slugs import free_slug, plain_slug, plain_words


@pytest.mark.parametrize(
    ("text", "slug"),
    [("Build & Test", "build-test"), ("create_issue", "create-issue"), ("日本", "other"), ("  ", "other")],
)
def test_a_slug_is_plain(text: str, slug: str) -> None:
    assert plain_slug(text, otherwise="other") == slug


@given(st.text(), st.integers(1, 80))
def test_any_text_gives_a_slug_of_at_most_the_length(text: str, longest: int) -> None:
    slug = plain_slug(text, otherwise="x", longest=longest)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) and len(slug) <= longest


@given(st.lists(st.sampled_from(["a", "a-2", "a-3", "b"])))
def test_no_slug_is_given_twice(slugs: list[str]) -> None:
    taken: set[str] = set()
    given_out = [free_slug(slug, taken) for slug in slugs]
    assert len(set(given_out)) == len(given_out) == len(taken)


@given(st.text())
def test_words_of_others_are_one_printable_line(text: str) -> None:
    line = plain_words(text, 20)
    assert line.isprintable() and len(line) <= 20
    assert plain_words("a \x1b[31mred\n\nb", 99) == "a ?[31mred b"
