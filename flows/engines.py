"""Open what a request needs: the index, made when there is none, and the models of the profile."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pickysteve.calibration.fitted import EMBEDDED, read_fitted, uncalibrated
from pickysteve.errors import CalibrationMismatch, IndexMissing, RegistryMissing
from pickysteve.flows.dag import Engines
from pickysteve.flows.examples import apply_overlay
from pickysteve.flows.ingest import Ingested, ingest_registry
from pickysteve.flows.review import follows, read_decisions
from pickysteve.flows.scanning import Progress, quiet
from pickysteve.flows.settings import Settings
from pickysteve.registry.index import IndexData, read_index
from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.fusion import FusionReranker
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker, Reranker
from pickysteve.tasks.gate import gate_fingerprint
from pickysteve.tasks.roles import Role, Roles, open_roles

__all__ = [
    "current_index",
    "engines_on",
    "index_folder",
    "ingest",
    "open_calibration",
    "open_engines",
    "verdict_folder",
]


def index_folder(settings: Settings) -> Path:
    """The index of a registry is found by the registry's path."""
    root = settings.registry.resolve()
    return settings.index_dir / f"{root.name}-{sha256(str(root).encode()).hexdigest()[:12]}"


def verdict_folder(settings: Settings) -> Path:
    """Kept verdicts stand beside the indexes: a text of two registries is scanned once."""
    return settings.index_dir / "verdicts"


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
        auditor=open_roles(settings.llm).auditor,
        overlay=lambda catalogue: apply_overlay(settings.registry, catalogue),
        verdicts=verdict_folder(settings),
        strict=strict,
        fresh=fresh,
        progress=progress,
    )


def open_engines(settings: Settings, progress: Progress = quiet, *, executes: bool = False) -> Engines:
    """The embedded profile, which needs nothing but this machine, and the language models of the settings.

    With `executes`, a model that is named for it answers with the bundle. A registry without an index,
    or with one of other models, is ingested first. Raises RegistryMissing, RegistryEmpty, IndexCorrupt
    or CalibrationMismatch.
    """
    encoder = MiniLM()
    defender, roles = Guard(), open_roles(settings.llm, executes=executes)
    calibrated = open_calibration(settings, encoder)
    data = current_index(settings, encoder, defender, roles.auditor)
    return engines_on(data or ingest(settings, progress=progress).data, encoder, defender, roles, calibrated)


def engines_on(
    data: IndexData,
    encoder: MiniLM,
    defender: Guard,
    roles: Roles,
    calibrated: tuple[Calibration, Reranker],
) -> Engines:
    """The engines around an index."""
    calibration, reranker = calibrated
    return Engines(
        index=SearchIndex(data),
        encoder=encoder,
        reranker=reranker,
        defender=defender,
        calibration=calibration,
        roles=roles,
    )


def open_calibration(settings: Settings, encoder: MiniLM) -> tuple[Calibration, Reranker]:
    """The calibration of the settings, or none where that was allowed; a stand-in says so in every trace.

    Raises CalibrationMismatch.
    """
    made_for = {"encoder": encoder.fingerprint, "scoring": SCORING_VERSION}
    try:
        fitted = read_fitted(settings.calibration or EMBEDDED, **made_for)
    except CalibrationMismatch as error:
        if not settings.allow_uncalibrated:
            raise
        degraded = f"uncalibrated, ranked by plain cosine and BM25, nothing is left unanswered. {error}"
        return Calibration(uncalibrated(**made_for)), FusionReranker(encoder, degraded)
    # a floor that this calibration cannot promise is said before any work
    fitted.floor_for(settings.floor.mode, settings.floor.risk)
    calibration = Calibration(fitted)
    return calibration, EmbeddedReranker(encoder, calibration)


def current_index(settings: Settings, encoder: MiniLM, defender: Guard, auditor: Role) -> IndexData | None:
    """The index of this registry, these models, this gate and the decisions of now, or None.

    Raises as open_engines does, and SettingsInvalid for decisions that this account did not write.
    """
    if not settings.registry.exists():
        raise RegistryMissing(
            f'There is no "{settings.registry}": pass --registry the folder of your skills, or a set.'
        )
    try:
        data = read_index(index_folder(settings))
    except IndexMissing:
        return None
    made_by = (data.root, data.encoder, data.gate)
    gate = gate_fingerprint(defender, settings.gate, auditor)
    wanted = (str(settings.registry.resolve()), encoder.fingerprint, gate)
    return data if made_by == wanted and follows(data.verdicts, read_decisions()) else None
