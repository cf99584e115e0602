"""What a process holds open: opened once for all who ask, bounded, and the caller's own comes first."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from pickysteve.flows.opened import KEPT, adopted, opened_once


def test_threads_that_ask_at_once_share_one_opening():
    opened, together = [], Barrier(4)

    def ask(_):
        together.wait(timeout=10)
        return opened_once("shared", lambda: opened.append(1) or object())

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len({id(thing) for thing in found}) == len(opened) == 1


def test_the_one_asked_for_longest_ago_is_forgotten():
    opened = []
    names = [f"bounded {at}" for at in range(KEPT + 1)]
    for name in [*names, names[-1], names[0]]:
        opened_once(name, lambda name=name: opened.append(name) or name)
    assert opened == [*names, names[0]]


def test_what_is_lent_is_found_and_gone_afterwards():
    with adopted("lent", "the caller's"):
        assert opened_once("lent", lambda: "another") == "the caller's"
    assert opened_once("lent", lambda: "another") == "another"


def test_a_failed_opening_is_tried_again():
    with pytest.raises(OSError, match="now"):
        opened_once("fails", lambda: (_ for _ in ()).throw(OSError("not now")))
    assert opened_once("fails", lambda: "later") == "later"
