"""`pickysteve trifecta` and `pickysteve report`: all suites against the accepted baseline, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pickysteve.connectors.render import error_console, progress_bar, rows_table, show_evaluation
from pickysteve.errors import SettingsInvalid
from pickysteve.flows.report.words import comparison_words, floor_words

if TYPE_CHECKING:
    from pickysteve.flows.settings import Settings
    from pickysteve.flows.task_runs import RunnerName
    from pickysteve.flows.trifecta_report import SuiteReport, TrifectaReport
    from pickysteve.flows.trifecta_run import TrifectaPlan

__all__ = ["register"]

EXIT_CODES = {"Passed": 0, "Regression": 1, "Incomparable": 2}
INTERRUPTED = 130
STYLES = {"Passed": "bold green", "Regression": "bold red", "Incomparable": "bold yellow"}


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command("trifecta")(trifecta)
    app.command("report")(report)


def trifecta(
    suite: Annotated[list[str] | None, typer.Option(help="A suite of the table; repeatable.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Real runs, caches off; their spread is reported.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; the same one resumes it.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Make this run the baseline.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Requests at once; more than 1 distorts times.")] = 1,
    orchestrated: Annotated[
        bool, typer.Option("--orchestrated", help="Run each row as a task run on the Prefect server.")
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="local|ADDRESS",
            help="With --orchestrated: task runs go to that many processes here, or to that Dask scheduler.",
        ),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Table of suites; default: the checkout's.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="Baseline file; default: the accepted one.")] = None,
    allow_uncalibrated: Annotated[
        bool, typer.Option("--allow-uncalibrated", help="Run on where the calibration does not fit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Run the suites and compare them, row by row, with the accepted baseline.

    Exit code 1: a suite is significantly worse, or a floor is broken; 2: the data changed, so that
    nothing can be compared before --accept.
    """
    from pickysteve.flows.fetching import publish_run
    from pickysteve.flows.report.page import write_page
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite_table import choose_suites, read_table, suite_table
    from pickysteve.flows.trifecta_baseline import read_baseline, write_baseline
    from pickysteve.flows.trifecta_run import TrifectaPlan, accepted, new_run_folder

    if dask and not orchestrated:
        raise SettingsInvalid("Only task runs go to Dask: add --orchestrated, or leave --dask out.")
    entries = choose_suites(read_table(table or suite_table()), suite or [])
    plan = TrifectaPlan(
        entries, out or new_run_folder(), runs=runs, workers=workers, baseline=read_baseline(baseline)
    )
    settings = load_settings(allow_uncalibrated=allow_uncalibrated or None)
    found = _run(plan, settings, orchestrated=orchestrated, dask=dask)
    page = write_page(plan.out)
    if not orchestrated:
        publish_run(plan.out, settings)
    place = write_baseline(accepted(found, plan.out, plan.baseline), baseline) if accept else None
    if as_json:
        typer.echo(found.model_dump_json(indent=1))
    else:
        _show(found, page, Console(highlight=False))
    if place:
        typer.echo(f"accepted: {place}", err=as_json)
    raise typer.Exit(_exit_code(found, accept=accept))


def _run(plan: TrifectaPlan, settings: Settings, *, orchestrated: bool, dask: str | None) -> TrifectaReport:
    try:
        with progress_bar("trifecta") as progress:
            if orchestrated:
                from pickysteve.flows.trifecta import trifecta_orchestrated

                scheduler = None if dask == "local" else dask
                runner: RunnerName = "dask" if dask else "threads"
                return trifecta_orchestrated(plan, settings, progress, runner=runner, scheduler=scheduler)
            from pickysteve.flows.trifecta_run import run_trifecta

            return run_trifecta(plan, settings, progress)
    except KeyboardInterrupt:
        error_console().print(
            f"interrupted; nothing is lost: the same command with --out {plan.out} goes on from there",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def _exit_code(found: TrifectaReport, *, accept: bool) -> int:
    """A broken floor fails an accepted run too; a comparison does not, as it was just accepted."""
    if accept:
        return EXIT_CODES["Regression"] if any(suite.broken_floors for suite in found.suites) else 0
    return EXIT_CODES[found.outcome]


def report(
    run_dir: Annotated[Path, typer.Argument(help="Folder of a trifecta run.")],
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Write the page of a run anew, and print its summary and where the page is."""
    from pickysteve.flows.report.page import write_page
    from pickysteve.flows.trifecta_report import read_report

    found = read_report(run_dir)
    page = write_page(run_dir)
    if as_json:
        typer.echo(found.model_dump_json(indent=1))
    else:
        _show(found, page, Console(highlight=False))
    if open_page:
        typer.launch(str(page))


def _show(found: TrifectaReport, page: Path, console: Console) -> None:
    for suite in found.suites:
        show_evaluation(suite.ours, suite.bm25, console, title=suite.name)
        if suite.comparison.changed:
            console.print(_changes(suite))
        if suite.spread:
            console.print(_spread(suite))
        style = "red" if suite.comparison.regressed else "default"
        console.print(f"[{style}]{escape(suite.name)}: {escape(comparison_words(suite.comparison))}[/]")
        for floor in suite.broken_floors:
            console.print(f"[red]{escape(suite.name)}: {escape(floor_words(floor))}[/]")
        if suite.reused:
            console.print(f"{suite.name}: {suite.reused} rows were there from an interrupted run")
    console.print(f"[{STYLES[found.outcome]}]{found.outcome}[/]")
    console.print(f"report: {page}", markup=False, soft_wrap=True)


def _changes(suite: SuiteReport) -> Table:
    rows = [
        [row.id, "right" if row.now_right else "wrong", row.asked, row.before, row.now]
        for row in suite.comparison.changed
    ]
    return rows_table(
        f"{suite.name}: rows that changed", ("row", "now", "asked for", "before", "given"), rows
    )


def _spread(suite: SuiteReport) -> Table:
    rows = [
        [name, f"{min(known):.4g}", f"{max(known):.4g}", ", ".join(f"{value:.4g}" for value in known)]
        for name, values in suite.spread.items()
        if (known := [value for value in values if value is not None])
    ]
    title = f"{suite.name}: spread, {len(suite.unstable)} rows not answered alike in all runs"
    return rows_table(title, ("figure", "least", "most", "each run"), rows)
