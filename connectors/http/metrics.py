"""Metrics: counts and times for Prometheus. Labels are ours: no text of a request is in them."""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Metrics", "Timed"]

PATHS = frozenset(
    [
        "/",
        "/live/events",
        "/live/runs",
        "/pick",
        "/skills",
        "/healthz",
        "/metrics",
        "/mcp",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/models",
    ]
)


class Metrics:
    """One server's numbers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "pickysteve_requests", "HTTP requests", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "pickysteve_request_seconds", "Time to the end of the answer", ["path"], registry=self.registry
        )
        self.open = Gauge("pickysteve_requests_open", "Requests being answered", registry=self.registry)
        self.picks = Counter("pickysteve_picks", "Picks by result", ["status"], registry=self.registry)

    def picked(self, reply: dict[str, Any] | None) -> None:
        """Count a pick that a caller got, remembered ones too."""
        if reply is not None:
            self.picks.labels(reply["status"]).inc()

    async def page(self, _request: Request) -> Response:
        """The numbers as text."""
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)


class Timed:
    """ASGI middleware that counts and times what passes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in PATHS else "other"
        status, started = 500, time.perf_counter()

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.open.inc()
        try:
            await self.app(scope, receive, counted)
        finally:
            self.metrics.open.dec()
            self.metrics.requests.labels(path, status).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - started)
