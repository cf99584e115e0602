"""An MCP server of the official SDK with tools on several pages, in several manners."""

import os
import sys
import time
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult, Tool

manner = sys.argv[1]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": "Which file."}}}
NAMES = ["read_file", "write_file", "list_folder"]


async def list_tools(_context: Any, params: Any) -> ListToolsResult:
    if manner == "hangs":
        await anyio.sleep(60)
    at = int((params.cursor if params else None) or 0)
    if manner == "endless":
        return ListToolsResult(tools=[], next_cursor=str(at + 1))
    if manner == "huge":
        tools = [Tool(name=f"t{at}-{n}", description="x" * 10_000, input_schema=SCHEMA) for n in range(100)]
        return ListToolsResult(tools=tools, next_cursor=str(at + 1))
    seen = ", ".join(f"{name}={os.environ.get(name, 'nothing')}" for name in ("PS_TOLD", "PS_UNTOLD"))
    tool = Tool(name=NAMES[at], title="A tool", description=f"It sees {seen}.", input_schema=SCHEMA)
    return ListToolsResult(tools=[tool], next_cursor=str(at + 1) if at + 1 < len(NAMES) else None)


async def main() -> None:
    server: Server[Any] = Server("Files & More", version="1", on_list_tools=list_tools)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if manner == "dies":
    sys.exit("cannot open the database")
if manner == "babbles":
    os.write(1, b"hello, this is no JSON\n")
    time.sleep(60)
anyio.run(main)
