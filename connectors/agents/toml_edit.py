"""Edit TOML: append our tables to the text, or cut them out; tomlkit where a table is written inline.

Each way is tried on the text and taken only when the standard library's reader then finds exactly the
expected data, so that a wrong guess about where a table ends changes nothing.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pickysteve.connectors.agents.data import (
    EditRefused,
    lookup,
    placed,
    removed,
    same,
    spread,
    without_empty,
)
from pickysteve.connectors.agents.table import Entry

__all__ = ["drop_toml", "put_toml", "read_toml"]

HEADER = re.compile(r"^[ \t]*\[[^\n]*\][ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
BLANK_LINE = re.compile(r"(?<=\n)\r?\n\Z")
BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class _Section(NamedTuple):
    start: int
    end: int
    route: tuple[str, ...]
    is_row: bool


def read_toml(text: str) -> dict[str, Any]:
    """The data of a text. Raises EditRefused for what is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise EditRefused(str(error)) from error


def put_toml(text: str, entry: Entry) -> str:
    """Add an entry, or bring an existing one up to date."""
    expected = placed(read_toml(text), entry)
    if same(expected, read_toml(text)):
        return text
    if entry.kind == "row" or (entry.kind == "key" and lookup(read_toml(text), entry.route) is None):
        newline = "\r\n" if "\r\n" in text else "\n"
        ended = text if not text or text.endswith("\n") else text + newline
        longer = ended + (newline if text else "") + _block(entry, newline)
        if _gives(longer, expected, entry):
            return longer
    return _by_tomlkit(text, entry, expected, put=True)


def drop_toml(text: str, entry: Entry) -> str:
    """Take out an entry; comments around it stay."""
    expected = removed(read_toml(text), entry)
    if same(expected, read_toml(text)):
        return text
    if entry.kind != "member":
        ours = _ours(text, entry)
        # the first ones may be lines of a long string that only look like a table
        for at in range(len(ours)):
            cut = text
            for section in reversed(ours[at:]):
                cut = _cut(cut, section)
            if _gives(cut, expected, entry):
                return cut
    return _by_tomlkit(text, entry, expected, put=False)


def _gives(text: str, expected: Any, entry: Entry) -> bool:
    try:
        found = tomllib.loads(text)
    except ValueError:
        return False
    # a parent that only our header made is gone with it
    return same(*(without_empty(data, entry) for data in (found, expected)))


def _block(entry: Entry, newline: str) -> str:
    name = ".".join(key if BARE.match(key) else tomlkit.item(key).as_string() for key in entry.route)
    header = f"[[{name}]]" if entry.kind == "row" else f"[{name}]"
    lines = [f"{key} = {tomlkit.item(value).as_string()}" for key, value in entry.value.items()]
    return "".join(line + newline for line in (header, *lines))


def _sections(text: str) -> list[_Section]:
    """What looks like a table from its header to the next; text in a long string may look so too."""
    heads = [(head.start(), header) for head in HEADER.finditer(text) if (header := _header(head[0]))]
    ends = [start for start, _ in heads[1:]] + [len(text)] * bool(heads)
    return [_Section(start, end, *header) for (start, header), end in zip(heads, ends, strict=True)]


def _header(line: str) -> tuple[tuple[str, ...], bool] | None:
    try:
        data: Any = tomllib.loads(line.strip())
    except ValueError:
        return None
    route = []
    while isinstance(data, dict) and data:
        ((key, data),) = data.items()
        route.append(key)
    return tuple(route), isinstance(data, list)


def _ours(text: str, entry: Entry) -> list[_Section]:
    """The sections of an entry with those below it."""
    found, inside = [], False
    for section in _sections(text):
        depth = len(entry.route)
        if section.route[:depth] != entry.route:
            inside = False
        elif entry.kind == "key":
            inside = True
        elif section.route == entry.route:
            row = lookup(tomllib.loads(text[section.start : section.end]), entry.route)
            inside = section.is_row and row[0].get("name") == entry.value["name"]
        found += [section] * inside
    return found


def _cut(text: str, section: _Section) -> str:
    """Without a section and the blank line before it; comments at its end may belong to what follows."""
    lines = text[section.start : section.end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    end = section.start + len("".join(lines))
    return BLANK_LINE.sub("", text[: section.start]) + text[end:]


def _by_tomlkit(text: str, entry: Entry, expected: Any, *, put: bool) -> str:
    """The same through tomlkit, for tables that are there already, inline or dotted."""
    try:
        document = tomlkit.parse(text)
        if tomlkit.dumps(document) != text:
            raise EditRefused("it cannot be edited without writing other lines anew")
        for route in spread(read_toml(text), entry.route):
            (_put_item if put else _drop_item)(document, route, entry)
        result = str(tomlkit.dumps(document))
    except (TOMLKitError, TypeError, KeyError, AttributeError) as error:
        raise EditRefused(f"its form cannot be edited ({error})") from error
    if "\r\n" in text and not re.search(r"(?<!\r)\n", text):
        result = re.sub(r"(?<!\r)\n", "\r\n", result)
    if not _gives(result, expected, entry):
        raise EditRefused("its form cannot be edited")
    return result


def _put_item(document: Any, route: tuple[str, ...], entry: Entry) -> None:
    holder = document
    for key in route[:-1]:
        if key not in holder:
            holder[key] = tomlkit.table()
        holder = holder[key]
    last = route[-1]
    if entry.kind == "key":
        _merge(holder, last, entry.value)
    elif last not in holder:
        holder[last] = [entry.value]
    elif entry.kind == "member":
        holder[last].append(entry.value)
    else:
        at = _index(holder[last], entry)
        if at is None:
            holder[last].append(entry.value)
        else:
            _merge(holder[last], at, entry.value)


def _drop_item(document: Any, route: tuple[str, ...], entry: Entry) -> None:
    holder = document
    for key in route[:-1]:
        holder = holder[key]
    if entry.kind == "key":
        del holder[route[-1]]
    elif entry.kind == "member":
        holder[route[-1]].remove(entry.value)
    else:
        del holder[route[-1]][_index(holder[route[-1]], entry)]


def _index(rows: Any, entry: Entry) -> int | None:
    return next((at for at, row in enumerate(rows) if row.get("name") == entry.value["name"]), None)


def _merge(holder: Any, key: Any, value: Any) -> None:
    """Set a key, or the keys of a table that is there; what is the same already keeps its form."""
    there = holder[key] if isinstance(key, int) or key in holder else None
    if isinstance(value, dict) and isinstance(there, dict):
        for name, part in value.items():
            _merge(there, name, part)
    elif there != value:
        holder[key] = value
