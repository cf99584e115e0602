"""Rerankers: how well each unit fits the request, as a calibrated score in [0, 1].

A score measures topical similarity, not correctness: 0.9 says that nine of ten such best matches in
the calibration data were the skill that its author had in mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.fitted import Fitted, Weights
from pickysteve.calibration.logit import sigmoid
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import (
    REQUEST_FEATURES,
    TEXT_FEATURES,
    PairFeatures,
    pair_features,
    request_features,
)
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.values import Clause

__all__ = ["Calibration", "EmbeddedReranker", "Reranker", "Rows", "class_columns"]

Floats = NDArray[Any]
Rows = NDArray[np.intp]


class Reranker(Protocol):
    """Scores units for a query; the strong models plug in here."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever a score could."""

    @property
    def degraded(self) -> str:
        """Why it stands in for a better one; empty when it does not."""

    def scores(
        self, query: str, clauses: Sequence[Clause], index: SearchIndex, rows: Rows | None = None
    ) -> tuple[Floats, PairFeatures]:
        """One score in [0, 1] a unit, and the features behind it.

        `rows` are the units that will be asked for: one that reads each text may leave the others at 0.
        """


class Calibration:
    """The fitted thresholds as a handle."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted
        self.fingerprint = sha256(fitted.model_dump_json().encode()).hexdigest()


class EmbeddedReranker:
    """A conditional logit over cosines and term coverages; no model beside the encoder.

    Skills with example requests are weighed by other coefficients than skills without; both
    utilities were fitted in competition, so that they compare within one registry.
    """

    degraded = ""

    def __init__(self, encoder: Embedder, calibration: Calibration) -> None:
        self.encoder = encoder
        self.fitted = calibration.fitted
        self.fingerprint = f"embedded:{encoder.fingerprint}:{calibration.fingerprint}"

    def scores(
        self, query: str, clauses: Sequence[Clause], index: SearchIndex, rows: Rows | None = None
    ) -> tuple[Floats, PairFeatures]:
        """Sigmoid of each unit's utility: the unit against "none of these"."""
        features = pair_features(query, clauses, index, self.encoder)
        with_examples = _utility(features, self.fitted.with_examples)
        without = _utility(features, self.fitted.without_examples)
        utilities = np.where(features.has_examples, with_examples, without)
        # the same for every unit: it moves the scores against "none of these", and never their order
        asked = np.repeat(request_features(query)[None, :], len(utilities), axis=0)
        every = PairFeatures(
            features.names + REQUEST_FEATURES, np.hstack([features.values, asked]), features.has_examples
        )
        return sigmoid(utilities + _utility(every, self.fitted.request)), every


def _utility(features: PairFeatures, weights: Weights) -> Floats:
    vector = np.array([weights.features.get(name, 0.0) for name in features.names])
    return np.asarray(features.values @ vector + weights.constant)


def class_columns(features: PairFeatures) -> Floats:
    """Columns for one fit of both weightings: text and constant without examples, then all with them."""
    has = features.has_examples[:, None].astype(float)
    text = features.values[:, : len(TEXT_FEATURES)]
    one = np.ones_like(has)
    return np.hstack([text * (1 - has), one - has, features.values * has, has])
