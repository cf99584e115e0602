"""The trifecta on Prefect: each row a task run, the outcome the state's name, the report an artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prefect import Task, flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner

from pickysteve.flows import suite
from pickysteve.flows.answering import answer_row
from pickysteve.flows.evaluate import Mapper
from pickysteve.flows.fetching import publish_run
from pickysteve.flows.report.page import write_page
from pickysteve.flows.report.words import markdown_summary, outcome_words
from pickysteve.flows.request import orchestrated_session
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite_table import choose_suites, read_table, suite_table
from pickysteve.flows.task_runs import RunnerName, open_runner, spread
from pickysteve.flows.trifecta_baseline import read_baseline
from pickysteve.flows.trifecta_report import TrifectaReport
from pickysteve.flows.trifecta_run import TrifectaPlan, new_run_folder, run_trifecta

__all__ = ["over_task_runs", "trifecta", "trifecta_orchestrated"]

Progress = Callable[[str, int, int], None]


row: Task[..., str] = Task(
    answer_row, name="row", task_run_name="{row}", cache_policy=NO_CACHE, persist_result=False
)
"""One task of a suite. Nothing is persisted or cached: a repeat is a new run. Inside a row the stages are
plain calls, as twelve task runs a row would cost ten times the row itself."""


def over_task_runs(runner: TaskRunner[Any]) -> Mapper:
    """Spread the tasks of a suite over task runs of the surrounding flow, each named for its row."""

    def mapped(job: str, tasks: Sequence[suite.Task]) -> Iterator[str]:
        each = {"row": [task.id for task in tasks], "task": [task.model_dump_json() for task in tasks]}
        return spread(runner, row, each, job) if tasks else iter(())

    return mapped


@dataclass(frozen=True)
class _Given:
    """What a caller in this process hands to the flow beside its parameters."""

    plan: TrifectaPlan
    settings: Settings
    progress: Progress
    reports: list[TrifectaReport]
    """Takes the report inside the run, so that losing Prefect never loses it."""


# not a closure of the flow: the flow goes to Dask's workers with each task run, open engines cannot
_GIVEN: ContextVar[_Given | None] = ContextVar("given", default=None)


@flow(name="trifecta", persist_result=False, validate_parameters=False)
def trifecta(
    suites: list[str] | None = None,
    runs: int = 1,
    out: str | None = None,
    runner: RunnerName = "threads",
    workers: int = 1,
    scheduler: str | None = None,
) -> State[Any]:
    """Run the suites of the table and compare them with the accepted baseline.

    Args:
        suites: suites of the table; without any, all of them.
        runs: real runs, caches off; their spread is reported.
        out: folder of the run; the same one resumes it.
        runner: threads of this process, or the processes of a Dask cluster.
        workers: rows at once; more than 1 distorts times.
        scheduler: address of a Dask scheduler; without one, a cluster of this machine's own.
    """
    with open_runner(runner, workers, scheduler) as opened:
        return _run(suites or [], runs, out, workers, opened)


def _run(
    suites: Sequence[str], runs: int, out: str | None, workers: int, runner: TaskRunner[Any]
) -> State[Any]:
    given = _GIVEN.get()
    plan = given.plan if given else _plan(suites, runs, out, workers)
    settings = given.settings if given else load_settings()
    progress = given.progress if given else lambda *_: None
    report = run_trifecta(replace(plan, mapper=over_task_runs(runner)), settings, progress)
    if given:
        given.reports.append(report)
    page = write_page(plan.out)
    publish_run(plan.out, settings)
    told = outcome_words(report)
    create_markdown_artifact(markdown_summary(report, page), key="trifecta", description=told)
    create_link_artifact(page.as_uri(), "The report of this run", key="trifecta-report")
    state = Completed if report.outcome == "Passed" else Failed
    return state(name=report.outcome, message=told)


def _plan(suites: Sequence[str], runs: int, out: str | None, workers: int) -> TrifectaPlan:
    entries = choose_suites(read_table(suite_table()), suites)
    folder = Path(out) if out else new_run_folder()
    return TrifectaPlan(entries, folder, runs, workers, baseline=read_baseline())


def trifecta_orchestrated(
    plan: TrifectaPlan,
    settings: Settings,
    progress: Progress = lambda *_: None,
    *,
    runner: RunnerName = "threads",
    scheduler: str | None = None,
) -> TrifectaReport:
    """Run a plan as a flow run on the standing server; raises ServerMissing when there is none."""
    given = _Given(plan, settings, progress, [])
    token = _GIVEN.set(given)
    try:
        with orchestrated_session():
            names = [entry.name for entry in plan.entries]
            state: Any = trifecta(
                names, plan.runs, str(plan.out), runner, plan.workers, scheduler, return_state=True
            )
    finally:
        _GIVEN.reset(token)
    if not given.reports:
        state.result()  # raises what went wrong
    return given.reports[0]
