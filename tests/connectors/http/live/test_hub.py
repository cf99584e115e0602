"""The hub: what subscribers are told, what late ones find, and what is bounded."""

import asyncio
import threading

from hypothesis import given
from hypothesis import strategies as st

from pickysteve.connectors.http.live.hub import Hub


def replayed(snapshot, changes):
    """What a page knows after a snapshot and the changes that followed."""
    runs = {run["run"]: {**run, "stages": dict(run["stages"])} for run in snapshot}
    for change in changes:
        run = runs.setdefault(change["run"], {"stages": {}})
        run |= {name: value for name, value in change.items() if name != "stage"}
        if "stage" in change:
            run["stages"][change["stage"]["name"]] = change["stage"]
    return runs


async def told(subscriber, number):
    changes = []
    async for change in subscriber:
        changes.append(change)
        if len(changes) == number:
            break
    return changes


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["route", "floor", "log"]), st.sampled_from(["running", "done"])
    ),
    max_size=30,
)


@given(before=STEPS, after=STEPS)
def test_a_page_that_comes_at_any_time_sees_what_one_saw_that_was_there(before, after):
    async def work():
        hub = Hub()
        early = hub.subscribe()
        runs = [hub.begin(caller="MCP", request=None) for _ in range(4)]
        for at, stage, state in before:
            hub.change(runs[at], stage={"name": stage, "state": state})
        late = hub.subscribe()
        for at, stage, state in after:
            hub.change(runs[at], state="running", stage={"name": stage, "state": state})
        seen = replayed(early.snapshot, await told(early, 4 + len(before) + len(after)))
        found = replayed(late.snapshot, await told(late, len(after)) if after else [])
        assert found == seen == {run: hub.run(run) for run in runs}

    asyncio.run(work())


def test_large_things_are_not_in_a_snapshot_and_a_bundle_is_in_no_event():
    async def work():
        hub = Hub()
        subscriber = hub.subscribe()
        run = hub.begin(caller="/pick")
        hub.change(run, candidates=[{"skill": "a"}], bundle="text of a skill", state="done")
        begun, ended = await told(subscriber, 2)
        assert begun["caller"] == "/pick"
        assert ended == {"run": run, "candidates": [{"skill": "a"}], "state": "done"}
        assert hub.run(run)["bundle"] == "text of a skill"
        assert not hub.subscribe().snapshot[0].keys() & {"bundle", "candidates"}

    asyncio.run(work())


def test_the_oldest_ended_run_is_forgotten_first_and_one_that_runs_stays():
    hub = Hub(kept_runs=2)
    running, ended = hub.begin(), hub.begin()
    hub.change(ended, state="done")
    newest = hub.begin()
    assert hub.run(ended) is None
    assert hub.run(running) and hub.run(newest)
    hub.begin()
    assert hub.run(running) is None, "the bound holds where none has ended"
    hub.change(running, state="done")
    assert hub.run(running) is None, "a forgotten run does not come back"


def test_what_has_ended_is_not_ended_again():
    hub = Hub()
    run = hub.begin()
    hub.change(run, state="done")
    hub.change(run, state="stopping", bundle="text")
    assert (hub.run(run)["state"], hub.run(run)["bundle"]) == ("done", "text")


def test_a_subscriber_that_does_not_keep_up_is_dropped_and_the_others_are_not():
    async def work():
        hub = Hub(waiting_changes=5)
        asleep, awake = hub.subscribe(), hub.subscribe()
        run = hub.begin()
        seen = await told(awake, 1)
        for number in range(5):
            hub.change(run, state=f"{number}")
            seen += await told(awake, 1)
        assert hub.subscribers == 1
        assert [change["state"] for change in seen] == ["waiting", "0", "1", "2", "3", "4"]
        # its iteration ends, so that its page comes back for a snapshot
        assert len([change async for change in asleep]) <= 5
        hub.leave(awake)
        assert hub.subscribers == 0

    asyncio.run(work())


def test_threads_tell_a_loop_that_waits():
    async def work():
        hub = Hub()
        subscriber = hub.subscribe()
        threads = [threading.Thread(target=hub.begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        changes = await asyncio.wait_for(told(subscriber, 8), 10)
        assert len({change["run"] for change in changes}) == 8

    asyncio.run(work())


def test_a_subscriber_whose_loop_has_ended_is_forgotten():
    hub = Hub()

    async def subscribe():
        hub.subscribe()

    asyncio.run(subscribe())
    assert hub.subscribers == 1
    hub.begin()
    assert hub.subscribers == 0
