"""`pickysteve up` and `down`: a Prefect server and a worker with all flows deployed."""

from __future__ import annotations

from typing import Annotated

import typer

from pickysteve.connectors.render import error_console

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command("up")(up)
    app.command("down")(down)


PortOption = Annotated[int, typer.Option(help="Where the server listens, on this machine only.")]


def up(port: PortOption = 4200) -> None:
    """Start a Prefect server and a worker, deploy every flow, and print the address of the UI."""
    from pickysteve.connectors.standing import bring_up, standing_folder

    standing = bring_up(port, _tell)
    typer.echo(f"{standing.url} shows the flows and their runs; logs are in {standing_folder()}")
    typer.echo(f"export PREFECT_API_URL={standing.api}   # for pickysteve pick --orchestrated")
    typer.echo('"pickysteve down" stops both')


def down() -> None:
    """Stop the server and the worker that `up` started; their database stays."""
    from pickysteve.connectors.standing import bring_down

    typer.echo("stopped" if bring_down(_tell) else "nothing was running")


def _tell(phase: str) -> None:
    error_console().print(phase, markup=False)
