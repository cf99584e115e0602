"""`pickysteve config show`: every setting, and where its value comes from."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from pickysteve.connectors.cli_skills import JsonOption, ProfileOption, RegistryOption
from pickysteve.connectors.render import rows_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    config = typer.Typer(help="The settings.", no_args_is_help=True)
    config.command("show")(show)
    app.add_typer(config, name="config")


def show(
    registry: RegistryOption = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
    changed: Annotated[bool, typer.Option("--changed", help="Leave the defaults out.")] = False,
) -> None:
    """Print each setting with its value and its origin; of a key only that there is one."""
    from pickysteve.flows.config_report import config_rows

    rows = [
        row
        for row in config_rows(registry=registry, profile=profile)
        if not changed or row.origin != "default"
    ]
    if as_json:
        typer.echo(json.dumps([row.model_dump(mode="json") for row in rows], ensure_ascii=False, indent=1))
        return
    cells = [[row.name, json.dumps(row.value, ensure_ascii=False), row.origin] for row in rows]
    Console(highlight=False).print(rows_table(f"{len(rows)} settings", ("name", "value", "origin"), cells))
