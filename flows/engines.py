"""Open what a request needs: the index, made when there is none, and the models of the profile."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path

from pickysteve.calibration.fitted import EMBEDDED, EMBEDDED_RERANKER, Fitted, read_fitted, uncalibrated
from pickysteve.errors import CalibrationMismatch, IndexMissing, RegistryMissing
from pickysteve.flows.dag import Engines
from pickysteve.flows.enrichment import apply_enriched
from pickysteve.flows.examples import apply_overlay
from pickysteve.flows.ingest import Helpers, Ingested, ingest_registry
from pickysteve.flows.review import follows, read_decisions
from pickysteve.flows.scanning import Progress, quiet
from pickysteve.flows.settings import Settings
from pickysteve.flows.shared import open_shared
from pickysteve.registry.catalogue import Catalogue
from pickysteve.registry.index import read_index
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.cross_encoder import CrossEncoder, PairScorer
from pickysteve.tasks.engines.embedder import Embedder, MiniLM, open_encoder
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.fusion import FusionReranker
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker, Reranker
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.roles import Role, Roles, open_roles

__all__ = [
    "calibration_file",
    "current_index",
    "engines_on",
    "index_folder",
    "ingest",
    "open_calibration",
    "open_engines",
    "open_engines_on",
    "open_scorer",
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
    settings: Settings,
    *,
    strict: bool = False,
    fresh: bool = False,
    progress: Progress = quiet,
    helpers: Helpers | None = None,
) -> Ingested:
    """Bring the index of the registry up to date, and put it into shared storage where that is set."""
    done = ingest_registry(
        settings.registry,
        index_folder(settings),
        encoder=open_encoder(settings.embed),
        defender=Guard(),
        config=settings.gate,
        auditor=open_roles(settings.llm).auditor,
        overlay=lambda catalogue: _overlay(settings.registry, catalogue),
        verdicts=verdict_folder(settings),
        strict=strict,
        fresh=fresh,
        progress=progress,
        helpers=helpers,
    )
    if settings.shared:
        open_shared(settings.shared).publish_index(index_folder(settings))
    return done


def _overlay(registry: Path, catalogue: Catalogue) -> None:
    """What a model wrote for the skills, then what the user made of it."""
    apply_enriched(registry, catalogue)
    apply_overlay(registry, catalogue)


def open_engines(settings: Settings, progress: Progress = quiet, *, executes: bool = False) -> Engines:
    """Everything that the settings name: encoder, reranker, gate, and the language models.

    With `executes`, a model that is named for it answers with the bundle. A registry without an index,
    or with one of other models, is ingested first. Raises RegistryMissing, RegistryEmpty, IndexCorrupt
    or CalibrationMismatch.
    """
    encoder = open_encoder(settings.embed)
    defender, roles = Guard(), open_roles(settings.llm, executes=executes)
    calibrated = open_calibration(settings, encoder)
    data = current_index(settings, encoder, defender, roles.auditor)
    return engines_on(data or ingest(settings, progress=progress).data, encoder, defender, roles, calibrated)


def engines_on(
    data: IndexData,
    encoder: Embedder,
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


def open_engines_on(data: IndexData, settings: Settings) -> Engines:
    """The engines that the settings name, around an index that was read: no registry is looked at.

    Raises CalibrationMismatch, or ModelUnavailable for models whose files are not there.
    """
    encoder = open_encoder(settings.embed)
    calibrated = open_calibration(settings, encoder)
    return engines_on(data, encoder, Guard(), open_roles(settings.llm), calibrated)


def open_calibration(settings: Settings, encoder: Embedder) -> tuple[Calibration, Reranker]:
    """The calibration of the settings, or none where that was allowed; a stand-in says so in every trace.

    Raises CalibrationMismatch, and ModelUnavailable for a cross-encoder whose files are not there.
    """
    scorer = open_scorer(settings)
    reranker = scorer.fingerprint if scorer else EMBEDDED_RERANKER
    made_for = {"encoder": encoder.fingerprint, "scoring": SCORING_VERSION, "reranker": reranker}
    try:
        fitted = read_fitted(settings.calibration or calibration_file(encoder, scorer), **made_for)
    except CalibrationMismatch as error:
        if not settings.allow_uncalibrated:
            raise
        return _uncalibrated(uncalibrated(**made_for), encoder, scorer, str(error))
    # a floor that this calibration cannot promise is said before any work
    fitted.floor_for(settings.floor.mode, settings.floor.risk)
    calibration = Calibration(fitted)
    return calibration, CrossEncoder(scorer, fitted) if scorer else EmbeddedReranker(encoder, calibration)


def open_scorer(settings: Settings) -> PairScorer | None:
    """The cross-encoder of the settings; None stands for the embedded reranker."""
    return PairScorer(settings.rerank.model) if settings.rerank.model else None


def _uncalibrated(
    fitted: Fitted, encoder: Embedder, scorer: PairScorer | None, error: str
) -> tuple[Calibration, Reranker]:
    by = "the raw score of the cross-encoder" if scorer else "plain cosine and BM25"
    degraded = f"uncalibrated, ranked by {by}, nothing is left unanswered. {error}"
    stand_in = CrossEncoder(scorer, fitted, degraded) if scorer else FusionReranker(encoder, degraded)
    return Calibration(fitted), stand_in


def calibration_file(encoder: Embedder, scorer: PairScorer | None) -> Path:
    """Where the calibration for these models is: the one that we ship, or one made on this machine."""
    if scorer is None and isinstance(encoder, MiniLM):
        return EMBEDDED
    names = [encoder.fingerprint, *([scorer.fingerprint] if scorer else [])]
    return user_data_path("pickysteve") / "calibration" / "models" / f"{'+'.join(names)}.json"


def current_index(settings: Settings, encoder: Embedder, defender: Guard, auditor: Role) -> IndexData | None:
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
