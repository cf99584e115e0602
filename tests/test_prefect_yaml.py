"""prefect.yaml: what it deploys can be loaded from a checkout, and its schedules are schedules."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.schemas.schedules import construct_schedule
from prefect.flows import load_flow_from_entrypoint

ROOT = Path(__file__).resolve().parent.parent
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
NAMES = [deployment["name"] for deployment in DEPLOYMENTS]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=NAMES)
def test_the_entrypoint_of_each_deployment_loads(
    deployment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # as a worker does it: from the checkout, by the path
    monkeypatch.chdir(ROOT)
    assert load_flow_from_entrypoint(deployment["entrypoint"]).name == deployment["name"]


def test_the_name_and_work_pool_of_each_deployment_are_given() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {deployment["work_pool"]["name"] for deployment in DEPLOYMENTS} == {"local-process"}
    assert all(deployment["description"] for deployment in DEPLOYMENTS)


def test_the_red_team_runs_once_a_week_in_utc_and_never_twice_at_once() -> None:
    (redteam,) = [deployment for deployment in DEPLOYMENTS if deployment["name"] == "redteam"]
    (schedule,) = [construct_schedule(**given) for given in redteam["schedules"]]
    assert (schedule.cron.split()[2:4], schedule.timezone) == (["*", "*"], "UTC")
    assert len(schedule.cron.split()) == 5 and schedule.cron.split()[4].isdigit()
    assert redteam["concurrency_limit"]["limit"] == 1


def test_every_flow_that_may_be_scheduled_is_deployed() -> None:
    """A flow file whose flow nobody deploys is either dead or forgotten."""
    deployed = {deployment["entrypoint"] for deployment in DEPLOYMENTS}
    decorated = {
        f"flows/{path.name}:{node.name}"
        for path in (ROOT / "flows").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator).startswith("flow(") for decorator in node.decorator_list)
    }
    assert decorated <= deployed
