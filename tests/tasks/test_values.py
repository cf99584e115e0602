from __future__ import annotations

import types
import typing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pickysteve.registry.models import Finding, Value, Verdict
from pickysteve.tasks import values

MODELS = [getattr(values, name) for name in values.__all__ if name not in {"Status", "Way"}] + [
    Verdict,
    Finding,
]
PLAIN = {
    str: st.text(max_size=8),
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    Any: st.recursive(
        st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)
    ),
}


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(of_type(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=2)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(st.none() if a is types.NoneType else of_type(a) for a in arguments)
    return st.deferred(lambda: built(kind))


def built(model: type[Value]) -> st.SearchStrategy[Value]:
    return st.builds(model, **{name: of_type(f.annotation) for name, f in model.model_fields.items()})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_value_comes_back_from_json_as_it_was(model: type[Value]) -> None:
    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(built(model))
    def check(value: Value) -> None:
        assert model.model_validate_json(value.model_dump_json()) == value
        assert model.model_validate(value.model_dump(mode="json")) == value

    check()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_value_is_frozen_and_closed(model: type[Value]) -> None:
    assert issubclass(model, Value)
    assert model.model_config.get("frozen") is True
    assert model.model_config.get("extra") == "forbid"


def test_a_field_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValidationError):
        values.Request.model_validate({"text": "x", "excluded": []})


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        values.Request(text="x").text = "y"


def test_the_halves_of_a_route_follow_its_cuts() -> None:
    cuts = tuple(values.Cut(first=a, second=b, signalled=False) for a, b in ("ab", "cd"))
    assert values.Route(query="x", clauses=(), cuts=cuts).halves == ("a", "b", "c", "d")
