"""The stages of a recorded run as the events from which Prefect's server makes task runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from pickysteve.tasks.partitions import started
from pickysteve.tasks.values import StageRecord, Trace

__all__ = ["run_times", "task_events"]


def run_times(trace: Trace) -> tuple[datetime, datetime]:
    """When the run began and ended, in UTC."""
    began = started(trace)
    return began, began + timedelta(milliseconds=trace.milliseconds)


def task_events(trace: Trace, flow_run_id: UUID) -> list[dict[str, Any]]:
    """One event a stage, as Prefect's own engine sends it when a task run has ended (3.9.1).

    The record holds how long each stage took and not when it began: each begins here when the one before it
    ended. Ids follow from the flow run and the stage, so that an event that is sent twice is one.
    """
    return [
        _event(record, str(number), flow_run_id, began)
        for number, (record, began) in enumerate(_with_starts(trace))
    ]


def _with_starts(trace: Trace) -> Iterator[tuple[StageRecord, datetime]]:
    moment, _ = run_times(trace)
    for record in trace.stages:
        yield record, moment
        moment += timedelta(milliseconds=record.milliseconds)


def _event(record: StageRecord, key: str, flow_run_id: UUID, began: datetime) -> dict[str, Any]:
    took = timedelta(milliseconds=record.milliseconds)
    task_run_id = uuid5(flow_run_id, f"{record.stage} {key}")
    state = {"type": "COMPLETED", "name": "Completed"}
    return {
        "id": str(uuid5(task_run_id, "completed")),
        "occurred": (began + took).isoformat(),
        "event": "prefect.task-run.Completed",
        "resource": {
            "prefect.resource.id": f"prefect.task-run.{task_run_id}",
            "prefect.resource.name": record.stage,
            "prefect.run-count": "1",
            "prefect.state-message": "",
            "prefect.state-name": state["name"],
            "prefect.state-timestamp": (began + took).isoformat(),
            "prefect.state-type": state["type"],
            "prefect.orchestration": "client",
        },
        "related": [
            {"prefect.resource.id": f"prefect.flow-run.{flow_run_id}", "prefect.resource.role": "flow-run"}
        ],
        "payload": {
            "intended": {"from": None, "to": state["type"]},
            "initial_state": None,
            "validated_state": state | {"message": None, "state_details": {}, "data": None},
            "task_run": {
                "name": record.stage,
                "task_key": record.stage,
                "dynamic_key": key,
                "run_count": 1,
                "expected_start_time": began.isoformat(),
                "start_time": began.isoformat(),
                "end_time": (began + took).isoformat(),
                "total_run_time": took.total_seconds(),
            },
        },
    }
