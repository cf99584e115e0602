"""The light way to run deployments: one process serves all flows, and each run is a child of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from prefect import serve
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.flows import Flow, load_flow_from_entrypoint
from prefect.schedules import Schedule

from pickysteve.flows.server_session import orchestrated_session

__all__ = ["light_deployments", "serve_flows"]

TAKEN = ("name", "description", "tags", "parameters")
"""What a deployment of prefect.yaml says that holds without a work pool too."""


def light_deployments(checkout: Path) -> tuple[RunnerDeployment, ...]:
    """The deployments of prefect.yaml without their work pool; the current folder must be the checkout."""
    entries = yaml.safe_load((checkout / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    return tuple(_deployment(entry) for entry in entries)


def _deployment(entry: dict[str, Any]) -> RunnerDeployment:
    flow: Flow[..., Any] = load_flow_from_entrypoint(entry["entrypoint"])
    given = {name: entry[name] for name in TAKEN if name in entry}
    limit = entry.get("concurrency_limit")
    deployment: Any = flow.to_deployment(
        **given,
        schedules=[Schedule(**schedule) for schedule in entry.get("schedules", ())],
        concurrency_limit=ConcurrencyLimitConfig.model_validate(limit) if limit else None,
        triggers=[DeploymentEventTrigger.model_validate(trigger) for trigger in entry.get("triggers", ())],
    )
    # Prefect looks for a flow where its function is written, which a flow from a factory is not
    return RunnerDeployment.model_validate(deployment).model_copy(update={"entrypoint": entry["entrypoint"]})


def serve_flows(checkout: Path, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; raises ServerMissing when PREFECT_API_URL names no server that answers."""
    with orchestrated_session():
        pass
    deployments = light_deployments(checkout)
    tell(f"serving {', '.join(deployment.name for deployment in deployments)}")
    serve(*deployments, print_starting_message=False)
