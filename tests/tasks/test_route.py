from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pickysteve.tasks.roles import OFF
from pickysteve.tasks.route import RouteConfig, cut_compound, parse_request, read_clauses
from pickysteve.tasks.route_model import route
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request, Route

CONFIG = RouteConfig()
PIECES = (
    "the build fails",
    "restarting does not help",
    "but the cache is fine",
    "also write a release note",
    "1) fix the query 2) draft the mail",
    ", and then ",
    "; ",
    " -- ",
    "\n- ",
    "\n\n",
    "\t",
    " — ",
    "...",
    "isn’t the network",
    "separately, plan a hire.",
    "NOT",
    "\u3000",
)
requests = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=15)), max_size=12).map("".join)
HOSTILE = {
    "spaces": " " * 3999,
    "spaces before a word": " " * 3999 + "x",
    "newlines": "\n" * 4000,
    "tabs and newlines": "\t\n" * 2000,
    "denials": "do not " * 571,
    "states": "is " * 1333,
    "joints": "a b, " * 800,
    "connectives": "so and then " * 333,
    "semicolons": "; " * 2000,
    "dots": ". " * 2000,
    "dashes": " - " * 1333,
    "numbers": "1) " * 1333,
    "wide spaces": ("a" + "\u2003 " * 30) * 65,
    "one word": "x" * 4000,
}


def parsed(text: str, **knobs: int) -> Route:
    return parse_request(Request(text=text), RouteConfig(**knobs))


def plain(text: str) -> str:
    return " ".join(text.split())


@given(requests)
def test_a_clause_and_a_half_are_stretches_of_the_request(text: str) -> None:
    found = parsed(text)
    assert all(clause.text in plain(text) for clause in found.clauses)
    assert all(half in plain(text) for half in found.halves)


@given(requests)
def test_the_query_of_a_short_request_is_the_request(text: str) -> None:
    assert parsed(text).query == plain(text)


@given(requests, st.integers(1, 4), st.integers(0, 4), st.integers(1, 4))
def test_no_limit_is_exceeded(text: str, clauses: int, cuts: int, words: int) -> None:
    found = parsed(text, max_clauses=clauses, max_cuts=cuts, min_half_words=words)
    assert len(found.clauses) <= clauses
    assert len(found.cuts) <= cuts
    assert all(len(half.split()) >= words for half in found.halves)


@given(requests)
def test_fewer_cuts_are_the_first_of_more(text: str) -> None:
    assert parsed(text, max_cuts=1).cuts == parsed(text, max_cuts=5).cuts[:1]


@given(requests)
def test_a_request_with_words_has_a_clause_that_asks(text: str) -> None:
    roles = [clause.role for clause in parsed(text).clauses]
    assert not roles or "ask" in roles
    assert bool(roles) == any(character.isalnum() or character == "_" for character in text)


@given(st.text(min_size=101, max_size=400))
def test_a_long_request_is_read_within_the_limit_and_never_cut(text: str) -> None:
    found = parsed(text, max_query_characters=100)
    assert len(found.query) <= 100
    if len(plain(text)) > 100:
        start = found.query.split(" ... ", 1)[0]
        assert plain(start) in plain(text)
        assert found.cuts == ()


def test_a_long_request_is_searched_by_its_start_and_its_end() -> None:
    found = parsed("Tune the database. " + "log line " * 2000 + "Why is the join slow?")
    assert found.query.startswith("Tune the database.")
    assert found.query.endswith("Why is the join slow?")
    assert found.clauses[0].text == "Tune the database."


def test_empty_lines_do_not_eat_the_start_of_the_request() -> None:
    found = parsed("fix the build\n\n\n\nthe linker fails")
    assert [clause.text for clause in found.clauses] == ["fix the build", "the linker fails"]


@pytest.mark.parametrize("text", ["", " ", "\n\t", "...", "?!"])
def test_a_request_without_words_has_no_clauses_and_no_cuts(text: str) -> None:
    found = parsed(text)
    assert (found.query, found.clauses, found.cuts) == (text.strip(), (), ())


@pytest.mark.parametrize(
    "clause",
    [
        "a hard refresh does not help",
        "restarting didn’t fix it",
        "the network is fine",
        "there is no difference in the logs",
        "it is not a permission problem",
        "even though the index exists",
        "tests are all green",
        "rather than a rewrite",
    ],
)
def test_a_denied_cause_is_ruled_out_beside_an_ask(clause: str) -> None:
    found = read_clauses(f"The page stays old; {clause}", 24)
    assert [c.role for c in found] == ["ask", "ruled_out"]


@pytest.mark.parametrize(
    "clause", ["the page stays old", "help me fix it", "why does the join take long", "do tests matter"]
)
def test_a_plain_clause_asks(clause: str) -> None:
    assert [c.role for c in read_clauses(f"{clause}. the network is fine", 24)] == ["ask", "ruled_out"]


def test_a_request_of_denials_alone_still_asks() -> None:
    found = read_clauses("It is not a cache problem; restarting does not help", 24)
    assert {clause.role for clause in found} == {"ask"}


@pytest.mark.parametrize(
    ("text", "first", "second", "signalled"),
    [
        ("review my code, and also plan the launch", "review my code", "plan the launch", True),
        (
            "review my code. Separately, plan the launch",
            "review my code",
            "Separately, plan the launch",
            True,
        ),
        ("review my code and plan the launch", "review my code", "plan the launch", False),
        ("1) review my code 2) plan the launch", "1) review my code", "plan the launch", True),
    ],
)
def test_a_compound_request_is_cut_at_its_joint(text: str, first: str, second: str, signalled: bool) -> None:
    cut = cut_compound(text, CONFIG)[0]
    assert (cut.first, cut.second, cut.signalled) == (first, second, signalled)


@pytest.mark.parametrize("text", ["review my rust code", "fish and chips", "why so slow?"])
def test_a_request_without_two_halves_is_not_cut(text: str) -> None:
    assert cut_compound(text, CONFIG) == ()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_four_thousand_hostile_characters_take_no_noticeable_time(text: str) -> None:
    started = time.process_time()
    parsed(text)
    assert time.process_time() - started < 0.4


def test_a_denial_far_from_its_verb_is_still_found() -> None:
    text = f"why is it slow; this does not {'really ' * 50}help"
    assert [clause.role for clause in read_clauses(text, 24)] == ["ask", "ruled_out"]


def test_the_limit_leaves_room_for_both_ends() -> None:
    with pytest.raises(ValidationError):
        RouteConfig(max_query_characters=5)


def test_the_stage_is_deterministic() -> None:
    request = Request(text="tune the query, and also write the post")
    assert Direct()(route, request, using=(OFF,), config=CONFIG) == parse_request(request, CONFIG)
