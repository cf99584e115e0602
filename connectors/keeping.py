"""Staying with what `up` started, and starting again what ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pickysteve.connectors.standing import (
    PROCESSES,
    Standing,
    Tell,
    bring_down,
    bring_up_again,
)
from pickysteve.errors import PickyError

__all__ = ["keep_up"]

LOOK_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
# what has run for so long has started well: the next end is a new one
SETTLED_SECONDS = 60.0


def keep_up(standing: Standing, tell: Tell) -> None:
    """Start again what ends, until interrupted, which brings all down, or brought down from elsewhere.

    What ends again and again is started after ever longer pauses, five minutes at most.
    """
    pause, tried = 0.0, 0.0
    with _interrupted() as interrupted:
        while not interrupted():
            time.sleep(LOOK_SECONDS)
            since = time.monotonic() - tried
            ended = [name for name in PROCESSES if getattr(standing, name).find() is None]
            if not ended or since < pause or interrupted():
                continue
            tell(f"ended: {', '.join(ended)}")
            pause = FIRST_PAUSE if since > pause + SETTLED_SECONDS else min(2 * pause, LONGEST_PAUSE)
            try:
                again = bring_up_again(standing, tell)
            except PickyError as error:
                tell(f"{error} The next try is in {pause:g} s.")
            else:
                if again is None:
                    tell("brought down from elsewhere")
                    return
                standing = again
            tried = time.monotonic()
        bring_down(tell)


@contextmanager
def _interrupted() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM came; what is under way is finished first."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
