"""`pickysteve warm`: the check that servers make before they accept traffic."""

from __future__ import annotations

import json

import typer

from pickysteve.connectors.cli_skills import JsonOption, RegistryOption
from pickysteve.connectors.render import error_console, progress_bar
from pickysteve.connectors.terminal import visible

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("warm")(warm)


def warm(registry: RegistryOption = None, as_json: JsonOption = False) -> None:
    """Make sure that every document has a current verdict; with the policy "abort" none may be refused."""
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.warm import warm as warm_pass

    with progress_bar("warm") as progress:
        report = warm_pass(load_settings(registry=registry), progress).report
    for remark in report.remarks:
        error_console().print(f"remark: {visible(str(remark))}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(json.dumps({"served": report.served, **report.model_dump()}, indent=1))
        return
    typer.echo(
        f"{report.documents} documents have a current verdict; {report.scanned} texts were scanned now. "
        f"{report.served} are served, {len(report.refused)} are refused."
    )
    for document in report.refused:
        typer.echo(f"  {visible(document.source)}: {visible(', '.join(document.rules))}")
