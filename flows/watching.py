"""Watching: a change below a registry becomes an event of the Prefect server, and that starts an ingest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient
from prefect.events import Event, Resource
from watchfiles import watch

from pickysteve.errors import RegistryMissing
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.registry.sources.kinds import FolderSource
from pickysteve.registry.sources.reading import is_set
from pickysteve.registry.sources.sets import read_set

__all__ = ["REGISTRY_CHANGED", "announce_change", "watch_registry", "watched_places"]

REGISTRY_CHANGED = "pickysteve.registry-changed"
"""Name of the event. The deployment `ingest` has a trigger on it; a git hook may send it too."""
SETTLE_MILLISECONDS = 2000
"""Changes that follow each other closer than this are one."""


def watched_places(registry: Path) -> tuple[Path, ...]:
    """What can be watched of a registry: a folder, a document, or a set with the folders that it names.

    Raises RegistryMissing when nothing is there, and SourceInvalid for a set that is none.
    """
    if not registry.exists():
        raise RegistryMissing(
            f'There is no "{registry}": pass --registry the folder of your skills, or a set.'
        )
    if not is_set(registry):
        return (registry,)
    base = registry.resolve().parent
    places = [source.place(base) for source in read_set(registry) if isinstance(source, FolderSource)]
    return (registry, *(place for place in places if place.exists()))


def watch_registry(registry: Path, tell: Callable[[str], None], stop: threading.Event | None = None) -> None:
    """Announce the registry, and each change until stopped; raises ServerMissing, and as above."""
    stop = stop or threading.Event()
    with orchestrated_session() as client:
        while not stop.is_set():
            places = watched_places(registry)
            tell(f"watching {', '.join(map(str, places))}")
            # for what changed while nobody watched
            announce_change(client, registry)
            for changes in watch(*places, debounce=SETTLE_MILLISECONDS, stop_event=stop):
                tell(f"{len(changes)} files changed")
                if is_set(registry) and str(registry) in {path for _, path in changes}:
                    break  # it may name other folders now
                announce_change(client, registry)


def announce_change(client: SyncPrefectClient, registry: Path) -> None:
    """Send the event."""
    place = str(registry.resolve())
    resource = {
        "prefect.resource.id": f"pickysteve.registry.{sha256(place.encode()).hexdigest()[:16]}",
        "prefect.resource.name": place,
    }
    event = Event(
        event=REGISTRY_CHANGED, occurred=datetime.now(UTC), resource=Resource.model_validate(resource)
    )
    client.request("POST", "/events", json=[event.model_dump(mode="json")]).raise_for_status()
