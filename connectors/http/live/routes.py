"""Routes: the live page, its events, and the runs that it starts.

The page's own files tell nothing of anybody and need no token; all that it then asks for does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pickysteve.connectors.engine.calls import read_call
from pickysteve.connectors.http.live.watch import AskedBy, RunCancelled, Watch, WatchedEngine
from pickysteve.connectors.http.live.words import STAGES
from pickysteve.connectors.http.metrics import Metrics
from pickysteve.connectors.http.problems import Problem, of_error
from pickysteve.connectors.http.proxy import read_json
from pickysteve.errors import PickyError
from pickysteve.flows.asking import read_request
from pickysteve.flows.settings import Settings

__all__ = ["OPEN_PATHS", "LivePage", "pick_arguments"]

PAGE = "page"
HEARTBEAT_SECONDS = 15
SEND_SECONDS = 30
"""How long a page may leave what it was sent unread before its place is given away."""

FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/live/page.css": ("page.css", "text/css; charset=utf-8"),
    "/live/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/live/icon.svg": ("icon.svg", "image/svg+xml"),
}
OPEN_PATHS = frozenset([*FILES, "/docs", "/openapi.json"])
"""The same for every installation: without the token a browser could not even ask for one."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # no text can become markup, whatever the script does
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
FILE_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
DATA_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class LivePage:
    """What the page at / is made of."""

    def __init__(self, engine: WatchedEngine, settings: Settings, metrics: Metrics) -> None:
        self.engine, self.settings, self.metrics = engine, settings, metrics

    def routes(self) -> list[Route]:
        """The page and its files, the events, and the runs."""
        here = Path(__file__).parent
        files = [
            Route(path, _file((here / name).read_bytes(), media_type))
            for path, (name, media_type) in FILES.items()
        ]
        return [
            *files,
            Route("/live/events", self.events),
            Route("/live/runs", self.start, methods=["POST"]),
            Route("/live/runs/{run}", self.run),
        ]

    async def events(self, _request: Request) -> Response:
        """A snapshot of the latest runs, then each change of any run as it happens."""
        return _Stream(self._changes())

    async def _changes(self) -> AsyncIterator[ServerSentEvent]:
        hub = self.engine.hub
        subscriber = hub.subscribe()
        try:
            yield _event("snapshot", {"stages": STAGES, "runs": subscriber.snapshot})
            async for change in subscriber:
                yield _event("change", change)
        finally:
            hub.leave(subscriber)

    async def run(self, request: Request) -> Response:
        """All that is shown of one run, with its bundle."""
        shown = self.engine.hub.run(request.path_params["run"])
        if shown is None:
            message = 'This run is not shown any more: see "pickysteve runs list".'
            raise Problem(404, "run", message)
        return JSONResponse(shown, headers=DATA_HEADERS)

    async def start(self, request: Request) -> Response:
        """Pick for {"request": "...", "exclude": [...]}: an event with the run's id, and one at its end.

        Hanging up cancels the run between two stages; it keeps its place until it has ended.
        """
        arguments = pick_arguments(await read_json(request))
        # what no run is needed for is answered with a status
        call: Any = read_call("pick", arguments)
        read_request(call.text, (), self.settings.gate)
        return _Stream(self._own(arguments))

    async def _own(self, arguments: dict[str, Any]) -> AsyncIterator[ServerSentEvent]:
        watch = Watch(self.engine.hub, arguments["text"], PAGE)
        picking = asyncio.ensure_future(self._pick(watch, arguments))
        try:
            yield _event("run", {"run": watch.run})
            yield await asyncio.shield(picking)
        finally:
            if not picking.done():
                watch.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([picking])

    async def _pick(self, watch: Watch, arguments: dict[str, Any]) -> ServerSentEvent:
        try:
            reply = await AskedBy(self.engine, PAGE, watch).call("pick", **arguments)
        except RunCancelled:
            return _event("end", {"run": watch.run, "status": "cancelled"})
        except PickyError as error:
            problem = of_error(error)
            return _event("problem", {"code": problem.code, "message": str(problem)})
        self.metrics.picked(reply)
        return _event("end", {"run": watch.run, "status": reply["status"]})


def pick_arguments(body: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the engine's call for a body with a request; raises Problem for another field."""
    if unknown := body.keys() - {"request", "exclude"}:
        message = f"There is no field {min(unknown)}: send request, and exclude where needed."
        raise Problem(400, "field", message, param=min(unknown))
    return {"text": body.get("request"), "exclude": body.get("exclude", [])}


class _Stream(EventSourceResponse):
    """Events with heartbeats; it ends when the caller hangs up, does not read, or the server stops."""

    def __init__(self, events: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(events, headers=DATA_HEADERS, ping=HEARTBEAT_SECONDS, send_timeout=SEND_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # one that does not read cannot be told that it is dropped
        with suppress(SendTimeoutError):
            await super().__call__(scope, receive, send)


def _event(name: str, data: Any) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(data, separators=(",", ":"), allow_nan=False), event=name)


def _file(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_request: Request) -> Response:
        return Response(content, media_type=media_type, headers=FILE_HEADERS)

    return endpoint
