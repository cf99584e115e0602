"""Ollama on its native API, thinking off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import ollama

from pickysteve.tasks.engines.llm_wire import BoundedBody, Call, HostFault, Raw, status_fault, whole

__all__ = ["OllamaHost"]

SEED = 1


class _Body(BoundedBody, httpx.AsyncByteStream):
    pass


class OllamaHost:
    """Asks through the `ollama` package."""

    async def ask(self, call: Call) -> Raw:
        """Ask once; raises HostFault."""
        async with _connection(call) as client:
            response = await client.chat(**_question(call), format=call.schema)
            return _raw(response, response.message.content or "", call)

    async def stream(self, call: Call, show: Callable[[str], None]) -> Raw:
        """Ask once, and show the answer as it comes; raises HostFault."""
        pieces: list[str] = []
        async with _connection(call) as client:
            async for part in await client.chat(**_question(call), stream=True):
                if piece := part.message.content:
                    pieces.append(piece)
                    show(piece)
                if part.done:
                    return _raw(part, "".join(pieces), call)
        raise HostFault("cut-off")


@asynccontextmanager
async def _connection(call: Call) -> AsyncIterator[ollama.AsyncClient]:
    """A client, whose errors become faults."""
    retry_after: list[str | None] = [None]
    client = _client(call, retry_after)
    try:
        yield client
    except ollama.ResponseError as error:
        raise status_fault(error.status_code, retry_after[0]) from error
    except (ConnectionError, httpx.ConnectError) as error:
        raise HostFault("refused", passes=True) from error
    except httpx.TimeoutException as error:
        raise HostFault("timeout") from error
    except httpx.HTTPError as error:
        raise HostFault("cut-off") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise HostFault("broken") from error
    finally:
        await client.close()  # type: ignore[no-untyped-call]


def _question(call: Call) -> dict[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in call.messages]
    return {"model": call.model, "messages": messages, "think": False, "options": _options(call)}


def _client(call: Call, retry_after: list[str | None]) -> ollama.AsyncClient:
    async def bound(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise HostFault("broken", "it is compressed, which was not asked for")
        # the client's own error keeps the status and drops the headers
        retry_after[0] = response.headers.get("retry-after")
        response.stream = _Body(response.stream, call.config.max_answer_bytes)

    key = call.config.api_key.get_secret_value()
    return ollama.AsyncClient(
        call.config.address,
        timeout=call.config.timeout_seconds,
        headers={"accept-encoding": "identity"} | ({"authorization": f"Bearer {key}"} if key else {}),
        follow_redirects=False,
        event_hooks={"response": [bound]},
    )


def _options(call: Call) -> dict[str, Any]:
    sizes = {"num_ctx": call.config.context_tokens, "num_predict": call.config.max_answer_tokens}
    return sizes | ({"temperature": 0, "seed": SEED} if call.config.deterministic else {})


def _raw(response: ollama.ChatResponse, text: str, call: Call) -> Raw:
    read, written = response.prompt_eval_count or 0, response.eval_count or 0
    # Ollama cuts a prompt that is too long for the context and says nothing
    if read + written >= call.config.context_tokens:
        raise HostFault("unread", f"the context is {call.config.context_tokens} tokens")
    return Raw(whole(text, response.done_reason), read, written)
