"""Upstream: the model host behind the proxy."""

from __future__ import annotations

import json
from typing import Any

import httpx
from starlette.datastructures import Headers

from pickysteve.connectors.http.problems import Problem
from pickysteve.flows.serving import ProxyConfig

__all__ = ["Upstream", "answer_headers", "read_whole"]

# Ours to say, or about one connection only.
NOT_SENT = frozenset(
    [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "accept-encoding",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "origin",
        "referer",
        "cookie",
        "proxy-authorization",
    ]
)
SENT_BACK = ("content-type", "retry-after", "x-request-id", "request-id")
SENT_BACK_PREFIXES = ("x-ratelimit-", "anthropic-", "openai-")
MOST_ANSWER_BYTES = 64 * 1024 * 1024


class Upstream:
    """Sends calls on and gives the answer's bytes as they come."""

    def __init__(self, config: ProxyConfig, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.config = config
        timeout = httpx.Timeout(config.answer_seconds, connect=config.connect_seconds)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self.client = httpx.AsyncClient(timeout=timeout, limits=limits, transport=transport, trust_env=False)

    async def send(
        self, method: str, path: str, headers: Headers, body: dict[str, Any] | None
    ) -> httpx.Response:
        """The response with its body unread; the caller closes it.

        Raises Problem: 502 when the host cannot be reached, 504 when it is silent for too long.
        """
        request = self.client.build_request(
            method,
            self._address(path),
            headers=self._headers(headers),
            content=None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        )
        try:
            return await self.client.send(request, stream=True)
        except httpx.TimeoutException as error:
            raise Problem(
                504, "upstream_timeout", f"The model host did not answer in time: {_cause(error)}"
            ) from error
        except httpx.HTTPError as error:
            raise Problem(
                502, "upstream_unreachable", f"The model host cannot be reached: {_cause(error)}"
            ) from error

    async def ask(self, path: str, headers: Headers, body: dict[str, Any]) -> dict[str, Any]:
        """A whole small answer as JSON; raises Problem when the host does not give one."""
        response = await self.send("POST", path, headers, body)
        content = await read_whole(response)
        if response.status_code != 200:
            raise Problem(502, "upstream_refused", f"The model host answered {response.status_code}.")
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError, RecursionError) as error:
            raise Problem(502, "upstream_answer", "The model host's answer is no JSON object.") from error

    def _address(self, path: str) -> str:
        if not self.config.upstream:
            message = "There is no model host behind this proxy: set PS_PROXY__UPSTREAM to its address."
            raise Problem(503, "no_upstream", message)
        return self.config.upstream.rstrip("/").removesuffix("/v1") + path

    def _headers(self, headers: Headers) -> list[tuple[str, str]]:
        kept = [(name, value) for name, value in headers.items() if name not in NOT_SENT]
        if self.config.api_key is not None:
            key = self.config.api_key.get_secret_value()
            kept = [(name, value) for name, value in kept if name not in ("authorization", "x-api-key")]
            kept += [("authorization", f"Bearer {key}"), ("x-api-key", key)]
        # the answer is read on its way, so it must not be compressed
        return [*kept, ("accept-encoding", "identity")]


def answer_headers(response: httpx.Response) -> dict[str, str]:
    """What the caller may know of the host's answer."""
    return {
        name: value
        for name, value in response.headers.items()
        if name in SENT_BACK or name.startswith(SENT_BACK_PREFIXES)
    }


async def read_whole(response: httpx.Response) -> bytes:
    """A whole answer, closed. Raises Problem 502 when the host breaks off, or the answer is too long."""
    content = bytearray()
    try:
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MOST_ANSWER_BYTES:
                raise Problem(502, "upstream_answer", "The model host's answer is too long.")
    except httpx.HTTPError as error:
        message = "The model host broke off in the middle of its answer: try again."
        raise Problem(502, "upstream_broke_off", message) from error
    finally:
        await response.aclose()
    return bytes(content)


def _cause(error: httpx.HTTPError) -> str:
    return f"{type(error).__name__}. Is it running, and is PS_PROXY__UPSTREAM its address?"
