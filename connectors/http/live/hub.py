"""Hub: what is shown of the latest runs, and who is told of each change.

A run is one JSON object. Threads change it, and every change goes to all subscribers as it is; one that
comes later, or comes back, starts with a snapshot. Nobody is waited for: a subscriber that does not keep up
is dropped, and its page connects again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from secrets import token_hex
from typing import Any

__all__ = ["KEPT_RUNS", "Hub", "Shown", "Subscription"]

Shown = dict[str, Any]
"""A run as the page reads it: run, state, stages by name, and whatever is known by now."""

KEPT_RUNS = 20
WAITING_CHANGES = 256
"""A run makes about 30 changes: so many runs at once may pass before a page that sleeps is dropped."""
LARGE = frozenset(["bundle", "candidates"])
"""Not in a snapshot: a page asks for the run that it shows."""
ENDED = frozenset(["done", "failed", "cancelled"])


class Hub:
    """The latest runs and their subscribers. Safe for threads; events reach any event loop."""

    def __init__(self, kept_runs: int = KEPT_RUNS, waiting_changes: int = WAITING_CHANGES) -> None:
        self.kept_runs = kept_runs
        self.waiting_changes = waiting_changes
        self._runs: OrderedDict[str, Shown] = OrderedDict()
        self._subscribers: set[Subscription] = set()
        self._lock = threading.Lock()

    def begin(self, **known: Any) -> str:
        """Show a new run, and forget the oldest; returns its id."""
        run = token_hex(6)
        with self._lock:
            self._runs[run] = {"run": run, "state": "waiting", "stages": {}}
            while len(self._runs) > self.kept_runs:
                ended = (name for name, shown in self._runs.items() if shown["state"] in ENDED)
                del self._runs[next(ended, next(iter(self._runs)))]
        self.change(run, state="waiting", **known)
        return run

    def change(self, run: str, *, stage: Shown | None = None, **changes: Any) -> None:
        """Show something new of a run; `stage` replaces that stage alone. A forgotten run stays so."""
        with self._lock:
            shown = self._runs.get(run)
            if shown is None:
                return
            if shown["state"] in ENDED:
                # what has ended is not ended again, by one who hangs up a moment too late
                changes.pop("state", None)
            shown.update(changes)
            if stage is not None:
                shown["stages"] = {**shown["stages"], stage["name"]: stage}
                changes["stage"] = stage
            told = {"run": run, **{name: value for name, value in changes.items() if name != "bundle"}}
            for subscriber in tuple(self._subscribers):
                if not subscriber.tell(told):
                    self._subscribers.discard(subscriber)

    def run(self, run: str) -> Shown | None:
        """All that is shown of one run; None where it is unknown or forgotten."""
        with self._lock:
            shown = self._runs.get(run)
            return dict(shown) if shown is not None else None

    def subscribe(self) -> Subscription:
        """Begin to listen, on the running event loop; the snapshot and the changes leave no gap."""
        with self._lock:
            runs = [
                {name: v for name, v in shown.items() if name not in LARGE} for shown in self._runs.values()
            ]
            subscriber = Subscription(runs, self.waiting_changes)
            self._subscribers.add(subscriber)
        return subscriber

    def leave(self, subscriber: Subscription) -> None:
        """Tell this one nothing more."""
        with self._lock:
            self._subscribers.discard(subscriber)

    @property
    def subscribers(self) -> int:
        """How many listen."""
        return len(self._subscribers)


class Subscription:
    """What one subscriber was not yet told. Iterate over the changes; the end means that it was dropped."""

    def __init__(self, snapshot: list[Shown], most: int) -> None:
        self.snapshot = snapshot
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Shown] = deque()
        self._news = asyncio.Event()
        self._dropped = False

    def tell(self, change: Shown) -> bool:
        """From any thread; False when the subscriber is to be dropped."""
        if len(self._waiting) >= self._most:
            self._dropped = True
        else:
            self._waiting.append(change)
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:
            # its server has ended, and its loop with it
            return False
        return not self._dropped

    async def __aiter__(self) -> AsyncIterator[Shown]:
        """Each change, in order."""
        while not self._dropped:
            while self._waiting:
                yield self._waiting.popleft()
            if not self._dropped:
                await self._news.wait()
                self._news.clear()
