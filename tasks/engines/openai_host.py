"""Any host that speaks OpenAI's chat completions: OpenAI, OpenRouter, vLLM, llama.cpp, LM Studio ..."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import openai.resources.chat  # the client would load it inside the first call
from pydantic import BaseModel, Field, ValidationError

from pickysteve.tasks.engines.llm_wire import BoundedBody, Call, HostFault, Raw, status_fault, whole

__all__ = ["OpenAIHost"]

SEED = 1
NO_KEY = "none"
"""The client insists on a key; local servers ignore it."""


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    """What is read of the response: the client itself would build any object from any JSON."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _PartOfChoice(BaseModel):
    delta: _Message
    finish_reason: str | None = None


class _Part(BaseModel):
    """One event of a streamed completion."""

    choices: list[_PartOfChoice] = []
    usage: _Usage | None = None


class _Body(BoundedBody, httpx2.AsyncByteStream):
    pass


class OpenAIHost:
    """Asks through the `openai` package."""

    async def ask(self, call: Call) -> Raw:
        """Ask once; raises HostFault."""
        async with _connection(call) as client:
            response = await client.chat.completions.with_raw_response.create(**_question(call))
            return _raw(response.content)

    async def stream(self, call: Call, show: Callable[[str], None]) -> Raw:
        """Ask once, and show the answer as it comes; raises HostFault."""
        pieces: list[str] = []
        end, usage = None, _Usage()
        async with _connection(call) as client:
            question = _question(call) | {"stream": True, "stream_options": {"include_usage": True}}
            async for event in await client.chat.completions.create(**question):
                part = _Part.model_validate(event.model_dump())
                usage = part.usage or usage
                for choice in part.choices[:1]:
                    end = choice.finish_reason or end
                    if choice.delta.content:
                        pieces.append(choice.delta.content)
                        show(choice.delta.content)
        if end is None:
            raise HostFault("cut-off")
        return Raw(whole("".join(pieces), end), usage.prompt_tokens, usage.completion_tokens)


@asynccontextmanager
async def _connection(call: Call) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client, whose errors become faults."""
    async with _client(call) as client:
        try:
            yield client
        except openai.APIStatusError as error:
            raise status_fault(error.status_code, error.response.headers.get("retry-after")) from error
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise HostFault("timeout") from error
        except openai.APIConnectionError as error:
            refused = isinstance(error.__cause__, httpx2.ConnectError)
            raise HostFault("refused" if refused else "cut-off", passes=refused) from error
        except httpx2.HTTPError as error:
            raise HostFault("cut-off") from error
        except (openai.APIError, ValueError, TypeError, AttributeError) as error:
            raise HostFault("broken") from error


def _client(call: Call) -> openai.AsyncOpenAI:
    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise HostFault("broken", "it is compressed, which was not asked for")
        response.stream = _Body(response.stream, call.config.max_answer_bytes)

    return openai.AsyncOpenAI(
        api_key=call.config.api_key.get_secret_value() or NO_KEY,
        base_url=call.config.address,
        max_retries=0,
        timeout=call.config.timeout_seconds,
        default_headers={"accept-encoding": "identity"},
        # an answer is taken from the configured host alone
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [bound]}),
    )


def _question(call: Call) -> dict[str, Any]:
    question: dict[str, Any] = {
        "model": call.model,
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_completion_tokens": call.config.max_answer_tokens,
    }
    if call.schema:
        schema = {"name": "answer", "strict": True, "schema": call.schema}
        question["response_format"] = {"type": "json_schema", "json_schema": schema}
    return question | ({"temperature": 0, "seed": SEED} if call.config.deterministic else {})


def _raw(content: bytes) -> Raw:
    try:
        completion = _Completion.model_validate_json(content)
    except ValidationError as error:
        raise HostFault("broken") from error
    first, usage = completion.choices[0], completion.usage or _Usage()
    return Raw(
        whole(first.message.content, first.finish_reason), usage.prompt_tokens, usage.completion_tokens
    )
