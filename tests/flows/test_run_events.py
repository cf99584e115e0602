"""The stages of a record as events: their own durations, one after the other, the same however often made."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from prefect.server.events.schemas.events import Event
from prefect.server.services.task_run_recorder import task_run_from_event

from pickysteve.flows.run_events import run_times, task_events
from pickysteve.tasks.values import Pick, Request, StageRecord, Trace

RUN = UUID(int=7)
BEGAN = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)


def make_trace(*milliseconds: float) -> Trace:
    return Trace(
        run_id="a",
        started_at="2026-01-02T03:04:05.678+00:00",
        request=Request(text="secret words"),
        registry="",
        fingerprints={},
        pick=Pick(status="ok"),
        stages=tuple(
            StageRecord(stage="judge", milliseconds=each, output={"words": "secret"}) for each in milliseconds
        ),
        milliseconds=sum(milliseconds) + 5,
    )


def recorded(trace: Trace) -> list:
    """What the server's own recorder makes of them."""
    events = [Event.model_validate(event).receive() for event in task_events(trace, RUN)]
    return [task_run_from_event(event) for event in events]


@given(st.lists(st.floats(0, 60_000), min_size=1, max_size=6))
def test_the_server_reads_each_stage_with_its_duration_behind_the_one_before(
    milliseconds: list[float],
) -> None:
    runs = recorded(make_trace(*milliseconds))
    moment = BEGAN
    for run, took in zip(runs, milliseconds, strict=True):
        assert (run.flow_run_id, run.name, run.state.name) == (RUN, "judge", "Completed")
        assert abs(run.start_time - moment) < timedelta(milliseconds=1)
        assert abs(run.total_run_time - timedelta(milliseconds=took)) < timedelta(milliseconds=1)
        assert run.state.timestamp == run.end_time >= run.start_time
        moment = run.end_time
    assert moment <= run_times(make_trace(*milliseconds))[1]


def test_events_made_twice_are_the_same_and_those_of_two_stages_or_runs_are_not() -> None:
    trace = make_trace(1, 2)
    assert task_events(trace, RUN) == task_events(trace, RUN)
    ids = [event["id"] for run in (RUN, UUID(int=8)) for event in task_events(trace, run)]
    assert len(set(ids)) == 4
    assert len({run.dynamic_key for run in recorded(trace)}) == 2


def test_no_text_of_the_run_is_in_them() -> None:
    assert "secret" not in str(task_events(make_trace(1), RUN))
