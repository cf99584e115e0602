"""`pickysteve serve` and `pickysteve mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pickysteve.connectors.render import error_console
from pickysteve.connectors.terminal import visible

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command("serve")(serve)
    app.command("mcp")(mcp)


def serve(
    registry: Annotated[Path | None, typer.Option(help="Folder of skills.", show_default=False)] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8077")] = None,
    upstream: Annotated[
        str | None, typer.Option(help="Model host behind the proxy.", show_default=False)
    ] = None,
) -> None:
    """Serve picks, a page that shows them live, MCP and a context-adding model proxy over HTTP."""
    from pickysteve.connectors.http.serve import serve as serve_http
    from pickysteve.flows.settings import load_settings

    listen = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    proxy = {"upstream": upstream} if upstream is not None else {}
    settings = load_settings(registry=registry, serve=listen or None, proxy=proxy or None)
    console = error_console()
    serve_http(settings, lambda line: console.print(visible(line), markup=False, soft_wrap=True))


def mcp(
    registry: Annotated[Path | None, typer.Option(help="Folder of skills.", show_default=False)] = None,
) -> None:
    """Serve MCP over standard input, for an agent's configuration."""
    # the console script takes a shorter way: see entry.py
    from pickysteve.connectors.mcp_main import main

    main(["--registry", str(registry)] if registry else [])
