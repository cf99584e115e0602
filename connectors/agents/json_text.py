"""JSON text: its data, and where each member stands, for JSON with or without comments and for JSON5.

The reader of data is the standard library's, or the json5 package where the text is not plain JSON. The
positions come from a scanner of our own, because no parser in Python gives them for all of these forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import json5

from pickysteve.connectors.agents.data import EditRefused, same
from pickysteve.connectors.agents.table import Format

__all__ = ["Member", "Node", "confirm_json", "read_json", "scan"]

TOKEN = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<mark>[{}\[\]:,])
    | (?P<word>[^\s{}\[\]:,"'/]+)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: text[start:end]. Only objects have members."""

    start: int
    end: int
    is_object: bool = False
    members: tuple[Member, ...] = ()

    def member(self, key: str) -> Member | None:
        """The member of a key; the last one counts, as it does for every JSON reader."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@dataclass(frozen=True, slots=True)
class Member:
    """A key with its value; `comma` is the position behind the comma that follows, if one does."""

    key: str
    start: int
    value: Node
    comma: int | None


def read_json(text: str, form: Format) -> Any:
    """The data of a text; None for an empty one. Raises EditRefused for what the form does not allow."""
    if not text.strip():
        return None
    try:
        return _strict(text)
    except (ValueError, RecursionError) as error:
        if form == "json":
            raise EditRefused(str(error)) from error
    try:
        return _by_json5(text) if form == "json5" else _strict(_plain(text, commas=form == "jsonc"))
    except (ValueError, RecursionError) as error:
        raise EditRefused(str(error).removeprefix("<string>:")) from error


def confirm_json(text: str, data: Any) -> None:
    """Raises EditRefused when the json5 package reads other data in a text that is not plain JSON."""
    try:
        _strict(text)
    except ValueError:
        try:
            again = _by_json5(text)
        except (ValueError, RecursionError) as error:
            raise EditRefused(str(error).removeprefix("<string>:")) from error
        if not same(again, data):
            raise EditRefused("its comments can be read in two ways") from None


@lru_cache(maxsize=4)
def _by_json5(text: str) -> Any:
    # the package reads some 35 kB in a second; what it returns is never changed
    return json5.loads(text)


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _plain(text: str, *, commas: bool) -> str:
    """The text with spaces for its comments and, where they are legal, for its trailing commas."""
    kept: list[str] = []
    last_comma = -1
    for token in _tokens(text, everything=True):
        part = token[0]
        if token.lastgroup == "comment":
            part = re.sub(r"[^\r\n]", " ", part)
        elif token.lastgroup != "space":
            if part in "}]" and commas and last_comma >= 0:
                kept[last_comma] = " "
            last_comma = len(kept) if part == "," else -1
        kept.append(part)
    return "".join(kept)


def _tokens(text: str, *, everything: bool = False) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise EditRefused(f"line {text.count(chr(10), 0, at) + 1} holds something unexpected")
        at = token.end()
        if everything or token.lastgroup not in ("space", "comment"):
            yield token


def scan(text: str) -> Node:
    """The positions of a text that has been read before, so that it is known to be valid."""
    try:
        tokens = _tokens(text)
        return _value(next(tokens), tokens)
    except (StopIteration, RecursionError) as error:
        raise EditRefused("it is nested too deeply, or ends too early") from error


def _value(first: re.Match[str], tokens: Iterator[re.Match[str]]) -> Node:
    if first[0] == "{":
        return _object(first.start(), tokens)
    if first[0] != "[":
        return Node(first.start(), first.end())
    token = next(tokens)
    while token[0] != "]":
        if token[0] != ",":
            _value(token, tokens)
        token = next(tokens)
    return Node(first.start(), token.end())


def _object(start: int, tokens: Iterator[re.Match[str]]) -> Node:
    members: list[Member] = []
    token = next(tokens)
    while token[0] != "}":
        key = token
        next(tokens)
        value = _value(next(tokens), tokens)
        token = next(tokens)
        comma = token.end() if token[0] == "," else None
        members.append(Member(_key(key[0]), key.start(), value, comma))
        if comma is not None:
            token = next(tokens)
    return Node(start, token.end(), is_object=True, members=tuple(members))


def _key(token: str) -> str:
    if token[0] == '"' and "\\" not in token:
        return token[1:-1]
    try:
        return str(next(iter(json5.loads(f"{{{token}: 0}}"))))
    except ValueError as error:
        raise EditRefused(f"{token[:40]!r} is no key") from error
