"""`pickysteve runs`: the records of past runs."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, rows_table, show_pick

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
