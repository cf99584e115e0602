"""Turns: the pick of each user turn, made once.

An agent sends the same turn again with every step of its loop. It gets the same bytes each time, at
the same place, so that the model host's own prompt cache keeps working.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from pickysteve.connectors.http.dialects import Turn

__all__ = ["Reply", "TurnPicks", "turn_keys"]

Reply = dict[str, Any]


def turn_keys(turns: tuple[Turn, ...]) -> tuple[str, ...]:
    """A name for each turn: what the user has said up to there."""
    keys, before = [], ""
    for turn in turns:
        before = sha256(f"{before}\0{turn.text}".encode("utf-8", "surrogatepass")).hexdigest()
        keys.append(before)
    return tuple(keys)


class TurnPicks:
    """The latest picks. Calls for the same turn at the same time wait for one pick."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._picks: OrderedDict[str, asyncio.Future[Reply]] = OrderedDict()

    async def get(self, key: str, pick: Callable[[], Awaitable[Reply]]) -> Reply:
        """The pick of a turn, made now if it is new. A pick that failed is not kept."""
        if key in self._picks:
            self._picks.move_to_end(key)
        else:
            made = self._picks[key] = asyncio.ensure_future(pick())
            made.add_done_callback(lambda done: self._forget_failure(key, done))
            while len(self._picks) > self.most:
                self._picks.popitem(last=False)
        # a caller that goes away does not take the pick from the others
        return await asyncio.shield(self._picks[key])

    def _forget_failure(self, key: str, pick: asyncio.Future[Reply]) -> None:
        if (pick.cancelled() or pick.exception()) and self._picks.get(key) is pick:
            del self._picks[key]

    def known(self, key: str) -> Reply | None:
        """The pick of an earlier turn, if it is still remembered."""
        future = self._picks.get(key)
        done = future is not None and future.done() and not future.cancelled() and future.exception() is None
        return future.result() if future is not None and done else None
