"""Any host that speaks OpenAI's chat completions: OpenAI, OpenRouter, vLLM, llama.cpp, LM Studio ..."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
from pydantic import BaseModel, Field, ValidationError

from pickysteve.tasks.engines.llm_host import BoundedBody, Call, HostFault, Raw, status_fault, whole

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


class _Body(BoundedBody, httpx2.AsyncByteStream):
    pass


class OpenAIHost:
    """Asks through the `openai` package."""

    async def ask(self, call: Call) -> Raw:
        """Ask once; raises HostFault."""
        async with _client(call) as client:
            try:
                response = await client.chat.completions.with_raw_response.create(**_question(call))
            except openai.APIStatusError as error:
                raise status_fault(error.status_code, error.response.headers.get("retry-after")) from error
            except openai.APITimeoutError as error:
                raise HostFault("timeout") from error
            except openai.APIConnectionError as error:
                refused = isinstance(error.__cause__, httpx2.ConnectError)
                raise HostFault("refused" if refused else "cut-off", passes=refused) from error
        return _raw(response.content)


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
    schema = {"name": "answer", "strict": True, "schema": call.schema}
    question: dict[str, Any] = {
        "model": call.model,
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "response_format": {"type": "json_schema", "json_schema": schema},
        "max_completion_tokens": call.config.max_answer_tokens,
    }
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
