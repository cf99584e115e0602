"""`pickysteve mcp`: the MCP server over stdio.

A client may drop the tools of a server that takes more than half a second to answer, so the handshake is
answered before the SDK is imported, and nothing that needs the engine, nor the settings that describe it,
is imported before the first call.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pickysteve.connectors.mcp_greeting import greet

if TYPE_CHECKING:
    from pickysteve.connectors.engine.client import Engine

__all__ = ["LateEngine", "main"]

Progress = Callable[[str, int, int], Coroutine[Any, Any, None]]


class LateEngine:
    """The engine of the settings, which are read at the first call."""

    def __init__(self, registry: Path | None = None) -> None:
        self.registry = registry

    @cached_property
    def _engine(self) -> Engine:
        from pickysteve.connectors.engine.client import open_engine
        from pickysteve.flows.settings import load_settings

        return open_engine(load_settings(registry=self.registry))

    async def call(self, name: str, progress: Progress | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one call; raises a PickyError, also for settings that do not fit."""
        return await self._engine.call(name, progress, **arguments)


def main(arguments: list[str]) -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(prog="pickysteve mcp", description="Serve MCP over standard input.")
    parser.add_argument("--registry", type=Path, help="folder of skills")
    options = parser.parse_args(arguments)
    # the SDK's thread that waits for input cannot be called off: Python's own way would wait for it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    greet()
    make_mcp_server = _load_sdk()
    make_mcp_server(LateEngine(options.registry), offer_examples=_offers_examples()).run("stdio")


def _load_sdk() -> Callable[..., Any]:
    """Import what speaks MCP. Without the garbage collector that takes a seventh less."""
    gc.disable()
    import logging

    from pickysteve.connectors.mcp_server import make_mcp_server

    gc.freeze()
    gc.enable()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    return make_mcp_server


def _offers_examples() -> bool:
    """A first look at the setting allow_examples; the engine reads it again and decides."""
    if (variable := os.environ.get("PS_ALLOW_EXAMPLES")) is not None:
        return variable.strip().lower() in {"1", "true", "yes", "on"}
    import tomllib

    from platformdirs import user_config_path

    try:
        content = tomllib.loads((user_config_path("pickysteve") / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # what is wrong with it is told at the first call
        return False
    return content.get("allow_examples") is True
