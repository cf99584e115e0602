"""Report direct runs to Prefect's server afterwards, in batches, so that its UI shows them too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from prefect import flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterIdempotencyKey,
)
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings
from prefect.states import Completed

from pickysteve.flows.run_events import run_times, task_events
from pickysteve.flows.run_page import STATE_NAMES, publish, result_name, run_artifacts, state_message
from pickysteve.flows.run_times import set_run_times
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.flows.settings import load_settings
from pickysteve.registry.models import Problem, Value
from pickysteve.tasks.direct_runs import RecordedRun, find_runs, read_recorded
from pickysteve.tasks.partitions import unreadable
from pickysteve.tasks.records import UNREADABLE
from pickysteve.tasks.values import Trace

__all__ = ["Report", "Standing", "report_direct", "report_runs"]

FLOW = "request"
TAG = "direct"
BATCH = 50
WITHHELD = "withheld: the gate refused it"

Progress = Callable[[str, int, int], None]


class Standing(NamedTuple):
    """A server that is used where Prefect's own settings name none."""

    api: str
    home: Path
    """Its PREFECT_HOME, with its database."""


class Report(Value):
    """What became of the recorded runs."""

    reported: int = 0
    already: int = 0
    """On the server since an earlier report."""
    orchestrated: int = 0
    """On the server since they ran."""
    unknown: int = 0
    """Of version 0.2.0 and before, which did not record how a run was run."""
    left: int = 0
    """Over the limit; the next report takes them."""
    times_unset: str = ""
    """Why the flow runs are shown at the time of the report; empty where they have their own times."""
    warnings: tuple[Problem, ...] = ()


@flow(name="report-direct", persist_result=False)
def report_direct(days: int = 2, limit: int = 1000, runs_dir: str | None = None) -> State[Any]:
    """Show the direct runs of the last days in the UI, each once.

    Args:
        days: How many, today among them.
        limit: Runs to report at most, oldest first.
        runs_dir: Folder of the records; that of the settings when left out.
    """
    folder = Path(runs_dir) if runs_dir else load_settings().runs_dir
    done = report_runs(folder, datetime.now(UTC).date() - timedelta(days=days - 1), limit)
    said = f"{done.reported} runs, {done.already} before, {len(done.warnings)} files unreadable"
    return Completed(name="Reported", message=said, data=done)


def report_runs(
    runs_dir: Path,
    first: date | None = None,
    limit: int = 1000,
    *,
    dry: bool = False,
    standing: Standing | None = None,
    progress: Progress = lambda phase, done, total: None,
) -> Report:
    """Report the direct runs since a day, oldest first, each once, however often this is called.

    With `dry` nothing is sent, and `reported` says how many would be. Raises ServerMissing.
    """
    found = find_runs(runs_dir, FLOW, first)
    direct = [run for run in found.runs if run.ran == "direct"]
    counts = {
        "orchestrated": sum(run.ran == "orchestrated" for run in found.runs),
        "unknown": sum(run.ran == "" for run in found.runs),
    }
    with _session(standing) as client:
        begun: dict[str, UUID] = {}
        open_runs: list[RecordedRun] = []
        for batch in _batches(direct):
            ended, unfinished = _on_server(batch, client)
            begun |= unfinished
            open_runs += [run for run in batch if run.run_id not in ended]
        chosen = open_runs[:limit]
        counts |= {"already": len(direct) - len(open_runs), "left": len(open_runs) - len(chosen)}
        warnings = list(found.warnings)
        reported, unset = (len(chosen), "") if dry else (0, "")
        for batch in [] if dry else _batches(chosen):
            traces = _read(batch, runs_dir, warnings)
            unset = _send(traces, begun, runs_dir, client) or unset
            reported += len(traces)
            progress("reporting", reported, len(chosen))
    return Report(reported=reported, times_unset=unset, warnings=tuple(warnings), **counts)


@contextmanager
def _session(standing: Standing | None) -> Iterator[SyncPrefectClient]:
    """Prefect's own settings come first; the standing server's database is used for it alone."""
    url = PREFECT_API_URL.value()
    changes = {PREFECT_API_URL: standing.api, PREFECT_HOME: standing.home} if standing else {}
    used = changes if standing and url in (None, standing.api) else {}
    with temporary_settings(used), orchestrated_session() as client:
        yield client


def _batches(runs: Sequence[RecordedRun]) -> list[Sequence[RecordedRun]]:
    return [runs[at : at + BATCH] for at in range(0, len(runs), BATCH)]


def _key(run_id: str) -> str:
    return f"direct-{run_id}"


def _on_server(batch: Sequence[RecordedRun], client: SyncPrefectClient) -> tuple[set[str], dict[str, UUID]]:
    """The runs that were reported, and those whose report was broken off, with their flow runs.

    A report ends with the state of the run, so that a run in its final state is complete.
    """
    keys = {_key(run.run_id): run.run_id for run in batch}
    wanted = FlowRunFilter(idempotency_key=FlowRunFilterIdempotencyKey(any_=list(keys)))
    found = {keys[str(run.idempotency_key)]: run for run in client.read_flow_runs(flow_run_filter=wanted)}
    ended = {run_id for run_id, run in found.items() if run.state and run.state.is_final()}
    return ended, {run_id: run.id for run_id, run in found.items() if run_id not in ended}


def _read(batch: Sequence[RecordedRun], runs_dir: Path, warnings: list[Problem]) -> list[Trace]:
    traces = []
    for run in batch:
        try:
            traces.append(read_recorded(run, runs_dir))
        except UNREADABLE as error:
            warnings.append(unreadable(run.path, error))
    return traces


def _send(traces: Sequence[Trace], begun: dict[str, UUID], runs_dir: Path, client: SyncPrefectClient) -> str:
    """Report a batch; returns why the flow runs did not get their own times, empty when they did."""
    flow_id = client.create_flow_from_name(FLOW)
    ids = {trace.run_id: begun.get(trace.run_id) or _create(trace, flow_id, client) for trace in traces}
    there = _artifacts_of([ids[run_id] for run_id in ids if run_id in begun], client)
    for trace in traces:
        for artifact in run_artifacts(trace, runs_dir, ids[trace.run_id]):
            if (ids[trace.run_id], artifact.key) not in there:
                publish(artifact, client)
    events = [event for trace in traces for event in task_events(trace, ids[trace.run_id])]
    client.request("POST", "/events", json=events)
    unset = set_run_times({ids[trace.run_id]: run_times(trace) for trace in traces})
    for trace in traces:
        state: State[None] = Completed(name=STATE_NAMES[trace.pick.status], message=state_message(trace))
        client.set_flow_run_state(ids[trace.run_id], state, force=True)
    return unset


def _create(trace: Trace, flow_id: UUID, client: SyncPrefectClient) -> UUID:
    """A flow run that waits, with what an orchestrated run shows; of a blocked request only its hash."""
    is_blocked = trace.pick.status == "blocked_request"
    body = {
        "flow_id": str(flow_id),
        "name": result_name(trace),
        "parameters": {
            "request": WITHHELD if is_blocked else trace.request.text,
            "registry": trace.registry,
            "exclude": list(trace.request.exclude),
        },
        "tags": [TAG],
        "idempotency_key": _key(trace.run_id),
        "state": {"type": "PENDING", "name": "Pending"},
    }
    # not create_flow_run, which takes no idempotency key
    return UUID(client.request("POST", "/flow_runs/", json=body).json()["id"])


def _artifacts_of(
    flow_run_ids: Sequence[UUID], client: SyncPrefectClient
) -> set[tuple[UUID | None, str | None]]:
    """What a report that was broken off has left."""
    if not flow_run_ids:
        return set()
    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=list(flow_run_ids)))
    return {(found.flow_run_id, found.key) for found in client.read_artifacts(artifact_filter=wanted)}
