"""`pickysteve up`, `down`, `flows` and `watch`: all flows on a standing Prefect server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pickysteve.connectors.render import error_console
from pickysteve.connectors.terminal import visible

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("flows")(flows)
    app.command("watch")(watch)


PortOption = Annotated[int, typer.Option(help="Where the server listens, on this machine only.")]


def up(
    port: PortOption = 4200,
    stay: Annotated[
        bool, typer.Option("--stay", help="Stay, start again what ends, and stop all when interrupted.")
    ] = False,
) -> None:
    """Start a Prefect server, a worker and a watcher, deploy every flow, and print the address of the UI.

    What runs already is kept. Flow runs that were killed with their worker are taken up again.
    """
    from pickysteve.connectors.standing import bring_up, standing_folder

    standing = bring_up(port, _tell)
    typer.echo(f"{standing.url} shows the flows and their runs; logs are in {standing_folder()}")
    typer.echo(f"export PREFECT_API_URL={standing.api}   # for pickysteve pick --orchestrated")
    typer.echo('"pickysteve down" stops all of it')
    if stay:
        from pickysteve.connectors.keeping import keep_up

        keep_up(standing, _tell)


def down() -> None:
    """Stop what `up` started, and what runs on it; its database stays."""
    from pickysteve.connectors.standing import bring_down

    typer.echo("stopped" if bring_down(_tell) else "nothing was running")


def flows() -> None:
    """Run the deployed flows in this process, on their schedules, until interrupted: no pool, no worker.

    Needs a standing server, which PREFECT_API_URL names.
    """
    from pickysteve.connectors.standing import checkout
    from pickysteve.flows.light import serve_flows

    serve_flows(checkout(), _tell)


def watch(
    registry: Annotated[
        Path | None, typer.Option(help="Folder of skills, or a set.", show_default=False)
    ] = None,
) -> None:
    """Tell the Prefect server of each change below the registry, which starts an ingest there."""
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.watching import watch_registry

    watch_registry(load_settings(registry=registry).registry, _tell)


def _tell(phase: str) -> None:
    error_console().print(visible(phase), markup=False, soft_wrap=True)
