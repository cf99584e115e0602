"""Client: calls the background engine, and starts it when it does not run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pickysteve.connectors.engine.place import Place, engine_place, has_unix_sockets
from pickysteve.connectors.engine.wire import MAX_LINE_BYTES, decode, encode, raised
from pickysteve.errors import EngineUnavailable
from pickysteve.flows.settings import Settings

__all__ = ["Engine", "LocalEngine", "Progress", "SharedEngine", "open_engine"]

START_SECONDS = 30.0
RETRY_SECONDS = 0.05
PATHS = ("registry", "runs_dir", "index_dir")
START = "from pickysteve.connectors.engine.process import main; main()"

Progress = Callable[[str, int, int], Coroutine[Any, Any, None]]


class Engine(Protocol):
    """Answers the calls of calls.py."""

    async def call(self, name: str, progress: Progress | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one call; raises the PickyError that it raised."""


def open_engine(settings: Settings) -> Engine:
    """The shared engine where there are Unix sockets, else one in this process. Nothing starts yet."""
    return SharedEngine(settings) if has_unix_sockets() else LocalEngine(settings)


class SharedEngine:
    """The one background engine of this account and these settings."""

    def __init__(self, settings: Settings) -> None:
        # absolute, as the engine sees them: it works in another folder
        paths = {name: getattr(settings, name).resolve() for name in PATHS}
        self.settings = settings.model_copy(update=paths)

    async def call(self, name: str, progress: Progress | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one call; raises EngineUnavailable when the engine dies before it has answered."""
        place = engine_place(self.settings)
        line = encode({"call": name, "arguments": arguments})
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            reader, writer = await self._connect(place)
            try:
                # an engine that is ending takes calls that it never reads: nothing has begun there
                if await _accepted(line, reader, writer):
                    return await _answer(reader, progress, place)
            finally:
                writer.close()
            await asyncio.sleep(RETRY_SECONDS)
        raise _no_start(place)

    async def _connect(self, place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect, starting an engine where none listens; of several that start, one stays."""
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            try:
                return await asyncio.open_unix_connection(place.socket, limit=MAX_LINE_BYTES)
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.to_thread(self._start, place)
            await asyncio.sleep(RETRY_SECONDS)
        raise _no_start(place)

    def _start(self, place: Place) -> None:
        """Start an engine. The command returns as soon as one holds the lock; its failure is ours."""
        # 0600 from the first byte: the log may quote a file's path or a request's error
        descriptor = os.open(place.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            # -P and "/": nothing of the folder that an agent works in is imported
            started = subprocess.run(  # noqa: S603 - our own interpreter and code
                [sys.executable, "-P", "-c", START],
                cwd="/",
                env={**os.environ, **_as_variables(self.settings)},
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                check=False,
            )
        finally:
            os.close(descriptor)
        if started.returncode:
            raise _no_start(place)


async def _accepted(line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    try:
        writer.write(line)
        await writer.drain()
        return bool(await reader.readline())
    except ConnectionError:
        return False


async def _answer(reader: asyncio.StreamReader, progress: Progress | None, place: Place) -> dict[str, Any]:
    """Wait for the last line of a call that the engine has accepted."""
    try:
        while line := await reader.readline():
            message = decode(line)
            if "result" in message:
                return dict(message["result"])
            if "error" in message:
                raise raised(message["error"])
            if progress is not None:
                await progress(*message["progress"])
    except (ConnectionError, ValueError) as error:
        raise _died(place) from error
    raise _died(place)


def _as_variables(settings: Settings) -> dict[str, str]:
    """What the command line may have changed, for the other process."""
    return {f"PS_{name.upper()}": str(getattr(settings, name)) for name in PATHS}


def _no_start(place: Place) -> EngineUnavailable:
    return EngineUnavailable(f'The background engine does not start: see "{place.log}".')


def _died(place: Place) -> EngineUnavailable:
    return EngineUnavailable(
        f'The background engine stopped before it answered: ask again, and see "{place.log}".'
    )


class LocalEngine:
    """The same calls in this process, for systems without Unix sockets and for the HTTP server."""

    def __init__(self, settings: Settings) -> None:
        from pickysteve.flows.service import PickService

        self.service = PickService(settings)

    async def call(self, name: str, progress: Progress | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one call in a thread."""
        from pickysteve.connectors.engine.calls import answer

        loop = asyncio.get_running_loop()

        def report(phase: str, done: int, total: int) -> None:
            if progress is not None:
                asyncio.run_coroutine_threadsafe(progress(phase, done, total), loop)

        message = {"call": name, "arguments": arguments}
        return await asyncio.to_thread(answer, self.service, message, report)
