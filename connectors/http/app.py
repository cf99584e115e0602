"""App: all that `pickysteve serve` answers, behind one entrance."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pickysteve.connectors.engine.client import Engine
from pickysteve.connectors.http.context import Contexts
from pickysteve.connectors.http.entrance import Entrance
from pickysteve.connectors.http.filtering import OutputFilter
from pickysteve.connectors.http.live.routes import OPEN_PATHS, LivePage, pick_arguments
from pickysteve.connectors.http.live.watch import AskedBy, WatchedEngine
from pickysteve.connectors.http.metrics import Metrics, Timed
from pickysteve.connectors.http.openapi import docs_page, openapi_page
from pickysteve.connectors.http.problems import Problem, of_error, problem_response
from pickysteve.connectors.http.proxy import Proxy, read_json
from pickysteve.connectors.http.upstream import Upstream
from pickysteve.connectors.mcp_server import make_mcp_server
from pickysteve.errors import PickyError
from pickysteve.flows.settings import Settings

__all__ = ["make_app"]


def make_app(engine: WatchedEngine, settings: Settings, upstream: Upstream | None = None) -> Starlette:
    """The ASGI application over an engine. Tests hand in an upstream with a transport of their own."""
    metrics = Metrics()
    host = upstream or Upstream(settings.proxy)
    mcp = make_mcp_server(AskedBy(engine, "MCP"), offer_examples=settings.allow_examples)
    # Host and Origin are checked at the entrance, for every path alike
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp_route: Any = mcp.streamable_http_app(transport_security=unchecked).routes[0]
    proxy = Proxy(Contexts(AskedBy(engine, "proxy"), settings.proxy), host, metrics, _output_filter(settings))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield
        await host.client.aclose()

    rest = _Rest(AskedBy(engine, "/pick"), metrics)
    return Starlette(
        routes=[
            *LivePage(engine, settings, metrics).routes(),
            Route("/healthz", rest.health),
            Route("/metrics", metrics.page),
            Route("/pick", rest.pick, methods=["POST"]),
            Route("/skills", rest.skills),
            Route("/skills/{skill}", rest.skill),
            Route("/openapi.json", openapi_page),
            Route("/docs", docs_page),
            *proxy.routes(),
            # with and without the slash, as clients do not follow a redirect of a call
            *(Route(path, mcp_route.endpoint) for path in ("/mcp", "/mcp/")),
        ],
        middleware=[
            Middleware(Timed, metrics=metrics),
            Middleware(Entrance, config=settings.serve, open_paths=OPEN_PATHS),
        ],
        exception_handlers={Problem: _problem, PickyError: _error, 404: _missing, 405: _missing, 500: _fault},
        lifespan=lifespan,
    )


def _output_filter(settings: Settings) -> OutputFilter | None:
    if not settings.proxy.filter_output:
        return None
    from pickysteve.tasks.engines.redact import StreamingRedactor, redact

    return OutputFilter(redact, StreamingRedactor)


class _Rest:
    """Picks and skills as plain JSON."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.engine, self.metrics = engine, metrics

    async def health(self, _request: Request) -> Response:
        """Whether picks can be made, and from how many skills."""
        page = await self.engine.call("skills", limit=1)
        return JSONResponse({"status": "ok", "skills": page["total"]})

    async def pick(self, request: Request) -> Response:
        """Pick the context for {"request": "...", "exclude": [...]}."""
        reply = await self.engine.call("pick", **pick_arguments(await read_json(request)))
        self.metrics.picked(reply)
        return JSONResponse(reply)

    async def skills(self, request: Request) -> Response:
        """A page of the registry: ?cursor=0&limit=50."""
        asked: dict[str, Any] = {
            name: value for name, value in request.query_params.items() if name in ("cursor", "limit")
        }
        return JSONResponse(await self.engine.call("skills", **asked))

    async def skill(self, request: Request) -> Response:
        """One skill, scanned and bounded: ?run_id= where a shortlist offered it."""
        run_id = request.query_params.get("run_id", "")
        return JSONResponse(
            await self.engine.call("skill", skill=request.path_params["skill"], run_id=run_id)
        )


async def _problem(_request: Request, problem: Any) -> Response:
    return problem_response(problem)


async def _error(_request: Request, error: Any) -> Response:
    return problem_response(of_error(error))


async def _missing(request: Request, error: Any) -> Response:
    message = f"There is no {request.method} {request.url.path[:100]} here: see /docs."
    return problem_response(Problem(error.status_code, "no_such_path", message))


async def _fault(_request: Request, _error: Any) -> Response:
    return problem_response(Problem(500, "fault", "The server failed on this request: its log tells more."))
