"""The trifecta on Prefect: each row a task run, the outcome the state's name, the report an artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from prefect import Flow, Task, flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner

from pickysteve.flows import suite
from pickysteve.flows.answering import answer_row
from pickysteve.flows.evaluate import Mapper
from pickysteve.flows.fetching import publish_run
from pickysteve.flows.report.page import write_page
from pickysteve.flows.report.words import markdown_summary, outcome_words
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite_table import choose_suites, read_table, suite_table
from pickysteve.flows.task_runs import RunnerName, check_runner, open_runner, spread
from pickysteve.flows.trifecta_baseline import read_baseline
from pickysteve.flows.trifecta_report import TrifectaReport
from pickysteve.flows.trifecta_run import TrifectaPlan, new_run_folder, run_trifecta

__all__ = ["make_trifecta_flow", "over_task_runs", "trifecta", "trifecta_orchestrated"]

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


def make_trifecta_flow(
    plan: TrifectaPlan | None = None,
    settings: Settings | None = None,
    keep: Callable[[TrifectaReport], None] | None = None,
    progress: Progress = lambda *_: None,
) -> Flow[..., Any]:
    """The flow. A caller that has a plan and settings hands them in; a deployment names suites.

    `keep` gets the report inside the run, so that losing Prefect never loses it.
    """

    @flow(name="trifecta", persist_result=False, validate_parameters=False)
    def trifecta(
        suites: list[str] | None = None,
        runs: int = 1,
        out: str | None = None,
        table: str | None = None,
        runner: RunnerName = "threads",
        workers: int = 1,
        scheduler: str | None = None,
    ) -> State[Any]:
        """Run suites and compare them with the accepted baseline. What a killed run has written is kept.

        Args:
            suites: Names of suites of the table; all when left out.
            runs: How often each suite is run, caches off; their spread is reported.
            out: Folder of the run; by default one of its own that a retry finds again.
            table: File with the table of suites; the checkout's when left out.
            runner: Where rows are answered: threads of this process, or a Dask cluster.
            workers: How many rows at once; more than 1 distorts times.
            scheduler: Address of a Dask scheduler; a cluster on this machine when left out.
        """
        chosen = plan or _plan(suites or [], runs, out, workers, table)
        own = settings or load_settings()
        with open_runner(runner, workers, scheduler) as opened:
            report = run_trifecta(replace(chosen, mapper=over_task_runs(opened)), own, progress)
        if keep:
            keep(report)
        page = write_page(chosen.out)
        publish_run(chosen.out, own)
        told = outcome_words(report)
        create_markdown_artifact(markdown_summary(report, page), key="trifecta", description=told)
        create_link_artifact(page.as_uri(), "The report of this run", key="trifecta-report")
        state = Completed if report.outcome == "Passed" else Failed
        return state(name=report.outcome, message=told)

    return trifecta


def _plan(suites: Sequence[str], runs: int, out: str | None, workers: int, table: str | None) -> TrifectaPlan:
    entries = choose_suites(read_table(Path(table) if table else suite_table()), suites)
    folder = Path(out) if out else new_run_folder(flow_run.id)
    return TrifectaPlan(entries, folder, runs, workers, baseline=read_baseline())


trifecta = make_trifecta_flow()


def trifecta_orchestrated(
    plan: TrifectaPlan,
    settings: Settings,
    progress: Progress = lambda *_: None,
    *,
    runner: RunnerName = "threads",
    scheduler: str | None = None,
) -> TrifectaReport:
    """Run a plan as a flow run on the standing server; raises ServerMissing when there is none."""
    # what the caller got wrong is told before there is a flow run to fail
    check_runner(runner, scheduler)
    reports: list[TrifectaReport] = []
    run: Any = make_trifecta_flow(plan, settings, reports.append, progress)
    with orchestrated_session():
        state = run(
            [entry.name for entry in plan.entries],
            plan.runs,
            str(plan.out),
            runner=runner,
            workers=plan.workers,
            scheduler=scheduler,
            return_state=True,
        )
    if not reports:
        state.result()  # raises what went wrong
    return reports[0]
