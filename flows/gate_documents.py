"""Fit the document head: how much the softer findings of the auditor weigh together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.logistic import Head, fit_logistic
from pickysteve.flows.gate_corpora import Sample, redteam_documents, repository_root
from pickysteve.tasks.engines.defender import Defender
from pickysteve.tasks.engines.dossier import DOCUMENT_FEATURES, document_features, read_document

__all__ = ["DOCUMENT_CORPORA", "fit_document_head"]

DOCUMENT_CORPORA = {"skills", "own-skills", "skillinject", "skillfortify", "obfuscation", "redteam"}
RIDGE = 1e-3
LEAST_SPREAD = 0.25
MARGIN = 0.1
REVIEWED = 0.08
"""Share of ordinary skill files that may stand on the review list."""
FOLDS = 5

Floats = NDArray[Any]


def fit_document_head(
    samples: Sequence[Sample], defender: Defender, progress: Callable[[str], None] = lambda _: None
) -> Head:
    """Weights over DOCUMENT_FEATURES; both thresholds from the ordinary skill files' held-out folds."""
    rows = [s for s in samples if s.corpus in DOCUMENT_CORPORA and s.surface == "document"]
    rows += redteam_documents(repository_root())
    features = []
    for done, sample in enumerate(rows):
        if not done % 50:
            progress(f"reading documents: {done} of {len(rows)}")
        features.append(document_features(read_document(sample.text, defender)))
    matrix = np.stack(features)
    attacks = np.array([sample.attack for sample in rows], dtype=float)
    real = np.array([sample.corpus in ("skills", "own-skills") for sample in rows])
    weights, constant = _fit(matrix, attacks)
    held = np.zeros(len(rows))
    for fold in range(FOLDS):
        inside = np.arange(len(rows)) % FOLDS == fold
        w, c = _fit(matrix[~inside], attacks[~inside])
        held[inside] = matrix[inside] @ w + c
    # No ordinary file of the held-out folds is blocked by the head: the rules take up the budget.
    threshold = float(held[real].max()) + MARGIN
    review = float(np.quantile(held[real], 1 - REVIEWED))
    return Head(
        features=dict(zip(DOCUMENT_FEATURES, (round(float(w), 4) for w in weights), strict=True)),
        constant=round(constant, 4),
        block=round(float(1 / (1 + np.exp(-threshold))), 4),
        review=round(float(1 / (1 + np.exp(-review))), 4),
    )


def _fit(matrix: Floats, attacks: Floats) -> tuple[Floats, float]:
    shares = np.where(attacks == 1, (1 - attacks).sum() / attacks.sum() / 2, 1.0)
    return fit_logistic(
        matrix,
        attacks,
        shares,
        np.full(matrix.shape[1], RIDGE),
        np.full(matrix.shape[1], LEAST_SPREAD),
        positive=True,
    )
