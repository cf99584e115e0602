"""`pickysteve eval` and `pickysteve calibrate`: figures, and the fits behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, show_evaluation
from pickysteve.errors import RegistryMissing

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command("eval")(evaluate)
    app.command("calibrate")(calibrate)


def evaluate(
    suite: Annotated[Path, typer.Option(help="Tasks, one JSON object a line.")],
    out: Annotated[Path, typer.Option(help="Folder for rows and summary.")],
    registry: Annotated[Path | None, typer.Option(help="Folder of skills.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a suite through the request flow, with plain BM25 beside it."""
    from pickysteve.flows.engines import ingest, open_engines
    from pickysteve.flows.evaluate import evaluate_suite
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite

    settings = load_settings(registry=registry)
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


def calibrate(
    datasets: Annotated[Path, typer.Option(help="Folder with the splits fit/ and calibrate/.")] = Path(
        "datasets"
    ),
    out: Annotated[Path | None, typer.Option(help="Where to write; default: the file in use.")] = None,
) -> None:
    """Fit the embedded reranker and its thresholds on the project's own splits."""
    from pickysteve.calibration.fitted import EMBEDDED
    from pickysteve.flows.calibrate import calibrate as fit_and_calibrate
    from pickysteve.flows.calibrate import load_split
    from pickysteve.tasks.engines.embedder import MiniLM
    from pickysteve.tasks.engines.guard import Guard

    for split in ("fit", "calibrate"):
        if not (datasets / split / "suite.jsonl").is_file():
            raise RegistryMissing(
                f'There is no "{datasets / split}": run this in a checkout, or pass --datasets.'
            )
    encoder = MiniLM()
    defender = Guard()
    remarks = error_console()
    splits = [load_split(datasets / split, encoder, defender) for split in ("fit", "calibrate")]
    fitted = fit_and_calibrate(splits[0], splits[1], encoder, remarks.print)
    target = out or EMBEDDED
    target.write_text(fitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
    Console(highlight=False).print(fitted.report)
    typer.echo(f"written: {target}")
