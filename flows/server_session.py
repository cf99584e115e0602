"""Talking to a standing Prefect server: what one request can afford, and a sentence when it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from httpx_retries import Retry, RetryTransport
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.context import SyncClientContext
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_CSRF_SUPPORT_ENABLED,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_LOGGING_TO_API_ENABLED,
    PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
    temporary_settings,
)

from pickysteve.errors import ServerMissing
from pickysteve.flows.serving import LOOPBACK

__all__ = ["orchestrated_session"]

# SQLite answers 503 when two write at once, and has rolled back what was asked: the next try, a few
# milliseconds later, mostly passes. Prefect's client waits 2, 4 and 8 s and then gives the run up.
BUSY = Retry(
    total=120,
    allowed_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
    status_forcelist=(httpx.codes.SERVICE_UNAVAILABLE,),
    retry_on_exceptions=(),
    backoff_factor=0.05,
    max_backoff_wait=0.25,
    backoff_jitter=1,
    respect_retry_after_header=False,
)
CONNECTS = 2


@contextmanager
def orchestrated_session() -> Iterator[SyncPrefectClient]:
    """Talk to the standing server with what a request can afford; raises ServerMissing, without one at once.

    Heartbeats make every sync flow wait up to a second at its end, each run would build a client of
    its own, and an ephemeral server takes 15 s to start: none of that here. A server on this machine
    is asked again at once when its database is busy; elsewhere Prefect's own waits, TLS and proxies hold.
    """
    url = PREFECT_API_URL.value()
    here = _is_plain_and_here(url or "")
    changes = {
        PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        PREFECT_LOGGING_TO_API_ENABLED: False,
        PREFECT_CLIENT_MAX_RETRIES: 1 if here else 3,
        PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False,
        PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED: False,
    }
    with temporary_settings(changes):
        remedy = 'run "pickysteve up" or "prefect server start", and set PREFECT_API_URL as it says'
        if not url:
            raise ServerMissing(f"An orchestrated run needs a standing Prefect server: {remedy}.")
        with _PatientContext() if here else SyncClientContext(), get_client(sync_client=True) as client:
            if client.api_healthcheck() is not None:
                raise ServerMissing(f"No Prefect server answers at {url}: {remedy}.")
            try:
                yield client
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                if isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500:
                    raise
                raise ServerMissing(
                    f"The Prefect server at {url} stopped answering in the middle ({type(error).__name__}): "
                    "see that it runs, and repeat the command."
                ) from error


def _is_plain_and_here(url: str) -> bool:
    parts = httpx.URL(url)
    return parts.scheme == "http" and parts.host in LOOPBACK


class _PatientContext(SyncClientContext):
    def __init__(self) -> None:
        super().__init__({"transport": RetryTransport(httpx.HTTPTransport(retries=CONNECTS), BUSY)})
        # Prefect looks a client up by its settings: this one is for all who ask for none of their own
        self._httpx_settings = None
