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
from prefect.futures import as_completed
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from pickysteve.flows import suite
from pickysteve.flows.report.page import write_page
from pickysteve.flows.report.words import markdown_summary, outcome_words
from pickysteve.flows.request import orchestrated_session
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite_rows import SuiteRow
from pickysteve.flows.suite_table import choose_suites, read_table, suite_table
from pickysteve.flows.trifecta_baseline import read_baseline
from pickysteve.flows.trifecta_report import TrifectaReport
from pickysteve.flows.trifecta_run import TrifectaPlan, new_run_folder, run_trifecta

__all__ = ["make_trifecta_flow", "over_task_runs", "trifecta", "trifecta_orchestrated"]

Progress = Callable[[str, int, int], None]


def over_task_runs(
    answer: Callable[[suite.Task], SuiteRow], tasks: Sequence[suite.Task]
) -> Iterator[SuiteRow]:
    """Spread the tasks of a suite over task runs of the surrounding flow, each named for its row.

    Nothing is persisted or cached: a repeat is a new run. Inside a row the stages are plain calls, as
    twelve task runs a row would cost ten times the row itself.
    """
    by_id = {task.id: task for task in tasks}
    row: Task[[str], SuiteRow] = Task(
        lambda row: answer(by_id[row]),
        name="row",
        task_run_name="{row}",
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    for future in as_completed(list(row.map(list(by_id)))):
        yield future.result()


def make_trifecta_flow(
    plan: TrifectaPlan | None = None,
    settings: Settings | None = None,
    keep: Callable[[TrifectaReport], None] | None = None,
    progress: Progress = lambda *_: None,
    workers: int = 1,
) -> Flow[..., Any]:
    """The flow. A caller that has a plan and settings hands them in; a deployment names suites.

    `keep` gets the report inside the run, so that losing Prefect never loses it.
    """

    # Any: the decorator's own default type does not take a runner of threads
    runner: Any = ThreadPoolTaskRunner(max_workers=workers)

    @flow(
        name="trifecta",
        task_runner=runner,
        persist_result=False,
        validate_parameters=False,
    )
    def trifecta(
        suites: list[str] | None = None, runs: int = 1, out: str | None = None, table: str | None = None
    ) -> State[Any]:
        """Run suites and compare them with the accepted baseline. What a killed run has written is kept.

        Args:
            suites: Names of suites of the table; all when left out.
            runs: How often each suite is run, caches off; their spread is reported.
            out: Folder of the run; by default one of its own that a retry finds again.
            table: File with the table of suites; the checkout's when left out.
        """
        chosen = plan or _plan(suites or [], runs, out, workers, table)
        report = run_trifecta(chosen, settings or load_settings(), progress)
        if keep:
            keep(report)
        page = write_page(chosen.out)
        told = outcome_words(report)
        create_markdown_artifact(markdown_summary(report, page), key="trifecta", description=told)
        create_link_artifact(page.as_uri(), "The report of this run", key="trifecta-report")
        state = Completed if report.outcome == "Passed" else Failed
        return state(name=report.outcome, message=told)

    return trifecta


def _plan(suites: Sequence[str], runs: int, out: str | None, workers: int, table: str | None) -> TrifectaPlan:
    entries = choose_suites(read_table(Path(table) if table else suite_table()), suites)
    folder = Path(out) if out else new_run_folder(flow_run.id)
    return TrifectaPlan(entries, folder, runs, workers, over_task_runs, read_baseline())


trifecta = make_trifecta_flow()


def trifecta_orchestrated(
    plan: TrifectaPlan, settings: Settings, progress: Progress = lambda *_: None
) -> TrifectaReport:
    """Run a plan as a flow run on the standing server; raises ServerMissing when there is none."""
    plan = replace(plan, mapper=over_task_runs)
    reports: list[TrifectaReport] = []
    run: Any = make_trifecta_flow(plan, settings, reports.append, progress, plan.workers)
    with orchestrated_session():
        state = run([entry.name for entry in plan.entries], plan.runs, str(plan.out), return_state=True)
    if not reports:
        state.result()  # raises what went wrong
    return reports[0]
