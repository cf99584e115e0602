"""Answers: the schema that a model is asked for, and the value that its text holds."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

__all__ = ["AnswerError", "read_answer", "wire_schema"]

Answer = TypeVar("Answer", bound=BaseModel)

FENCED = re.compile(r"\s*```[a-z]*\s*\n(.*)\n\s*```\s*", re.DOTALL)
# Hosts that compile the schema refuse these, or ignore them; our own validation does not.
NOT_ON_THE_WIRE = {"title", "default", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"}


class AnswerError(ValueError):
    """The text holds no value of the schema."""


def wire_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of an answer with every property required, as strict hosts demand it."""
    schema: dict[str, Any] = _stripped(answer.model_json_schema())
    return schema


def _stripped(node: Any) -> Any:
    if isinstance(node, list):
        return [_stripped(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _stripped(value) for key, value in node.items() if key not in NOT_ON_THE_WIRE}
    for names in ("properties", "$defs"):
        if names in node:  # below stand names of ours, which may be called "title"
            kept[names] = {name: _stripped(value) for name, value in node[names].items()}
    if "properties" in node:
        kept |= {"required": list(node["properties"]), "additionalProperties": False}
    return kept


def read_answer(text: str, answer: type[Answer], *, exact: bool = False) -> tuple[Answer, bool]:
    """The value, and whether the JSON had to be taken out of something else.

    One repair: a code fence around the whole is taken off, or else the outermost object is read. With
    `exact` only the fence is: an object in a sentence may be one that the model quotes.

    Raises:
        AnswerError: neither reading is a value of the schema.
    """
    try:
        return _value(text, answer), False
    except AnswerError as broken:
        inner = _inner(text, exact=exact)
        if not inner or inner == text:
            raise broken from None
    return _value(inner, answer), True


def _inner(text: str, *, exact: bool) -> str:
    if fenced := FENCED.fullmatch(text):
        return fenced[1]
    return "" if exact else text[text.find("{") : text.rfind("}") + 1]


def _value(text: str, answer: type[Answer]) -> Answer:
    try:
        json.loads(text, object_pairs_hook=_without_duplicates)
        return answer.model_validate_json(text, strict=True)
    except AnswerError:
        raise
    except ValidationError as error:
        raise AnswerError(_complaint(error)) from None
    except (ValueError, RecursionError):
        raise AnswerError("the answer is not one JSON object") from None


def _complaint(error: ValidationError) -> str:
    """What does not fit, in our words and names alone: the model's text stays out of messages."""
    first = error.errors(include_input=False, include_url=False)[0]
    if first["type"] == "extra_forbidden":
        return "a field was not asked for"
    place = ".".join(str(part) for part in first["loc"]) or "the answer"
    return f"{place}: {first['msg']}"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise AnswerError("a name stands twice in an object")
    return found
