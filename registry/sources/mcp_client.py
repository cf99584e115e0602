"""Ask an MCP server for its tools: start it, read tools/list page by page, stop it, all within limits."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from pickysteve.errors import SourceInvalid, SourceUnavailable
from pickysteve.registry.slugs import plain_words
from pickysteve.registry.sources.tools import Snapshot, Tool

if TYPE_CHECKING:
    from mcp.client.client import Client

__all__ = ["MAX_SECONDS", "ask_server"]

MAX_SECONDS = 60.0
MAX_TOOLS = 2_000
MAX_PAGES = 200
MAX_CHARACTERS = 8 * 1024 * 1024


def ask_server(
    command: Sequence[str], variables: Sequence[str] = (), *, max_seconds: float = MAX_SECONDS
) -> Snapshot:
    """Start the command as an MCP server over stdio and list its tools.

    It gets the few variables that the SDK passes on, and those named in `variables`.
    Raises SourceInvalid for a variable that is not set, and SourceUnavailable when the server does not
    start, does not answer in time, or offers too much.
    """
    if not command or shutil.which(command[0]) is None:
        raise SourceUnavailable(
            f'There is no command "{" ".join(command[:1])}": pass --mcp the words that start the server.'
        )
    if unset := [variable for variable in variables if variable not in os.environ]:
        raise SourceInvalid(f"The variable {unset[0]} is not set: set it, or leave it out.")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return asyncio.run(_within(max_seconds, command, variables, log))
        except TimeoutError as error:
            raise SourceUnavailable(
                f"The MCP server {command[0]} did not list its tools within {max_seconds:.0f} seconds"
                f"{_last_line(log)}: start it by hand to see why."
            ) from error
        except (Exception, BaseExceptionGroup) as error:
            inner = _innermost(error)
            if isinstance(inner, SourceUnavailable):
                raise inner from error
            said = plain_words(str(inner), 200) + _last_line(log)
            raise SourceUnavailable(
                f"The MCP server {command[0]} cannot be read ({said}): start it by hand to see why."
            ) from error


def _innermost(error: BaseException) -> BaseException:
    """The first error that a task group wrapped, in however many."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _last_line(log: TextIO) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read(100_000).splitlines() if line.strip()]
    return f'; it said "{plain_words(lines[-1], 200)}"' if lines else ""


async def _within(seconds: float, command: Sequence[str], variables: Sequence[str], log: TextIO) -> Snapshot:
    # 0.3 s, and only who starts a server needs it
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    given = {variable: os.environ[variable] for variable in variables}
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=given, encoding_error_handler="replace"
    )
    async with asyncio.timeout(seconds), Client(stdio_client(server, errlog=log)) as client:
        tools = await _all_tools(client)
        return Snapshot(
            server=client.server_info.name if client.server_info else "",
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tools=tuple(tools),
        )


async def _all_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    characters = 0
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        listed = [_tool(tool) for tool in page.tools]
        tools += listed
        characters += sum(len(tool.model_dump_json()) for tool in listed)
        if len(tools) > MAX_TOOLS or characters > MAX_CHARACTERS:
            break
        if not page.next_cursor:
            return tools
        cursor = page.next_cursor
    raise SourceUnavailable(
        f"The MCP server offers over {MAX_TOOLS:,} tools, {MAX_PAGES} pages or 8 MiB: ingest another one."
    )


def _tool(tool: Any) -> Tool:
    title = tool.title or (tool.annotations.title if tool.annotations else None) or ""
    return Tool(
        name=tool.name, title=title, description=tool.description or "", input_schema=tool.input_schema
    )
