"""The request flow on Prefect: each stage a task run, the outcome the state's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import Flow, flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed

from pickysteve.errors import ServerMissing
from pickysteve.flows.asking import read_request
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.engines import open_engines
from pickysteve.flows.run_page import (
    STATE_NAMES,
    hash_name,
    publish,
    result_name,
    run_artifacts,
    state_message,
)
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.tasks.cache_files import cache_folder
from pickysteve.tasks.caching import SealedStorage
from pickysteve.tasks.stage import Orchestrated
from pickysteve.tasks.values import Degradation, Request, Trace

__all__ = ["make_request_flow", "pick_orchestrated", "request_flow"]


def make_request_flow(
    opened: tuple[Engines, Settings] | None = None, keep: Callable[[Trace], None] | None = None
) -> Flow[..., Any]:
    """The flow. A process that has its engines open hands them in with their settings.

    `keep` gets the trace inside the run, so that losing Prefect never loses an answer.
    """

    @flow(name="request", flow_run_name=_run_name, persist_result=False, validate_parameters=False)
    def request(request: str, registry: str | None = None, exclude: list[str] | None = None) -> State[Any]:
        """Pick the context for one request.

        Args:
            request: What is needed, in words.
            registry: Folder of skills, or a set; that of the settings when left out.
            exclude: Skills never to pick.
        """
        engines, settings = opened or _open(registry)
        asked = read_request(request, (*settings.exclude, *(exclude or ())), settings.gate)
        trace = pick_context(asked, engines, settings, Orchestrated())
        if keep:
            keep(trace)
        _publish(trace, settings.runs_dir)
        return Completed(name=STATE_NAMES[trace.pick.status], message=state_message(trace), data=trace.run_id)

    # nothing is kept there: a run whose storage is named does not ask the server twice for its default one
    request.result_storage = SealedStorage(basepath=str(cache_folder()))
    return request


def _run_name() -> str:
    return hash_name(str(flow_run.parameters["request"]))


def _open(registry: str | None) -> tuple[Engines, Settings]:
    settings = load_settings(registry=Path(registry) if registry else None)
    return open_engines(settings), settings


request_flow = make_request_flow()


def pick_orchestrated(request: Request, engines: Engines, settings: Settings) -> Trace:
    """Run one request as a flow run on the standing server.

    A server that is lost after the answer is no reason to lose that; the trace then says so. Raises
    ServerMissing when it is lost before.
    """
    traces: list[Trace] = []
    run: Any = make_request_flow((engines, settings), traces.append)
    try:
        with orchestrated_session():
            state: State[Any] = run(
                request.text,
                registry=str(settings.registry),
                exclude=list(request.exclude),
                return_state=True,
            )
    except ServerMissing as error:
        if not traces:
            raise
        return _unreported(traces[0], str(error))
    if not traces:
        state.result()  # raises what went wrong
    return traces[0] if state.is_completed() else _unreported(traces[0], state.message or state.name or "")


def _unreported(trace: Trace, why: str) -> Trace:
    lost = Degradation(stage="the report to Prefect", reason=why)
    return trace.model_copy(update={"degraded": (*trace.degraded, lost)})


def _publish(trace: Trace, runs_dir: Path) -> None:
    """Both artifacts, and the name with the result, of the flow run that is under way."""
    client = get_client(sync_client=True)
    for artifact in run_artifacts(trace, runs_dir, flow_run.id):
        publish(artifact, client)
    client.update_flow_run(flow_run.id, name=result_name(trace))
