"""Orphans: flow runs whose process was killed together with the worker that would have said so.

The server goes on calling them running. Every deployed flow can be run again from its start: what an
earlier attempt has written is found again (a trifecta's rows, an index, kept verdicts).
"""

from __future__ import annotations

from uuid import UUID

import psutil
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Crashed, Scheduled

from pickysteve.liveness import has_ended

__all__ = ["take_up_orphans"]

PAGE = 200


def take_up_orphans(api: str, pool: str) -> tuple[str, ...]:
    """Schedule each orphan again, as the same flow run; returns their names.

    The pool is one of processes on this machine alone.
    """
    with temporary_settings({PREFECT_API_URL: api}), get_client(sync_client=True) as client:
        orphans = [run for run in _unfinished(client, pool) if _lost_its_process(run)]
        for run in orphans:
            _schedule_again(client, run.id)
        return tuple(run.name for run in orphans)


def _unfinished(client: SyncPrefectClient, pool: str) -> list[FlowRun]:
    types = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING])
    return client.read_flow_runs(
        flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=types)),
        work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[pool])),
        limit=PAGE,
    )


def _lost_its_process(run: FlowRun) -> bool:
    """Whether a worker started it, in a process that is gone."""
    number = (run.infrastructure_pid or "").rpartition(":")[2]
    if not number.isdigit():
        return False
    try:
        process = psutil.Process(int(number))
        return has_ended(process) or not _is_prefect(process)
    except psutil.NoSuchProcess:
        return True


def _is_prefect(process: psutil.Process) -> bool:
    """Whether the number was not given to some other program since."""
    try:
        return any("prefect" in word for word in process.cmdline())
    except psutil.AccessDenied:
        return False


def _schedule_again(client: SyncPrefectClient, run_id: UUID) -> None:
    # as crashed first: that gives back its place under the deployment's limit
    client.set_flow_run_state(run_id, Crashed(message="Its process was killed."), force=True)
    again: State[None] = Scheduled(
        name="AwaitingRetry", message="Its process was killed; it goes on from what it wrote."
    )
    client.set_flow_run_state(run_id, again, force=True)
