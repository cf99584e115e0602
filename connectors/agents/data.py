"""Data: what a configuration holds after our entries are added or taken away, in plain values."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from pickysteve.connectors.agents.table import Entry, Target

__all__ = [
    "EditRefused",
    "conflicts",
    "fitting",
    "holders",
    "lookup",
    "merged",
    "placed",
    "removed",
    "same",
    "spread",
    "without_empty",
]

REMOTE = {"url", "serverUrl", "httpUrl", "uri"}
"""Keys of an entry for a server at an address: ours cannot be merged into such a one."""


class EditRefused(ValueError):
    """A text that an editor will not touch; says why, as a fragment for the sentence around it."""


def same(left: Any, right: Any) -> bool:
    """Equality that tells true from 1 and takes NaN as equal to itself; the order of keys does not count."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or (left != left and right != right))


def lookup(data: Any, route: tuple[str, ...]) -> Any:
    """What stands at a route; None when nothing does."""
    for key in route:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def fitting(target: Target, data: Any) -> Target:
    """The target with the entries of the form that a file has; where an entry of ours is, it decides."""
    other = target.other_form
    if other is None or lookup(data, target.entries[0].route) is not None:
        return target
    holder = lookup(data, other.holder)
    # a server that happens to have that name is no table of servers
    is_there = isinstance(holder, dict) and all(isinstance(value, dict) for value in holder.values())
    return target.model_copy(update={"entries": other.entries}) if is_there else target


def conflicts(old: Any, new: Any) -> bool:
    """Whether an old entry is of another kind, so that it is replaced and not merged into."""
    return isinstance(new, dict) and (not isinstance(old, dict) or bool(REMOTE & old.keys() - new.keys()))


def merged(old: Any, new: Any) -> Any:
    """Our keys in the old entry; what the user added to it stays."""
    if not isinstance(new, dict) or conflicts(old, new):
        return copy.deepcopy(new)
    return {**old, **{key: merged(old[key], value) if key in old else value for key, value in new.items()}}


def spread(data: Any, route: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The routes that a route with a `*` means in some data."""
    if "*" not in route:
        yield route
        return
    at = route.index("*")
    tables = lookup(data, route[:at])
    for key, value in tables.items() if isinstance(tables, dict) else ():
        if isinstance(value, dict):
            yield from spread(data, (*route[:at], key, *route[at + 1 :]))


def placed(data: Any, entry: Entry) -> Any:
    """The data with an entry. Raises EditRefused where its route leads through something else."""
    data = {} if data is None else copy.deepcopy(data)
    for route in spread(data, entry.route):
        holder = _holder(data, route)
        old = holder.get(route[-1])
        if entry.kind == "key":
            holder[route[-1]] = merged(old, entry.value) if route[-1] in holder else entry.value
            continue
        items = list(_items(old, route))
        if entry.kind == "row":
            at = next((i for i, item in enumerate(items) if _named(item, entry)), len(items))
            items[at : at + 1] = [merged(items[at], entry.value) if at < len(items) else entry.value]
        elif entry.value not in items:
            items.append(entry.value)
        holder[route[-1]] = items
    return data


def removed(data: Any, entry: Entry) -> Any:
    """The data without an entry."""
    data = copy.deepcopy(data)
    for route in spread(data, entry.route):
        holder = lookup(data, route[:-1])
        if not isinstance(holder, dict) or route[-1] not in holder:
            continue
        if entry.kind == "key":
            del holder[route[-1]]
        else:
            old = _items(holder[route[-1]], route)
            kept = [
                item
                for item in old
                if not (_named(item, entry) if entry.kind == "row" else item == entry.value)
            ]
            holder[route[-1]] = kept
    return data


def holders(data: Any, entry: Entry) -> Iterator[tuple[str, ...]]:
    """The routes of what an entry stands in, innermost first: what may be empty without it."""
    deepest = len(entry.route) - (entry.kind == "key")
    for whole in spread(data, entry.route):
        yield from (whole[:depth] for depth in range(deepest, 0, -1))


def without_empty(data: Any, entry: Entry) -> Any:
    """The data without what an entry stands in, as far as that holds nothing."""
    data = copy.deepcopy(data)
    for route in list(holders(data, entry)):
        outer = lookup(data, route[:-1])
        if isinstance(outer, dict) and outer.get(route[-1]) in ({}, [], None):
            outer.pop(route[-1], None)
    return data


def _holder(data: Any, route: tuple[str, ...]) -> dict[str, Any]:
    """The table of a route's last key; what is missing on the way, or null, becomes an empty table."""
    for depth, key in enumerate(route):
        if not isinstance(data, dict):
            raise EditRefused(f'its "{".".join(route[:depth]) or "root"}" is not a table of keys')
        holder = data
        if data.get(key) is None and depth < len(route) - 1:
            data[key] = {}
        data = data.get(key)
    return holder


def _items(value: Any, route: tuple[str, ...]) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise EditRefused(f'its "{".".join(route)}" is not a list')
    return value or []


def _named(item: Any, entry: Entry) -> bool:
    return isinstance(item, dict) and item.get("name") == entry.value["name"]
