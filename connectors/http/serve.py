"""`pickysteve serve`: the HTTP server as a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import uvicorn

from pickysteve.connectors.http.app import make_app
from pickysteve.connectors.http.live.watch import WatchedEngine
from pickysteve.errors import SettingsInvalid
from pickysteve.flows.serving import LOOPBACK
from pickysteve.flows.settings import Settings

__all__ = ["serve"]

BACKLOG = 2048
SHUTDOWN_SECONDS = 10


def serve(settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` gets what is not served, and the address once it listens.

    Nothing is accepted before every document of the index has a current verdict. Raises RegistryRefused
    under the policy "abort" while the gate refuses a document, and SettingsInvalid for an address that is
    taken, or that others can reach without a token.
    """
    config = settings.serve
    if config.host not in LOOPBACK and config.token is None:
        raise SettingsInvalid(
            f"{config.host} can be reached by others: set PS_SERVE__TOKEN, or stay on loopback."
        )
    engine = WatchedEngine(settings)
    for document in engine.service.open().refused:
        tell(f"not served: {document.source} was refused ({', '.join(document.rules)})")
    server = _Server(
        uvicorn.Config(
            make_app(engine, settings),
            host=config.host,
            port=config.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            h11_max_incomplete_event_size=64 * 1024,
        ),
        tell,
    )
    try:
        asyncio.run(server.serve())
    except SystemExit as error:
        # what uvicorn does when it cannot bind
        raise SettingsInvalid(f"Port {config.port} is taken: set PS_SERVE__PORT to another.") from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, tell: Callable[[str], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._tell(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}")
