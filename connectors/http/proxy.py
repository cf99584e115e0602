"""Proxy: model calls with the picked context added, and the answers filtered on their way back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pickysteve.connectors.http.context import Contexts, Prepared
from pickysteve.connectors.http.dialects import DIALECTS, Body, Dialect
from pickysteve.connectors.http.filtering import OutputFilter, filter_body, filter_events
from pickysteve.connectors.http.metrics import Metrics
from pickysteve.connectors.http.problems import Problem
from pickysteve.connectors.http.upstream import Upstream, answer_headers, read_whole

__all__ = ["Proxy", "read_json"]


class Proxy:
    """The model APIs in front of one model host."""

    def __init__(
        self, contexts: Contexts, upstream: Upstream, metrics: Metrics, output: OutputFilter | None
    ) -> None:
        self.contexts, self.upstream, self.metrics, self.output = contexts, upstream, metrics, output

    def routes(self) -> list[Route]:
        """One route an API, and the list of models."""
        calls = [Route(d.path, self._endpoint(d), methods=["POST"], name=d.path) for d in DIALECTS]
        return [*calls, Route("/v1/models", self.models), Route("/v1/models/{model:path}", self.models)]

    async def models(self, request: Request) -> Response:
        """The model host's own models."""
        return await self._pass(await self.upstream.send("GET", request.url.path, request.headers, None), {})

    def _endpoint(self, dialect: Dialect) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            body = await read_json(request)

            async def ask(question: Body) -> Body:
                return await self.upstream.ask(dialect.path, request.headers, question)

            prepared = await self.contexts.prepare(dialect, body, ask)
            self.metrics.picked(prepared.reply)
            answer = await self.upstream.send("POST", dialect.path, request.headers, prepared.body)
            return await self._pass(answer, _said(prepared))

        return endpoint

    async def _pass(self, answer: httpx.Response, more: dict[str, str]) -> Response:
        headers = {**answer_headers(answer), **more}
        kind = answer.headers.get("content-type", "")
        if self.output and kind.startswith("application/json"):
            content = filter_body(await read_whole(answer), self.output.redact)
            return Response(content, answer.status_code, headers)
        parts = _broken(answer)
        if self.output and kind.startswith("text/event-stream"):
            parts = filter_events(parts, self.output)
        closing = BackgroundTask(answer.aclose)
        return StreamingResponse(_closing(parts, answer), answer.status_code, headers, background=closing)


async def read_json(request: Request) -> Body:
    """The body as an object; raises Problem for anything else."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise Problem(400, "json", "The body is not JSON: send one JSON object.") from error
    if not isinstance(body, dict):
        raise Problem(400, "json", "The body is no JSON object: send one.")
    return body


def _said(prepared: Prepared) -> dict[str, str]:
    """What was picked, for whoever looks at the headers."""
    if prepared.reply is None:
        return {}
    reply = prepared.reply
    return {
        "x-pickysteve-status": reply["status"],
        "x-pickysteve-skills": ",".join(reply["picks"]),
        "x-pickysteve-run": reply["run_id"],
    }


async def _broken(answer: httpx.Response) -> AsyncIterator[bytes]:
    """The answer's bytes. When the host breaks off, an event says so: the status is long sent."""
    try:
        async for part in answer.aiter_bytes():
            yield part
    except httpx.HTTPError as error:
        message = f"The model host broke off in the middle of its answer ({type(error).__name__})."
        told = {"error": {"message": message, "type": "api_error", "code": "upstream_broke_off"}}
        yield b"\n\nevent: error\ndata: " + json.dumps(told).encode() + b"\n\n"


async def _closing(parts: AsyncIterator[bytes], answer: httpx.Response) -> AsyncIterator[bytes]:
    """Hang up on the model host as soon as the caller does."""
    try:
        async for part in parts:
            yield part
    finally:
        await answer.aclose()
