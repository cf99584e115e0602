"""Edit YAML: put a key into the text, or take it out, and leave every other character as it is.

ruamel.yaml reads the data and says where each node stands. Its own writer is not used: it may set
indentation, quotes and line breaks anew.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pickysteve.connectors.agents.data import EditRefused
from pickysteve.connectors.agents.json_edit import Splice, spliced

__all__ = ["drop_yaml", "put_yaml", "read_yaml"]

PLAIN = re.compile(r"[A-Za-z_][\w-]*\Z")
STEP = "  "


def read_yaml(text: str) -> Any:
    """The data of a text; None for an empty one. Raises EditRefused for what is no single document."""
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise EditRefused(" ".join(str(error).split())) from error


def put_yaml(text: str, route: tuple[str, ...], value: Any) -> str:
    """Set a route to a value. Keys that an existing table has beyond the value's stay."""
    newline = "\r\n" if "\r\n" in text else "\n"
    node = _compose(text)
    if node is None:
        return _ended(text, newline) + _block(route, value, "", newline)
    key_node: Node | None = None
    for depth, key in enumerate(route):
        if not isinstance(node, MappingNode):
            return _for_null(text, key_node, node, route[depth:], value, newline)
        found = _find(node, key)
        if found is None:
            return _inserted(text, key_node, node, route[depth:], value, newline)
        key_node, node = found
    if isinstance(value, dict) and isinstance(node, MappingNode):
        for key, part in value.items():
            text = put_yaml(text, (*route, key), part)
        return text
    end = _end(node)
    if end > node.start_mark.index and read_yaml(text[node.start_mark.index : end]) == value:
        return text
    gap = " " if end == node.start_mark.index and not text[:end].endswith(" ") else ""
    return spliced(text, [Splice(node.start_mark.index, end, gap + json.dumps(value, ensure_ascii=False))])


def drop_yaml(text: str, route: tuple[str, ...], *, leave_null: bool = False) -> str:
    """Take out the key of a route with its lines; comments around them stay.

    A table that holds nothing then is written as `{}`, or with `leave_null` as a key without a value.
    """
    node = _compose(text)
    for key in route[:-1]:
        found = _find(node, key) if isinstance(node, MappingNode) else None
        if found is None:
            return text
        node = found[1]
    found = _find(node, route[-1]) if isinstance(node, MappingNode) else None
    if found is None or not isinstance(node, MappingNode):
        return text
    if node.flow_style:
        return spliced(text, [_flow_removal(text, node, found)])
    start = text.rfind("\n", 0, found[0].start_mark.index) + 1
    end = _end(found[1])
    over = text.find("\n", end - (end > 0 and text[end - 1] == "\n"))
    end = len(text) if over < 0 else over + 1
    alone = len(node.value) == 1 and len(route) > 1 and not leave_null
    return spliced(text, [Splice(start, end, _empty(text, start, found[0]) if alone else "")])


def _compose(text: str) -> Node | None:
    node: Node | None = YAML(typ="rt", pure=True).compose(text)
    return node


def _find(node: MappingNode, key: str) -> tuple[Node, Node] | None:
    return next((pair for pair in node.value if pair[0].value == key), None)


def _end(node: Node) -> int:
    """Where the last thing of a node ends; a block's end mark lies behind the comments that follow it."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _key(key: str) -> str:
    return key if PLAIN.match(key) else json.dumps(key, ensure_ascii=False)


def _block(route: tuple[str, ...], value: Any, indent: str, newline: str) -> str:
    """Lines for a route and its value; lists, texts and empty tables in JSON's form, which YAML includes."""
    if len(route) > 1:
        rest = _block(route[1:], value, indent + STEP, newline)
        return f"{indent}{_key(route[0])}:{newline}{rest}"
    if not isinstance(value, dict) or not value:
        return f"{indent}{_key(route[0])}: {json.dumps(value, ensure_ascii=False)}{newline}"
    parts = "".join(_block((key,), part, indent + STEP, newline) for key, part in value.items())
    return f"{indent}{_key(route[0])}:{newline}{parts}"


def _flow(route: tuple[str, ...], value: Any) -> str:
    for key in reversed(route[1:]):
        value = {key: value}
    return f"{json.dumps(route[0], ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _line_end(text: str, at: int) -> int:
    over = text.find("\n", at)
    return len(text) if over < 0 else over + 1


def _inserted(
    text: str, parent_key: Node | None, node: MappingNode, route: tuple[str, ...], value: Any, newline: str
) -> str:
    """A new key: in braces behind the first, at the root at the end, else right under its parent's line."""
    if node.flow_style:
        at = node.start_mark.index + 1
        return spliced(text, [Splice(at, at, _flow(route, value) + (", " if node.value else ""))])
    indent = " " * node.start_mark.column
    if parent_key is None:
        return _ended(text, newline) + _block(route, value, indent, newline)
    at = _line_end(text, parent_key.end_mark.index)
    return spliced(text, [Splice(at, at, _block(route, value, indent, newline))])


def _for_null(
    text: str, parent_key: Node | None, node: Node, route: tuple[str, ...], value: Any, newline: str
) -> str:
    """Under a key without a value; a written null gives way to braces."""
    if parent_key is None or not isinstance(node, ScalarNode):
        raise EditRefused("its root is not a table of keys")
    start, end = node.start_mark.index, node.end_mark.index
    if start < end:
        return spliced(text, [Splice(start, end, "{" + _flow(route, value) + "}")])
    at = _line_end(text, parent_key.end_mark.index)
    lines = _block(route, value, " " * parent_key.start_mark.column + STEP, newline)
    return _ended(text[:at], newline) + lines + text[at:]


def _empty(text: str, start: int, key: Node) -> str:
    """What a table keeps when its only key goes."""
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[start : key.start_mark.index] + "{}" + newline


def _flow_removal(text: str, node: MappingNode, found: tuple[Node, Node]) -> Splice:
    at = node.value.index(found)
    if at + 1 < len(node.value):
        return Splice(found[0].start_mark.index, node.value[at + 1][0].start_mark.index, "")
    start = node.value[at - 1][1].end_mark.index if at else node.start_mark.index + 1
    return Splice(start, found[1].end_mark.index, "")
