"""A model host that really listens and says what a test wrote, and our server in front of it."""

import asyncio
import json
import threading
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from pickysteve.connectors.http.app import make_app
from pickysteve.connectors.http.live.watch import WatchedEngine
from pickysteve.flows.serving import ProxyConfig, ServeConfig

REQUEST = "the borrow checker rejects my struct with a reference in it"


@contextmanager
def listening(app, **options):
    """The address of an application that listens on a free port, in a thread of its own."""
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1, backlog=256, **options)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        threading.Event().wait(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


class ModelHost:
    """What the model host answers next, and what it was asked."""

    def __init__(self):
        self.asked = []
        self.headers = []
        self.deltas = ["Hello", ", ", "world"]
        self.choice = None
        self.status = 200
        self.break_off = False
        self.pause = 0.0

    def app(self):
        calls = [
            Route(path, self.call, methods=["POST"])
            for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages")
        ]
        return Starlette(routes=[*calls, Route("/v1/models", self.models)])

    async def models(self, request: Request):
        return JSONResponse({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    async def call(self, request: Request):
        body = await request.json()
        self.asked.append(body)
        self.headers.append(dict(request.headers))
        if self.status != 200:
            return JSONResponse({"error": {"message": "no"}}, self.status, {"retry-after": "7"})
        text = "".join(self.deltas)
        if self.choice is not None and (chosen := chosen_answer(body, self.choice)):
            return JSONResponse(chosen)
        if body.get("stream"):
            events = chat_events(self.deltas) if "chat" in request.url.path else message_events(self.deltas)
            return StreamingResponse(self.slowly(events), media_type="text/event-stream")
        return JSONResponse(
            {
                "id": "c1",
                "object": "chat.completion",
                "created": 1,
                "model": "fake",
                "unknown_field": {"kept": [1, 2]},
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    async def slowly(self, events):
        for at, event in enumerate(events):
            if self.break_off and at == 2:
                raise RuntimeError("the host dies in the middle")
            yield event
            await asyncio.sleep(self.pause)


def chosen_answer(body, choice):
    """An answer in the schema that a call of one of the three APIs asks for; None where it asks for none."""
    if "response_format" in body:
        return {"choices": [{"message": {"role": "assistant", "content": choice}}]}
    if "format" in body.get("text", {}):
        return {"output": [{"type": "message", "content": [{"type": "output_text", "text": choice}]}]}
    if "tool_choice" in body:
        try:
            given = json.loads(choice)
        except ValueError:
            return {"content": [{"type": "text", "text": choice}]}
        return {"content": [{"type": "tool_use", "name": "choice", "input": given}]}
    return None


def chat_events(deltas):
    for text in deltas:
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        yield f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n"
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    yield f"data: {json.dumps({**chunk, 'choices': [end], 'usage': None})}\n\n"
    yield "data: [DONE]\n\n"


def message_events(deltas):
    yield 'event: content_block_start\ndata: {"type":"content_block_start","index":0}\n\n'
    for text in deltas:
        body = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        yield f"event: content_block_delta\ndata: {json.dumps(body)}\n\n"
    yield 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    yield 'event: message_stop\ndata: {"type":"message_stop"}\n\n'


@pytest.fixture
def listen():
    """Have an application listen."""
    return listening


@pytest.fixture
def model_host():
    return ModelHost()


@pytest.fixture(scope="session")
def local_engine(engines, small_settings):
    return WatchedEngine(small_settings)


@pytest.fixture
def serving(local_engine, small_settings, model_host):
    """Start our server with these settings, in front of the model host."""

    @contextmanager
    def start(proxy=None, **serve):
        with listening(model_host.app()) as upstream:
            settings = small_settings.model_copy(
                update={
                    "serve": ServeConfig(**serve),
                    "proxy": ProxyConfig(**{"upstream": upstream, **(proxy or {})}),
                }
            )
            app = make_app(local_engine, settings)
            with listening(app) as address, httpx.Client(base_url=address, timeout=60) as client:
                yield client

    return start
