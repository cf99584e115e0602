from __future__ import annotations

from typing import Any

import model_hosts as hosts
import pytest

from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.retrieve import RetrieveConfig, retrieve_candidates
from pickysteve.tasks.roles import OFF, open_roles
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.route_model import route_with_model
from pickysteve.tasks.values import Request

REQUEST = Request(text="it shakes at every corner")
QUERIES = {"query": "balance a  wheel", "sub_queries": ["align the wheel"], "tags": ["wheel", "tyre"]}


@pytest.fixture
def routed(host: Any) -> Any:
    role = open_roles(LlmConfig(provider="openai", base_url=host.url, model="m", timeout_seconds=1)).router

    def run(answer: Any) -> Any:
        host.tells(answer if callable(answer) else hosts.says(answer))
        return route_with_model(REQUEST, role, RouteConfig())

    return run


def test_queries_are_added_and_the_request_stays_what_is_ranked(routed: Any) -> None:
    plain, route = parse_request(REQUEST, RouteConfig()), routed(QUERIES)
    assert route.searches == ("balance a wheel wheel tyre", "align the wheel")
    assert (route.query, route.clauses, route.cuts) == (plain.query, plain.clauses, plain.cuts)
    assert (route.origin, route.spent[0].role) == ("model", "router")


def test_a_query_is_no_longer_than_it_may_be(routed: Any) -> None:
    assert max(map(len, routed(QUERIES | {"query": "wheel " * 300}).searches)) == 200


@pytest.mark.parametrize(
    "answer",
    [
        hosts.hangs,
        hosts.breaks_off,
        hosts.sends(b"{}", 404),
        hosts.says("wheels"),
        QUERIES | {"sub_queries": ["a", "b", "c", "d"]},
        QUERIES | {"skills": ["wheel-repair"]},
    ],
)
def test_a_model_that_fails_leaves_the_request_alone(routed: Any, answer: Any) -> None:
    route = routed(answer)
    assert route.degraded.startswith("searched with the request alone: ")
    assert route.model_copy(update={"degraded": "", "spent": ()}) == parse_request(REQUEST, RouteConfig())


def test_without_a_model_the_request_is_read_as_before() -> None:
    assert route_with_model(REQUEST, OFF, RouteConfig()) == parse_request(REQUEST, RouteConfig())


def test_a_search_brings_up_what_the_words_of_the_request_do_not(
    routed: Any, sketch: Any, index_of: Any, table_encoder: Any
) -> None:
    index = index_of(sketch("clocks", {"clocks": (1, 0, 0)}), sketch("wheels", {"wheels": (0, 1, 0)}))
    directions = {REQUEST.text: (1, 0.1, 0), "balance a wheel wheel tyre": (0, 1, 0)}
    encoder = table_encoder(directions | {"align the wheel": (0, 1, 0)})

    def first(route: Any) -> str:
        found = retrieve_candidates(REQUEST, route, index, encoder, RetrieveConfig(top_n=1))
        return found.candidates[0].unit_id

    assert first(parse_request(REQUEST, RouteConfig())) == "clocks"
    assert first(routed(QUERIES)) == "wheels"
