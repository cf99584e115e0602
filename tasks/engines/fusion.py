"""Fusion: the reranker that needs no calibration, for whoever asked to run without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import PairFeatures, pair_features
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Rows
from pickysteve.tasks.values import Clause

__all__ = ["FusionReranker"]

Floats = NDArray[Any]


class FusionReranker:
    """The mean of the cosine with a unit's text and of its BM25 coverage (Fox & Shaw 1994, CombSUM).

    Nothing was fitted: a score orders the units of one request, and no floor tells whether any of them fits.
    """

    def __init__(self, encoder: Embedder, degraded: str) -> None:
        self.encoder = encoder
        self.degraded = degraded
        self.fingerprint = f"fusion:{encoder.fingerprint}"

    def scores(
        self, query: str, clauses: Sequence[Clause], index: SearchIndex, rows: Rows | None = None
    ) -> tuple[Floats, PairFeatures]:
        """One score in [0, 1] a unit, and the features behind it."""
        features = pair_features(query, clauses, index, self.encoder)
        text, bm25 = (features.values[:, features.names.index(name)] for name in ("text", "bm25"))
        return (np.clip(text, 0, 1) + np.clip(bm25, 0, 1)) / 2, features
