"""Model hosts for tests, on real sockets: one follows a script, one serves llama.cpp as Ollama would."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request: its JSON is kept, and the server's behaviour answers it."""

    protocol_version = "HTTP/1.1"
    server: Host

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        self.asked: dict[str, Any] = json.loads(self.rfile.read(size))
        self.server.asked.append(self.asked)
        self.server.headers.append(dict(self.headers))
        # the client has gone: what the test wanted to see
        with contextlib.suppress(ConnectionError):
            self.server.answer(self)

    def do_GET(self) -> None:
        self.send(self.server.tags())

    def send(self, answer: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Host(ThreadingHTTPServer):
    """Answers each request by the next behaviour of its script, and the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Behaviour] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def tells(self, *script: Behaviour) -> Host:
        self.script, self.asked, self.headers = list(script), [], []
        return self

    def answer(self, handler: Handler) -> None:
        behaviour = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        behaviour(handler)

    def tags(self) -> dict[str, Any]:
        return {"models": []}

    def handle_error(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def running(host: Host) -> Iterator[Host]:
    thread = threading.Thread(target=host.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield host
    finally:
        host.closing.set()
        host.shutdown()
        host.server_close()
        thread.join()


def says(content: Any, finish: str = "stop", prompt_tokens: int = 7, answer_tokens: int = 3) -> Behaviour:
    """A whole answer on either wire; what is no text is sent as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)

    def answer(handler: Handler) -> None:
        if handler.path == "/api/chat":
            counts = {"prompt_eval_count": prompt_tokens, "eval_count": answer_tokens}
            message = {"role": "assistant", "content": text or ""}
            handler.send({"model": "m", "message": message, "done": True, "done_reason": finish} | counts)
            return
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": answer_tokens}
        handler.send({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})

    return answer


def streams(
    *pieces: str, finish: str = "stop", breaks: bool = False, hangs: bool = False, pause_seconds: float = 0
) -> Behaviour:
    """An answer in pieces on either wire; it may break off, or go silent, before its end."""

    def lines(ollama: bool) -> Iterator[bytes]:
        for piece in pieces:
            if ollama:
                yield json.dumps({"message": {"role": "assistant", "content": piece}, "done": False}).encode()
            else:
                yield _event([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        if breaks or hangs:
            return
        if ollama:
            end = {"done": True, "done_reason": finish, "prompt_eval_count": 7, "eval_count": len(pieces)}
            yield json.dumps(end | {"message": {"role": "assistant", "content": ""}}).encode()
            return
        yield _event([{"index": 0, "delta": {}, "finish_reason": finish}])
        yield _event([], {"prompt_tokens": 7, "completion_tokens": len(pieces)}) + b"\n\ndata: [DONE]"

    def answer(handler: Handler) -> None:
        ollama = handler.path == "/api/chat"
        handler.send_response(200)
        handler.send_header("content-type", "application/x-ndjson" if ollama else "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for line in lines(ollama):
            body = line + (b"\n" if ollama else b"\n\n")
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
            handler.wfile.flush()
            time.sleep(pause_seconds)
        if hangs:
            handler.server.closing.wait(30)
        if breaks:
            handler.close_connection = True
            handler.connection.shutdown(2)
        else:
            handler.wfile.write(b"0\r\n\r\n")

    return answer


def _event(choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
    event = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices}
    return b"data: " + json.dumps(event | ({"usage": usage} if usage else {})).encode()


def sends(body: bytes, status: int = 200, **headers: str) -> Behaviour:
    """These bytes, with this status; underscores in the names of headers are dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(body, status, named)


def hangs(handler: Handler) -> None:
    """Nothing, until the test is over."""
    handler.server.closing.wait(30)


def dribbles(handler: Handler) -> None:
    """Headers at once, and then a space now and then: no single read ever times out."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    while not handler.server.closing.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def breaks_off(handler: Handler) -> None:
    """Half of an answer, and the socket is closed."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "{\\"verdict\\": \\"ordin')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(2)


def floods(handler: Handler) -> None:
    """More than anybody should read."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(10**9))
    handler.end_headers()
    while not handler.server.closing.is_set():
        handler.wfile.write(b" " * 65_536)


class OllamaWire(Host):
    """Ollama's documented native API in front of a chat function of llama.cpp."""

    def __init__(self, chat: Callable[..., Any], model: str) -> None:
        super().__init__()
        self.chat = chat
        self.model = model

    def tags(self) -> dict[str, Any]:
        return {"models": [{"name": self.model, "model": self.model, "size": 0, "digest": ""}]}

    def answer(self, handler: Handler) -> None:
        asked = handler.asked
        if handler.path != "/api/chat" or asked["model"] != self.model:
            handler.send({"error": f"model '{asked.get('model')}' not found"}, 404)
            return
        options = asked.get("options", {})
        question = {
            "messages": asked["messages"],
            "max_tokens": options.get("num_predict", 128),
            "temperature": options.get("temperature", 0.8),
            "seed": options.get("seed", 0),
        }
        if schema := asked.get("format"):
            wanted = {"name": "answer", "schema": schema, "strict": True}
            question["response_format"] = {"type": "json_schema", "json_schema": wanted}
        done = self.chat(question)
        self._reply(handler, done, stream=asked.get("stream", True))

    def _reply(self, handler: Handler, done: dict[str, Any], *, stream: bool) -> None:
        choice, usage = done["choices"][0], done["usage"]
        text = choice["message"]["content"]
        end = {
            "model": self.model,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "done": True,
            "done_reason": choice["finish_reason"],
            "prompt_eval_count": usage["prompt_tokens"],
            "eval_count": usage["completion_tokens"],
        }
        if not stream:
            handler.send(end | {"message": {"role": "assistant", "content": text}})
            return
        parts = [text[at : at + 8] for at in range(0, len(text), 8)]
        lines = [
            {"model": self.model, "message": {"role": "assistant", "content": part}, "done": False}
            for part in parts
        ]
        lines.append(end | {"message": {"role": "assistant", "content": ""}})
        body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        handler.send(body, headers={"content-type": "application/x-ndjson"})
