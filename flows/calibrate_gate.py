"""Calibrate the gate: fit its heads on one half of the outside corpora and on our own requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.logistic import GATE, GateHeads, Head, fit_logistic
from pickysteve.flows.gate_corpora import (
    Sample,
    hard_ordinary,
    outside_corpora,
    own_documents,
    own_requests,
    real_documents,
    redteam_requests,
    repository_root,
    shared_data,
)
from pickysteve.flows.gate_documents import fit_document_head
from pickysteve.tasks.engines.defender import Defender
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.evidence import EVIDENCE_VERSION, FEATURES
from pickysteve.tasks.engines.guard import read_evidence, request_matrix

__all__ = ["calibrate_gate", "out_of_fold_requests", "write_gate"]

SEED = 20261130
RIDGE_FEATURES = 3e-4
RIDGE_EMBEDDING = 5e-3
"""Per squared weight of a feature of unit spread."""
LEAST_SPREAD = 0.1
"""A flag that few texts of the corpora carry gets no large weight: their authors favour some words."""
ROUNDS = 3
FOLDS = 5
NOT_REQUESTS = {
    "bipia",
    "skillinject-payloads",
    "skillfortify",
    "skillinject",
    "obfuscation-document",
    "skills",
}
BUDGETS = {"own": 0.004, "pickysteve-requests": 0.005, "notinject": 0.03, "multilingual": 0.03}
"""Share of ordinary requests of a corpus that may be blocked; the strictest of them sets the threshold."""

Floats = NDArray[Any]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Row:
    """One request: a row of features a window."""

    sample: Sample
    windows: Floats

    @property
    def budget(self) -> str:
        ordinary = self.sample.corpus.startswith("own-") and self.sample.corpus != "own-hard"
        return "own" if ordinary else self.sample.corpus

    @property
    def fold(self) -> int:
        return int(sha256(f"fold {self.sample.group or self.sample.text}".encode()).hexdigest(), 16) % FOLDS


def calibrate_gate(
    encoder: Embedder, shared: Path | None = None, progress: Progress = lambda _: None
) -> GateHeads:
    """Weights from the fitting half; thresholds from its held-out folds and from datasets/calibrate."""
    folder, root, defender = shared_data(shared), repository_root(), Defender()
    outside = [sample for sample in outside_corpora(folder) if sample.fitting]
    documents = [sample for sample in real_documents(folder) if sample.fitting]
    documents += own_documents(root, "registry", "fit")
    ours, held = (
        (*own_requests(root, "registry", "fit"), *hard_ordinary(root), *redteam_requests(root)),
        own_requests(root, "calibrate"),
    )
    progress("reading requests")
    rows = [_row(s, defender, encoder) for s in (*(s for s in outside if _is_request(s)), *ours)]
    held_rows = [_row(sample, defender, encoder) for sample in held]
    progress("fitting the request head")
    request = _fit_requests(rows, held_rows)
    document = fit_document_head([*outside, *documents], defender, progress)
    used = sorted(f"{s.attack} {s.text}" for s in (*outside, *documents, *ours, *held))
    return GateHeads(
        encoder=encoder.fingerprint,
        scanner=defender.fingerprint,
        evidence=EVIDENCE_VERSION,
        seed=SEED,
        fit_sha256=sha256("\0".join(used).encode("utf-8", "surrogatepass")).hexdigest(),
        request=request,
        document=document,
        report={
            "requests": len(rows),
            "attacks_among_requests": sum(row.sample.attack for row in rows),
            "held_ordinary_requests": len(held),
            "documents": len(documents),
        },
    )


def out_of_fold_requests(encoder: Embedder, shared: Path | None = None) -> tuple[Floats, Floats]:
    """Scores of the requests of the fitting half, each by a head fitted without its fold; which are attacks.

    Both are (n,): floats in [0, 1] and booleans.
    """
    root, defender = repository_root(), Defender()
    outside = [s for s in outside_corpora(shared_data(shared)) if s.fitting and _is_request(s)]
    ours = (*own_requests(root, "registry", "fit"), *hard_ordinary(root), *redteam_requests(root))
    rows = [_row(sample, defender, encoder) for sample in (*outside, *ours)]
    heads = [_fit([row for row in rows if row.fold != fold]) for fold in range(FOLDS)]
    utilities = np.array([_utility(row, *heads[row.fold]) for row in rows])
    return 1 / (1 + np.exp(-utilities)), np.array([row.sample.attack for row in rows])


def write_gate(heads: GateHeads, path: Path = GATE) -> None:
    """Write the fitted file, all or nothing."""
    draft = path.with_suffix(".draft")
    draft.write_text(heads.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def _is_request(sample: Sample) -> bool:
    documents_too = sample.corpus == "agentdojo"
    return sample.corpus not in NOT_REQUESTS and (sample.surface == "request" or documents_too)


def _row(sample: Sample, defender: Defender, encoder: Embedder) -> _Row:
    _, windows = read_evidence(sample.text, defender)
    return _Row(sample, request_matrix(windows, encoder))


def _fit_requests(rows: Sequence[_Row], held: Sequence[_Row]) -> Head:
    weights, constant = _fit(rows)
    scores: dict[str, list[float]] = {name: [] for name in BUDGETS}
    for fold in range(FOLDS):
        others = _fit([row for row in rows if row.fold != fold])
        for row in rows:
            if row.fold == fold and not row.sample.attack and row.budget in scores:
                scores[row.budget].append(_utility(row, *others))
    scores["own"] += [_utility(row, weights, constant) for row in held]
    threshold = max(float(np.quantile(scores[name], 1 - share)) for name, share in BUDGETS.items())
    named = dict(zip(FEATURES, (round(float(w), 4) for w in weights), strict=False))
    return Head(
        features=named,
        embedding=tuple(round(float(w), 4) for w in weights[len(FEATURES) :]),
        constant=round(constant, 4),
        block=round(float(1 / (1 + np.exp(-threshold))), 4),
    )


def _utility(row: _Row, weights: Floats, constant: float) -> float:
    return float((row.windows @ weights).max() + constant)


def _fit(rows: Sequence[_Row]) -> tuple[Floats, float]:
    """Fit on the window that tells most of each attack, and on all windows of the rest.

    Which window tells most is found by the head of the round before (multiple-instance learning,
    Andrews et al. 2003).
    """
    telling = np.zeros(rows[0].windows.shape[1])
    telling[[FEATURES.index(name) for name in ("scanner", "scanner_foreign", "lexicon.count")]] = 1, 1, 2
    penalties = np.full(len(telling), RIDGE_EMBEDDING)
    penalties[: len(FEATURES)] = RIDGE_FEATURES
    least_spread = np.where(np.arange(len(telling)) < len(FEATURES), LEAST_SPREAD, 1e-3)
    constant = 0.0
    for _ in range(ROUNDS):
        attacks = [row.windows[[int((row.windows @ telling).argmax())]] for row in rows if row.sample.attack]
        others = [row.windows for row in rows if not row.sample.attack]
        shares = np.concatenate([np.full(len(windows), 1 / len(windows)) for windows in others])
        features = np.vstack([*attacks, *others])
        labels = np.arange(len(features)) < len(attacks)
        weighing = np.concatenate([np.full(len(attacks), shares.sum() / len(attacks) / 2), shares])
        telling, constant = fit_logistic(features, labels.astype(float), weighing, penalties, least_spread)
    return telling, constant
