"""The MCP Skills extension (SEP-2640): skills as `skill://ID/SKILL.md` with a verifiable manifest.

What is served is a file of ours: the skill's name and description, and its body inside the boundary,
with a nonce that stays the same for the same text, so that the published digest holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, RequestParams

from pickysteve.errors import PickyError

if TYPE_CHECKING:
    from pickysteve.connectors.engine.client import Engine

__all__ = ["SkillsExtension", "read_skill_file"]

SCHEME, FILE = "skill://", "/SKILL.md"
TTL_MILLISECONDS = 60_000


class _ListParams(RequestParams):
    cursor: str | None = None


class _GetParams(RequestParams):
    uri: str


class SkillsExtension(Extension):
    """skills/list and skills/get over the engine."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def methods(self) -> Sequence[MethodBinding]:
        """The two methods that declaring the extension promises."""
        return (
            MethodBinding("skills/list", _ListParams, self._list),
            MethodBinding("skills/get", _GetParams, self._get),
        )

    async def _list(self, _context: Any, params: _ListParams) -> dict[str, Any]:
        cursor = params.cursor or "0"
        if not cursor.isdigit():
            raise MCPError(code=INVALID_PARAMS, message="There is no such page: start without a cursor.")
        page = await self.engine.call("skill_files", cursor=int(cursor))
        following = page["next_cursor"]
        more = {} if following is None else {"nextCursor": str(following)}
        return _cacheable({"skills": [_entry(file) for file in page["files"]], **more})

    async def _get(self, _context: Any, params: _GetParams) -> dict[str, Any]:
        try:
            file = await self.engine.call("skill_file", skill=_skill_of(params.uri))
        except PickyError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
        return _cacheable({"skill": _entry(file)})


async def read_skill_file(engine: Engine, skill: str) -> str:
    """The text of a skill's file; raises ResourceNotFoundError for one that is not served."""
    try:
        return str((await engine.call("skill_file", skill=skill))["text"])
    except PickyError as error:
        raise ResourceNotFoundError(str(error)) from error


def _entry(file: dict[str, Any]) -> dict[str, Any]:
    uri = f"{SCHEME}{file['skill']}{FILE}"
    return {
        "uri": uri,
        "frontmatter": file["frontmatter"],
        "resources": [{"uri": uri, "digest": f"sha256:{file['sha256']}", "size": file["size"]}],
    }


def _skill_of(uri: str) -> str:
    return uri.removeprefix(SCHEME).removesuffix(FILE)


def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "ttlMs": TTL_MILLISECONDS, "cacheScope": "private"}
