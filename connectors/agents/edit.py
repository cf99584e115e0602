"""Edit: bytes of a configuration file in, bytes with or without our entries out, checked by reading them."""

from __future__ import annotations

import codecs
from typing import Any, Literal

from pickysteve.connectors.agents.data import (
    EditRefused,
    conflicts,
    holders,
    lookup,
    placed,
    removed,
    same,
    without_empty,
)
from pickysteve.connectors.agents.json_edit import drop_json, put_json
from pickysteve.connectors.agents.json_text import confirm_json, read_json
from pickysteve.connectors.agents.table import Entry, Format
from pickysteve.connectors.agents.toml_edit import drop_toml, put_toml, read_toml
from pickysteve.connectors.agents.yaml_edit import drop_yaml, put_yaml, read_yaml

__all__ = ["State", "connected", "disconnected", "read_config", "state_of"]

State = Literal["absent", "same", "other"]


def _text(content: bytes) -> tuple[bytes, str]:
    """Byte order mark and text; raises EditRefused for what is not UTF-8."""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, content[len(mark) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditRefused(f"byte {error.start + len(mark)} is not UTF-8") from error


def _load(text: str, form: Format) -> Any:
    if form == "toml":
        return read_toml(text)
    return read_yaml(text) if form == "yaml" else read_json(text, form)


def read_config(content: bytes, form: Format) -> Any:
    """The data of a file; None for an empty one. Raises EditRefused for what is not valid in its form."""
    return _load(_text(content)[1], form)


def state_of(data: Any, entries: tuple[Entry, ...]) -> State:
    """Whether entries are there as we would write them; keys that the user added to them do not count."""
    if all(same(placed(data, entry), {} if data is None else data) for entry in entries):
        return "same"
    first = entries[0]
    return "absent" if same(removed(data, first), data) else "other"


def connected(content: bytes, form: Format, entries: tuple[Entry, ...]) -> bytes:
    """The file with our entries and nothing else changed. Raises EditRefused when that cannot be done."""
    mark, text = _text(content)
    for entry in entries:
        data = _load(text, form)
        expected = placed(data, entry)
        if (
            entry.kind == "key"
            and conflicts(old := lookup(data, entry.route), entry.value)
            and old is not None
        ):
            text = _drop(text, form, entry)
        text = _put(text, form, entry)
        if not same(_load(text, form), expected):
            raise EditRefused("the entry would not be read back as it was written")
    _confirm(text, form)
    try:
        return mark + text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EditRefused("the path of the command is not UTF-8") from error


def disconnected(content: bytes, form: Format, entries: tuple[Entry, ...], original: Any = None) -> bytes:
    """The file without our entries and all else as it is.

    Tables that held nothing else go too, when `original`, the data before us, is known and lacks them.
    """
    mark, text = _text(content)
    original = _load(text, form) if original is None else original
    for entry in reversed(entries):
        expected = removed(_load(text, form), entry)
        text = _drop(text, form, entry, leave_null=_was_null(original, entry.route[:-1]))
        text = _without_made_tables(text, form, entry, original)
        ours, theirs = (without_empty(data, entry) for data in (_load(text, form), expected))
        if not same(ours or {}, theirs or {}):
            raise EditRefused("the entry cannot be taken out without a change to something else")
    _confirm(text, form)
    return mark + text.encode("utf-8")


def _confirm(text: str, form: Format) -> None:
    """A second reader has the last word on JSON with comments, which a scanner of ours has read."""
    if form not in ("toml", "yaml") and text.strip():
        confirm_json(text, _load(text, form))


def _put(text: str, form: Format, entry: Entry) -> str:
    if form == "toml":
        return put_toml(text, entry)
    return (put_yaml if form == "yaml" else put_json)(text, entry.route, entry.value)


def _drop(text: str, form: Format, entry: Entry, *, leave_null: bool = False) -> str:
    if form == "toml":
        return drop_toml(text, entry)
    if form == "yaml":
        return drop_yaml(text, entry.route, leave_null=leave_null)
    return drop_json(text, entry.route)


def _was_null(original: Any, route: tuple[str, ...]) -> bool:
    """Whether a key stood there without a value."""
    holder = lookup(original, route[:-1])
    return isinstance(holder, dict) and route[-1] in holder and holder[route[-1]] is None


def _without_made_tables(text: str, form: Format, entry: Entry, original: Any) -> str:
    """Take out what our entry alone had filled, innermost first, save what was there before us."""
    for route in list(holders(_load(text, form), entry)):
        holder = Entry(route=route, value={})
        was_there = not same(removed(original, holder), original)
        if not was_there and lookup(_load(text, form), route) in ({}, []):
            text = _drop(text, form, holder)
    return text
