"""Open what a request needs: the index, made when there is none, and the models of the profile."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pickysteve.calibration.fitted import EMBEDDED, read_fitted
from pickysteve.errors import IndexMissing, RegistryMissing
from pickysteve.flows.dag import Engines
from pickysteve.flows.examples import apply_overlay
from pickysteve.flows.ingest import Ingested, Progress, ingest_registry, quiet
from pickysteve.flows.settings import Settings
from pickysteve.registry.index import IndexData, read_index
from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker
from pickysteve.tasks.gate import gate_fingerprint

__all__ = ["index_folder", "ingest", "open_engines"]


def index_folder(settings: Settings) -> Path:
    """The index of a registry is found by the registry's path."""
    root = settings.registry.resolve()
    return settings.index_dir / f"{root.name}-{sha256(str(root).encode()).hexdigest()[:12]}"


def ingest(
    settings: Settings, *, strict: bool = False, fresh: bool = False, progress: Progress = quiet
) -> Ingested:
    """Bring the index of the registry up to date."""
    return ingest_registry(
        settings.registry,
        index_folder(settings),
        encoder=MiniLM(),
        defender=Guard(),
        config=settings.gate,
        overlay=lambda catalogue: apply_overlay(settings.registry, catalogue),
        strict=strict,
        fresh=fresh,
        progress=progress,
    )


def open_engines(settings: Settings, progress: Progress = quiet) -> Engines:
    """The embedded profile: nothing but this machine.

    A registry without an index, or with one of other models, is ingested first. Raises
    RegistryMissing, RegistryEmpty, IndexCorrupt or CalibrationMismatch.
    """
    encoder = MiniLM()
    defender = Guard()
    calibration = Calibration(read_fitted(EMBEDDED, encoder=encoder.fingerprint, scoring=SCORING_VERSION))
    data = _current_index(settings, encoder, defender) or ingest(settings, progress=progress).data
    return Engines(
        index=SearchIndex(data),
        encoder=encoder,
        reranker=EmbeddedReranker(encoder, calibration),
        defender=defender,
        calibration=calibration,
    )


def _current_index(settings: Settings, encoder: MiniLM, defender: Guard) -> IndexData | None:
    if not settings.registry.is_dir():
        raise RegistryMissing(
            f'There is no folder "{settings.registry}": pass --registry the folder of your skills.'
        )
    try:
        data = read_index(index_folder(settings))
    except IndexMissing:
        return None
    made_by = (data.encoder, data.gate)
    return data if made_by == (encoder.fingerprint, gate_fingerprint(defender, settings.gate)) else None
