"""Edit JSON: put a member into the text, or take it out, and leave every other character as it is."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pickysteve.connectors.agents.data import EditRefused
from pickysteve.connectors.agents.json_text import Member, Node, scan

__all__ = ["Splice", "drop_json", "put_json", "spliced"]

REST = re.compile(r"(?:[ \t]*(?://[^\n\r\u2028\u2029]*|/\*[^\n\r]*?\*/))*")
LINE_IS_OVER = re.compile(r"[ \t]*(?://|/\*[^\n\r]*\*/[ \t]*(?:[\n\r]|$)|[\n\r]|$)")


class Splice(NamedTuple):
    """Text to stand in the place of text[start:end]."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: list[Splice]) -> str:
    """The text with its splices, which do not overlap; those at one place stand in their order."""
    parts, at = [], 0
    for splice in sorted(splices, key=lambda one: one.start):
        parts += [text[at : splice.start], splice.text]
        at = splice.end
    return "".join((*parts, text[at:]))


def put_json(text: str, route: tuple[str, ...], value: Any) -> str:
    """Set a route to a value. Keys that an existing table has beyond the value's stay."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return text + _rendered(_nested(route, value), "", "  ", newline) + newline
    root = node = scan(text)
    for depth, key in enumerate(route):
        if not node.is_object:
            # only null gets here: the data was checked before
            return _replaced(text, root, node, _nested(route[depth:], value), newline)
        member = node.member(key)
        if member is None:
            return _inserted(text, root, node, key, _nested(route[depth + 1 :], value), newline)
        node = member.value
    if isinstance(value, dict) and node.is_object:
        for key, part in value.items():
            text = put_json(text, (*route, key), part)
        return text
    if not node.is_object and _is_same(text[node.start : node.end], value):
        return text
    return _replaced(text, root, node, value, newline)


def drop_json(text: str, route: tuple[str, ...]) -> str:
    """Take out the member of a route with its comma and its line; comments around it stay."""
    node = scan(text)
    for key in route[:-1]:
        member = node.member(key)
        if member is None:
            return text
        node = member.value
    member = node.member(route[-1])
    if member is None:
        return text
    # an earlier one of the same key would come to count now
    return drop_json(spliced(text, _removal(text, node, member)), route)


def _nested(route: tuple[str, ...], value: Any) -> Any:
    for key in reversed(route):
        value = {key: value}
    return value


def _is_same(source: str, value: Any) -> bool:
    try:
        return bool(json.loads(source) == value)
    except ValueError:
        return False


def _rendered(value: Any, indent: str, unit: str, newline: str) -> str:
    """A value as JSON: tables over several lines, lists on one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + unit
    members = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_rendered(part, inner, unit, newline)}"
        for key, part in value.items()
    ]
    return "{" + newline + f",{newline}".join(members) + newline + indent + "}"


def _indent(text: str, at: int) -> str:
    """The white space at the start of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")


def _unit(text: str, root: Node) -> str:
    """One step of indentation, as the first member of the file shows it."""
    first = next((member for member in root.members if _starts_line(text, member.start)), None)
    shown = _indent(text, first.start).removeprefix(_indent(text, root.start)) if first else ""
    return shown or "  "


def _replaced(text: str, root: Node, node: Node, value: Any, newline: str) -> str:
    rendered = _rendered(value, _indent(text, node.start), _unit(text, root), newline)
    return spliced(text, [Splice(node.start, node.end, rendered)])


def _inserted(text: str, root: Node, node: Node, key: str, value: Any, newline: str) -> str:
    """A new last member, in the form of its neighbours."""
    name = json.dumps(key, ensure_ascii=False)
    one_line = f"{name}: {json.dumps(value, ensure_ascii=False)}"
    unit = _unit(text, root)
    if not node.members:
        return _filled(text, root, node, (name, value, one_line), unit, newline)
    last = node.members[-1]
    if "\n" not in text[node.start : node.end]:
        if last.comma is not None:
            return spliced(text, [Splice(last.comma, last.comma, f" {one_line},")])
        return spliced(text, [Splice(last.value.end, last.value.end, f", {one_line}")])
    lines = [member for member in node.members if _starts_line(text, member.start)]
    indent = _indent(text, lines[-1].start) if lines else _indent(text, node.start) + unit
    line = f"{newline}{indent}{name}: {_rendered(value, indent, unit, newline)}"
    # behind the comment that stands on the neighbour's line, which is about the neighbour
    at = _behind_comments(text, last)
    if last.comma is not None:
        return spliced(text, [Splice(at, at, line + ",")])
    return spliced(text, [Splice(last.value.end, last.value.end, ","), Splice(at, at, line)])


def _behind_comments(text: str, member: Member) -> int:
    end = member.value.end if member.comma is None else member.comma
    found = REST.match(text, end)
    return found.end() if found else end


def _filled(text: str, root: Node, node: Node, parts: tuple[str, Any, str], unit: str, newline: str) -> str:
    """The first member of an empty object, behind whatever comment it holds."""
    name, value, one_line = parts
    inside = text[node.start + 1 : node.end - 1]
    at = node.start + 1 + len(inside.rstrip())
    if node is not root and "\n" not in text:
        return spliced(text, [Splice(at, at, one_line)])
    outer = _indent(text, node.start)
    line = f"{newline}{outer}{unit}{name}: {_rendered(value, outer + unit, unit, newline)}"
    closing = "" if "\n" in text[at : node.end - 1] else newline + outer
    return spliced(text, [Splice(at, at, line + closing)])


def _removal(text: str, node: Node, member: Member) -> list[Splice]:
    at = node.members.index(member)
    end = member.value.end if member.comma is None else member.comma
    if len(node.members) == 1:
        around = text[node.start + 1 : member.start] + text[end : node.end - 1]
        if not around.strip():
            return [Splice(node.start + 1, node.end - 1, "")]
    anchor = node.members[at - 1].value.end if at else node.start
    start = _start_of_removal(text, anchor, member.start, end)
    while start == member.start and text[end] in " \t":
        end += 1
    splices = [Splice(start, end, "")]
    if member.comma is None and at > 0:
        before = node.members[at - 1].comma
        if before is None:
            raise EditRefused("it has members without a comma between them")
        splices.insert(0, Splice(before - 1, before, ""))
    return splices


def _start_of_removal(text: str, anchor: int, start: int, end: int) -> int:
    """With the white space before it, and its line break too where that leaves the next thing in place."""
    before = len(text[:start].rstrip(" \t"))
    if not _starts_line(text, start):
        return before
    # behind a comment to the end of the line before nothing may follow
    line_before = max(anchor, text.rfind("\n", 0, max(before - 1, 0)) + 1)
    closes = text[end:].lstrip(" \t").startswith("}") and "//" not in text[line_before:before]
    if not LINE_IS_OVER.match(text, end) and not closes:
        return start
    before -= text.startswith("\n", before - 1)
    return before - text.startswith("\r", before - 1)
