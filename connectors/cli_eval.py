"""`pickysteve eval`: the figures of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, show_evaluation

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("eval")(evaluate)


def evaluate(
    suite: Annotated[Path, typer.Option(help="Tasks, one JSON object a line.")],
    out: Annotated[Path, typer.Option(help="Folder for rows and summary.")],
    registry: Annotated[Path | None, typer.Option(help="Folder of skills.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    allow_uncalibrated: Annotated[
        bool, typer.Option("--allow-uncalibrated", help="Run on where the calibration does not fit.")
    ] = False,
) -> None:
    """Run a suite through the request flow, with plain BM25 beside it."""
    from pickysteve.flows.engines import ingest, open_engines
    from pickysteve.flows.evaluate import evaluate_suite
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite

    settings = load_settings(registry=registry, allow_uncalibrated=allow_uncalibrated or None)
    tasks = read_suite(suite)
    with progress_bar("eval") as progress:
        ingest(settings, progress=progress)
        engines = open_engines(settings)
        done = evaluate_suite(
            tasks, engines, settings, out, lambda count, total: progress("running", count, total)
        )
    if done.unknown_gold:
        missing = ", ".join(done.unknown_gold)
        error_console().print(
            f"remark: the registry has no {missing}; tasks for them are misses", markup=False
        )
    if as_json:
        typer.echo(done.model_dump_json(indent=1))
    else:
        show_evaluation(done.ours, done.bm25, Console(highlight=False))
        typer.echo(f"rows: {out / 'rows.jsonl'}")
