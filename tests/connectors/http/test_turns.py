"""One pick a turn."""

import asyncio

import pytest

from pickysteve.connectors.http.dialects import Turn
from pickysteve.connectors.http.turns import TurnPicks, turn_keys


def test_a_turn_is_named_by_all_that_was_said_before_it():
    one, two, three = Turn(0, "a"), Turn(2, "b"), Turn(4, "b")
    assert turn_keys((one, two))[0] == turn_keys((one,))[0]
    assert len(set(turn_keys((one, two, three)))) == 3
    assert turn_keys((Turn(0, "ab"),)) != turn_keys((Turn(0, "a"), Turn(1, "b")))[1:]


def test_calls_at_the_same_time_share_one_pick():
    made = []

    async def pick():
        made.append(1)
        await asyncio.sleep(0.01)
        return {"run": len(made)}

    async def work():
        picks = TurnPicks(4)
        return await asyncio.gather(*(picks.get("k", pick) for _ in range(10)))

    assert asyncio.run(work()) == [{"run": 1}] * 10


def test_a_failed_pick_is_made_again_and_the_oldest_are_forgotten():
    async def fails():
        raise ValueError("no")

    async def works():
        return {"ok": True}

    async def work():
        picks = TurnPicks(2)
        with pytest.raises(ValueError, match="no"):
            await picks.get("k", fails)
        assert picks.known("k") is None
        for key in "kab":
            await picks.get(key, works)
        return [picks.known(key) for key in "kab"]

    assert asyncio.run(work()) == [None, {"ok": True}, {"ok": True}]


def test_a_caller_that_goes_away_leaves_the_pick_to_the_others():
    async def pick():
        await asyncio.sleep(0.02)
        return {"ok": True}

    async def work():
        picks = TurnPicks(2)
        leaving = asyncio.create_task(picks.get("k", pick))
        await asyncio.sleep(0)
        staying = asyncio.create_task(picks.get("k", pick))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert asyncio.run(work()) == {"ok": True}
