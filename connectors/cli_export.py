"""`pickysteve export`: the registry in another program's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pickysteve.connectors.render import error_console, progress_bar
from pickysteve.connectors.terminal import visible

__all__ = ["register"]

export = typer.Typer(help="Write the skills of a registry in another form.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(export, name="export")


@export.callback()
def _group() -> None:
    """Write the skills of a registry in another form."""


@export.command("obsidian")
def export_obsidian(
    vault: Annotated[Path, typer.Option("--vault", help="Folder of an Obsidian vault.")],
    registry: Annotated[
        Path | None, typer.Option("--registry", help="Folder of skills, or a set.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """One note a skill, with links between those that are confused, in the vault's folder PickySteve.

    What you write below a note's marker line stays. Notes of skills that are gone are marked, not deleted.
    """
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.export import export_vault
    from pickysteve.flows.settings import load_settings

    settings = load_settings(registry=registry)
    with progress_bar("reading the registry for the first time") as progress:
        index = open_engines(settings, progress).index
    done = export_vault(index, vault, settings.knowledge)
    if as_json:
        typer.echo(json.dumps(done.model_dump(mode="json"), ensure_ascii=False, indent=1))
        return
    for problem in done.problems:
        error_console().print(f"left out: {visible(str(problem))}", markup=False, soft_wrap=True)
    typer.echo(
        f"{done.notes} notes in {done.folder}; {len(done.written)} written, {len(done.gone)} marked gone."
    )
