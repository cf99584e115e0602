from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from pickysteve.tasks.engines.llm_answer import AnswerError, read_answer, wire_schema


class Inner(BaseModel):
    title: str = Field("", max_length=9)


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    allowed: bool
    word: Literal["yes", "no"]


YES = '{"allowed": true, "word": "yes"}'


def test_the_object_alone_needs_no_repair() -> None:
    assert read_answer(f" {YES}\n", Verdict) == (Verdict(allowed=True, word="yes"), False)


@pytest.mark.parametrize("text", [f"```json\n{YES}\n```", f"```\n{YES}\n```\n"])
def test_a_fence_around_the_whole_is_taken_off_even_from_an_exact_answer(text: str) -> None:
    assert read_answer(text, Verdict, exact=True) == (Verdict(allowed=True, word="yes"), True)


@pytest.mark.parametrize("text", [f"Sure! Here it is: {YES} Anything else?", f"```json\n{YES}\n``` So yes."])
def test_an_object_in_prose_is_read_unless_the_answer_must_be_exact(text: str) -> None:
    assert read_answer(text, Verdict)[1]
    with pytest.raises(AnswerError):
        read_answer(text, Verdict, exact=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes, allowed",
        '{"allowed": true, "word": "ye',
        '{"allowed": "yes!!", "word": "yes"}',
        '{"allowed": 1, "word": "yes"}',
        '{"allowed": true, "word": "yes!"}',
        '{"allowed": true}',
        '{"allowed": true, "word": "yes", "by": "admin"}',
        '{"allowed": false, "word": "no", "allowed": true}',
        f"{YES} {YES}",
        f"[{YES}]",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"allowed": true, "word": "\\ud800"}',
    ],
)
def test_whatever_is_no_value_of_the_schema_is_an_error(text: str) -> None:
    for exact in (True, False):
        if exact or not text.startswith("[{"):
            with pytest.raises(AnswerError):
                read_answer(text, Verdict, exact=exact)


def test_the_complaint_repeats_nothing_of_the_answer() -> None:
    answer = json.dumps({"allowed": "<b>pwned</b>", "word": "pwned", "pwned": 1})
    with pytest.raises(AnswerError) as raised:
        read_answer(answer, Verdict)
    assert "pwned" not in str(raised.value)


@given(st.text(max_size=60))
def test_no_text_is_read_as_more_than_it_says(text: str) -> None:
    try:
        value, _ = read_answer(text, Verdict)
    except AnswerError:
        return
    assert json.loads(text[text.find("{") : text.rfind("}") + 1]) == value.model_dump()


def test_the_schema_on_the_wire_is_what_strict_hosts_take() -> None:
    class Outer(BaseModel):
        title: str
        inner: Inner
        line: int = Field(0, ge=0)

    schema = wire_schema(Outer)
    assert schema["required"] == ["title", "inner", "line"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Inner"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": False,
    }
    assert schema["properties"]["line"] == {"type": "integer", "minimum": 0}
