"""`pickysteve runs`: the records of past runs."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, rows_table, show_pick
from pickysteve.errors import SettingsInvalid

__all__ = ["register"]

runs = typer.Typer(help="Read the records of past runs.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(runs, name="runs")


@runs.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """The latest runs."""
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.log import list_traces

    found = list_traces(load_settings().runs_dir, limit)
    for warning in found.warnings:
        error_console().print(f"skipped: {warning}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(
            json.dumps([run.model_dump(mode="json") for run in found.runs], ensure_ascii=False, indent=1)
        )
        return
    rows = [
        [run.run_id, run.status, " + ".join(run.picks), f"{run.milliseconds:.0f}", run.request]
        for run in found.runs
    ]
    columns = ("run", "status", "picks", "ms", "request")
    Console(highlight=False).print(rows_table(f"{len(rows)} runs", columns, rows))


@runs.command("show")
def show_run(
    run_id: Annotated[str, typer.Argument(help="A run's id, or the start of it.")],
    as_json: JsonOption = False,
) -> None:
    """One run with every stage."""
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.log import read_trace

    trace = read_trace(load_settings().runs_dir, run_id)
    if as_json:
        typer.echo(trace.model_dump_json(indent=1))
        return
    console = Console(highlight=False)
    console.print(trace.request.text, markup=False)
    show_pick(trace, console)
    rows = [[s.stage, f"{s.milliseconds:.1f}", "cached" if s.cached else ""] for s in trace.stages]
    console.print(rows_table("stages", ("stage", "ms", ""), rows))


@runs.command("compact")
def compact(
    minimum_files: Annotated[int, typer.Option(min=2, help="Small files from which a day is merged.")] = 16,
) -> None:
    """Merge the small files of each day; no run is lost."""
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.compact import CompactConfig, compact_runs

    for done in compact_runs(CompactConfig(runs_dir=load_settings().runs_dir, minimum_files=minimum_files)):
        typer.echo(done.model_dump_json())


@runs.command("stats")
def stats(
    since: Annotated[str, typer.Option(help="First day: 2026-11-30, or 7d for the last seven.")] = "",
    registry: Annotated[Path | None, typer.Option(help="Folder of skills.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Count the runs on other registries too.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Lines of each table at most.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Which skills are picked, never picked, near, ambiguous or refused, and how long stages take."""
    from pickysteve.connectors.usage_view import show_usage
    from pickysteve.flows.settings import load_settings
    from pickysteve.registry.catalogue import build_catalogue
    from pickysteve.registry.sources.reading import read_registry
    from pickysteve.tasks.usage import read_usage_of

    first = _first_day(since)
    settings = load_settings(registry=registry)
    # the files and not the index: counting needs no model
    skills = build_catalogue(read_registry(settings.registry)).skills
    root = "" if every else str(settings.registry.resolve())
    usage = read_usage_of(settings.runs_dir, skills, root, first)
    if as_json:
        typer.echo(usage.model_dump_json(indent=1))
    else:
        show_usage(usage, Console(highlight=False), limit)


@runs.command("report")
def report(
    since: Annotated[str, typer.Option(help="First day: 2026-11-30, or 2d for yesterday and today.")] = "2d",
    limit: Annotated[int, typer.Option(min=1, help="Runs to report at most, oldest first.")] = 1000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing; say how many.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Report direct runs to the standing Prefect server, each once, so that its UI shows them."""
    from pickysteve.connectors.standing import read_standing, standing_folder
    from pickysteve.flows.report_direct import Standing, report_runs
    from pickysteve.flows.settings import load_settings

    first, up = _first_day(since), read_standing()
    standing = Standing(up.api, standing_folder() / "home") if up else None
    with progress_bar("direct runs") as progress:
        done = report_runs(
            load_settings().runs_dir, first, limit, dry=dry_run, standing=standing, progress=progress
        )
    for warning in done.warnings:
        error_console().print(f"skipped: {warning}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(done.model_dump_json(indent=1))
        return
    skipped = {
        "were reported before": done.already,
        "ran orchestrated": done.orchestrated,
        "are of a version that did not say how they ran": done.unknown,
        "are over the limit": done.left,
    }
    said = "; ".join(f"{count} {why}" for why, count in skipped.items() if count)
    typer.echo(f"{'would report' if dry_run else 'reported'} {done.reported} runs, skipped {said or 'none'}")
    if done.times_unset:
        typer.echo(f"the flow runs are shown at the time of this report, as {done.times_unset}")


def _first_day(since: str) -> date | None:
    if not since:
        return None
    if re.fullmatch(r"\d{1,4}d", since):
        return (datetime.now(UTC) - timedelta(days=int(since[:-1]) - 1)).date()
    try:
        return date.fromisoformat(since)
    except ValueError as error:
        raise SettingsInvalid(
            f"--since {since} is no day: write a date such as 2026-11-30, or a number of days such as 7d."
        ) from error
