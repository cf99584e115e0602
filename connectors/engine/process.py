"""Process: the background engine itself. It listens at once, loads its models at the first call, and
stops when nobody has called for a while."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

from pickysteve.connectors.engine.calls import answer
from pickysteve.connectors.engine.place import Place, engine_place
from pickysteve.connectors.engine.wire import MAX_LINE_BYTES, decode, encode, error_line
from pickysteve.flows.service import PickService
from pickysteve.flows.settings import load_settings

__all__ = ["EngineProcess", "main"]

LOOK_SECONDS = 1.0


class EngineProcess:
    """Serves calls of one account's clients, in threads, until it has idled too long."""

    def __init__(self, place: Place, idle_seconds: float, service: PickService) -> None:
        self.place = place
        self.idle_seconds = idle_seconds
        self.service = service
        self._open_calls = 0
        self._last_call = time.monotonic()

    async def serve(self) -> None:
        """Listen until idle. The caller holds the lock, so a socket that is there is a dead one's."""
        self.place.socket.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._client, self.place.socket, limit=MAX_LINE_BYTES)
        async with server:
            while self._open_calls or time.monotonic() - self._last_call < self.idle_seconds:
                await asyncio.sleep(min(LOOK_SECONDS, self.idle_seconds))
            self.place.socket.unlink(missing_ok=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open_calls += 1
        try:
            await self._answer(reader, writer)
        except (ConnectionError, ValueError, asyncio.IncompleteReadError):
            # the client went away, or sent a line without end: there is nobody to tell
            traceback.print_exc()
        finally:
            self._open_calls -= 1
            self._last_call = time.monotonic()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readuntil(b"\n")
        writer.write(encode({"accepted": True}))
        loop = asyncio.get_running_loop()

        def progress(phase: str, done: int, total: int) -> None:
            message = encode({"progress": [phase, done, total]})
            loop.call_soon_threadsafe(writer.write, message)

        last = await asyncio.to_thread(self._call, line, progress)
        writer.write(encode(last))
        await writer.drain()

    def _call(self, line: bytes, progress: Callable[[str, int, int], None]) -> dict[str, Any]:
        try:
            return {"result": answer(self.service, decode(line), progress)}
        except Exception as error:  # noqa: BLE001 - the caller gets every error, and the log its trace
            traceback.print_exc()
            return error_line(error)


def main() -> None:
    """Take the lock and go on in the background; return at once when another engine has it."""
    settings = load_settings()
    place = engine_place(settings)
    descriptor = os.open(place.lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if os.fork():
        # the starter need not wait, and its own parent has no child to bury
        os._exit(0)
    os.setsid()
    process = EngineProcess(place, settings.engine_idle_seconds, PickService(settings))
    asyncio.run(process.serve())
