"""Entrance: what a request must pass before anything reads it.

A page in a browser can reach a server on loopback, so Host and Origin are checked (DNS rebinding);
a body is counted while it comes, whatever its length claims to be; one that dawdles is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pickysteve.connectors.http.problems import Problem, problem_response
from pickysteve.flows.serving import LOOPBACK, ServeConfig

__all__ = ["Entrance", "host_name"]


class Entrance:
    """ASGI middleware: refuses strangers, floods and dawdlers, each with one sentence."""

    def __init__(self, app: ASGIApp, config: ServeConfig, open_paths: Collection[str] = ()) -> None:
        """Without a token only what lies at the open paths can be read."""
        self.app = app
        self.config = config
        self.open_paths = open_paths
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["method"], scope["path"])
            await self._enter(scope, receive, sending)
        except Problem as problem:
            if started:
                raise
            await problem_response(problem)(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._open >= self.config.at_once:
            message = f"All {self.config.at_once} places are taken: try again in a second."
            raise Problem(503, "overloaded", message, retry_after="1")
        self._open += 1
        try:
            await self.app(scope, _counted(receive, self.config), send)
        finally:
            self._open -= 1

    def _check(self, headers: Headers, method: str, path: str) -> None:
        names = {*LOOPBACK, self.config.host, *self.config.hosts}
        host = headers.get("host", "")
        if host_name(host) not in names:
            raise Problem(
                403, "host", "This host name is not served: call 127.0.0.1, or set PS_SERVE__HOSTS."
            )
        origin = headers.get("origin")
        if origin is not None and origin not in set(self._origins(host)):
            raise Problem(403, "origin", "Pages of this origin may not call: set PS_SERVE__ORIGINS.")
        is_open = method in {"GET", "HEAD"} and path in self.open_paths
        if self.config.token is not None and not is_open and not self._has_token(headers):
            raise Problem(401, "token", "The token is missing or wrong: send it as Authorization: Bearer.")
        if method in {"POST", "PUT", "PATCH"}:
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind != "application/json":
                raise Problem(415, "content_type", "Send JSON, with content-type application/json.")
            length = headers.get("content-length", "0")
            if not length.isdigit() or int(length) > self.config.max_body_bytes:
                raise _too_large(self.config)

    def _origins(self, host: str) -> Iterator[str]:
        yield from self.config.origins
        # our own page, by the name and port that it was loaded from; the name is checked
        yield from (f"http://{host}", f"https://{host}")
        for name in LOOPBACK:
            yield f"http://{f'[{name}]' if ':' in name else name}:{self.config.port}"

    def _has_token(self, headers: Headers) -> bool:
        assert self.config.token is not None  # noqa: S101 - told to the type checker
        given = headers.get("authorization", "").removeprefix("Bearer ").strip() or headers.get(
            "x-api-key", ""
        )
        return compare_digest(given.encode(), self.config.token.get_secret_value().encode())


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].split("]")[0].lower()
    return host.rsplit(":", 1)[0].lower() if host.count(":") == 1 else host.lower()


def _too_large(config: ServeConfig) -> Problem:
    return Problem(413, "body", f"The body is over {config.max_body_bytes:,} bytes: send less.")


def _counted(receive: Receive, config: ServeConfig) -> Callable[[], Awaitable[Message]]:
    """Receive, as long as the body comes in time and stays small."""
    seen, whole, deadline = 0, False, asyncio.get_running_loop().time() + config.body_seconds

    async def counted() -> Message:
        nonlocal seen, whole
        if whole:
            return await receive()
        try:
            left = deadline - asyncio.get_running_loop().time()
            message = await asyncio.wait_for(receive(), timeout=max(left, 0))
        except TimeoutError as error:
            raise Problem(
                408, "slow_body", f"The body took over {config.body_seconds:g} s: send it at once."
            ) from error
        seen += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if seen > config.max_body_bytes:
            raise _too_large(config)
        return message

    return counted
