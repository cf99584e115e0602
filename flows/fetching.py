"""What a worker on another machine lacks: the index and the calibration, by digest, from shared storage."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from pickysteve.errors import IndexMissing
from pickysteve.flows.dag import Engines
from pickysteve.flows.engines import calibration_file, index_folder, open_scorer
from pickysteve.flows.settings import Settings
from pickysteve.flows.shared import open_shared
from pickysteve.registry.index import current_digest, read_index
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.embedder import open_encoder

__all__ = ["calibration_digest", "index_with", "publish_engines", "publish_run", "with_calibration"]


def publish_engines(engines: Engines, settings: Settings) -> None:
    """Put the index of these engines, and their calibration, into shared storage, if there is one."""
    if not settings.shared:
        return
    store = open_shared(settings.shared)
    store.publish_index(index_folder(settings))
    if calibration_digest(settings):
        store.publish_file(_calibration_path(settings))


def publish_run(folder: Path, settings: Settings) -> None:
    """Put all that a run wrote, page and run records included, into shared storage, if there is one."""
    if settings.shared:
        open_shared(settings.shared).publish_run(folder)


def index_with(digest: str, folder: Path, settings: Settings) -> IndexData:
    """The index with that digest: from the caller's folder if this machine sees it, else fetched once.

    Raises IndexMissing without either, and SharedCorrupt or SharedUnavailable for what was fetched.
    """
    own = settings.index_dir / "shared" / digest
    found = next((place for place in (folder, own) if _digest_at(place) == digest), None)
    if found is None:
        if not settings.shared:
            raise IndexMissing(
                f'This worker has no index {digest[:12]}: let it see "{folder}", or set PS_SHARED '
                "to a storage of all machines."
            )
        open_shared(settings.shared).fetch_index(digest, own)
    return read_index(found or own)


def _digest_at(folder: Path) -> str:
    # a worker may run as a user who may not look into the caller's home
    return current_digest(folder) if os.access(folder / "manifest.json", os.R_OK) else ""


def calibration_digest(settings: Settings) -> str:
    """SHA-256 of the fitted file that the settings name; "" where there is none."""
    path = _calibration_path(settings)
    return sha256(path.read_bytes()).hexdigest() if os.access(path, os.R_OK) else ""


def with_calibration(digest: str, settings: Settings) -> Settings:
    """The settings with the fitted file of that digest, fetched where this machine has another or none.

    Without shared storage the settings stay: a row of another calibration is refused by the caller.
    """
    if digest in ("", calibration_digest(settings)) or not settings.shared:
        return settings
    path = settings.index_dir / "shared" / f"calibration-{digest}.json"
    if not path.is_file() or sha256(path.read_bytes()).hexdigest() != digest:
        open_shared(settings.shared).fetch_file(digest, path)
    return settings.model_copy(update={"calibration": path})


def _calibration_path(settings: Settings) -> Path:
    return settings.calibration or calibration_file(open_encoder(settings.embed), open_scorer(settings))
