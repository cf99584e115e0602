"""Probe: starts the server as an agent would, with the official client, and calls a tool."""

from __future__ import annotations

import tempfile
import time
from typing import NamedTuple, TextIO

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from pickysteve.connectors.agents.server import ServerCommand

__all__ = ["Probe", "probe"]

HANDSHAKE_SECONDS = 30.0
CALL_SECONDS = 600.0
"""The first call of all reads the registry, which takes a while on a slow machine."""


class Probe(NamedTuple):
    """What answered, and how long each step took in milliseconds."""

    name: str
    tools: tuple[str, ...]
    skills: int
    handshake: float
    listing: float
    call: float


def probe(server: ServerCommand) -> Probe:
    """Start, shake hands, list the tools, call list_skills. Raises ConnectionError with what went wrong.

    The variables are those of the entry and the few that the client hands on, as most agents do.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return anyio.run(_probe, server, log)
        except Exception as error:
            log.seek(0)
            lines = log.read().split("\n")
            raise ConnectionError(_told(error, [line for line in lines if line.strip()])) from error


def _told(error: BaseException, lines: list[str]) -> str:
    """The error inside, and the last thing that the server wrote to its standard error."""
    # the client's task groups wrap what happened
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = "it did not answer in time" if isinstance(error, TimeoutError) else " ".join(str(error).split())
    said = f", after it said: {lines[-1].strip()}" if lines else ""
    return (text or type(error).__name__) + said


async def _probe(server: ServerCommand, log: TextIO) -> Probe:
    parameters = StdioServerParameters(
        command=server.command, args=list(server.arguments), env=dict(server.variables) or None
    )
    started = time.perf_counter()
    async with stdio_client(parameters, log) as (read, write), ClientSession(read, write) as session:
        with anyio.fail_after(HANDSHAKE_SECONDS):
            greeting = await session.initialize()
            shaken = time.perf_counter()
            tools = (await session.list_tools()).tools
            listed = time.perf_counter()
        with anyio.fail_after(CALL_SECONDS):
            answer = await session.call_tool("list_skills", {"limit": 1})
            called = time.perf_counter()
    if answer.is_error or not answer.structured_content:
        raise ConnectionError(f"list_skills failed: {answer.content}")
    steps = [1000 * (end - begin) for begin, end in ((started, shaken), (shaken, listed), (listed, called))]
    names = tuple(tool.name for tool in tools)
    return Probe(greeting.server_info.name, names, int(answer.structured_content["total"]), *steps)
