"""What this process holds open, by key: engines are opened once, however many task runs ask for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar, cast

__all__ = ["adopted", "opened_once"]

Thing = TypeVar("Thing")

KEPT = 2
"""How many are kept that were opened here: those of two evaluations at once on one cluster."""


class _Held:
    """Things by key: the latest that were opened here, and those that somebody else owns."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.own: OrderedDict[str, object] = OrderedDict()
        self.lent: dict[str, object] = {}


# the one mutable global: a task run is given words, and must find in its process what is open there
_HELD = _Held()


@contextmanager
def adopted(key: str, thing: object) -> Iterator[None]:
    """Lend something that is open already to the task runs of this process, for as long as this lasts."""
    with _HELD.lock:
        _HELD.lent[key] = thing
    try:
        yield
    finally:
        with _HELD.lock:
            del _HELD.lent[key]


def opened_once(key: str, open_it: Callable[[], Thing]) -> Thing:
    """What stands under the key, opened now if nothing does; threads that ask meanwhile wait for it.

    The caller vouches that one key is always of one type.
    """
    with _HELD.lock:
        if key in _HELD.lent:
            return cast(Thing, _HELD.lent[key])
        thing = cast(Thing, _HELD.own.pop(key)) if key in _HELD.own else open_it()
        _HELD.own[key] = thing
        while len(_HELD.own) > KEPT:
            _HELD.own.popitem(last=False)
        return thing
