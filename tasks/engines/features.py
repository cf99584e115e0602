"""Features of a request and every unit of an index: the evidence that the reranker weighs.

Cosines and term coverages, read as they are (they tell whether anything fits) and against their
spread among the nearest units (they tell which fits best; a pool of one size, so that a score means
the same in a registry of forty skills and of four thousand). Clauses that rule something out are left
out of the "asked" readings: "a hard refresh does not help" must not speak for the browser's cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.bm25 import stemmed_terms
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.values import Clause

__all__ = [
    "EXAMPLE_FEATURES",
    "REQUEST_FEATURES",
    "SCORING_VERSION",
    "TEXT_FEATURES",
    "PairFeatures",
    "pair_features",
    "request_features",
]

SCORING_VERSION = "2"
"""Raise it when a change here, in the router's clauses or in the index's texts moves a feature."""

TEXT_FEATURES = (
    "text",
    "bm25",
    "head.z",
    "text.z",
    "passages.z",
    "asked_passages.z",
    "bm25.z",
    "asked_bm25.z",
)
EXAMPLE_FEATURES = ("examples", "centroid", "examples.z", "centroid.z", "examples_bm25.z")
REQUEST_FEATURES = ("length",)
LENGTHS = (3, 60)
"""Distinct words of a request, as far as the calibration data goes: a longer one counts as the longest."""
POOL = 32
# keeps the spread of a small or uniform registry from blowing up small differences
MIN_SPREAD = 0.02

Floats = NDArray[Any]


@dataclass(frozen=True)
class PairFeatures:
    """One row a unit, one column a feature; example columns are zero where a skill has no examples."""

    names: tuple[str, ...]
    values: Floats
    has_examples: NDArray[np.bool_]


def pair_features(
    query: str, clauses: Sequence[Clause], index: SearchIndex, encoder: Embedder
) -> PairFeatures:
    """Features of `query` with every unit of `index`: (units, len(TEXT_FEATURES + EXAMPLE_FEATURES))."""
    asked = [clause.text for clause in clauses if clause.role != "ruled_out"] or [query]
    vectors = encoder.encode([query, *asked])
    text = index.texts @ vectors[0]
    bm25 = index.bm25.coverage(stemmed_terms(query))
    pool = _nearest(text, bm25)
    has_examples = (index.examples.counts > 0)[index.skill_row]
    asked_bm25 = index.bm25.coverage(stemmed_terms(" ".join(asked)))
    columns = _text_columns(text, bm25, asked_bm25, vectors, index, pool)
    columns |= _example_columns(query, vectors[0], index, pool & has_examples)
    names = TEXT_FEATURES + EXAMPLE_FEATURES
    return PairFeatures(names, np.stack([columns[name] for name in names], axis=1), has_examples)


def request_features(query: str) -> Floats:
    """What bears on whether anything fits, and not on which: (len(REQUEST_FEATURES),).

    The log of the number of distinct stems: cosines and coverages fall where a request says more, so that
    the same score means more for a long request.
    """
    stems = len(set(stemmed_terms(query)))
    return np.array([math.log(min(max(stems, LENGTHS[0]), LENGTHS[1]))])


def _nearest(text: Floats, bm25: Floats) -> NDArray[np.bool_]:
    """The POOL units that words and meaning put first, by the sum of their reciprocal ranks."""
    fused = np.zeros(len(text))
    for ranking in (text, bm25):
        fused[np.argsort(-ranking, kind="stable")] += 1 / (60 + np.arange(1, len(text) + 1))
    nearest = np.zeros(len(text), bool)
    nearest[np.argsort(-fused, kind="stable")[:POOL]] = True
    return nearest


def _text_columns(
    text: Floats,
    bm25: Floats,
    asked_bm25: Floats,
    vectors: Floats,
    index: SearchIndex,
    pool: NDArray[np.bool_],
) -> dict[str, Floats]:
    passages = index.passages.similarities(vectors)
    asked_passages = np.where(np.isfinite(passages), passages, 0.0)[:, :, 1:].max(axis=1).mean(axis=1)
    return {
        "text": text,
        "bm25": bm25,
        "head.z": _standardise(index.heads @ vectors[0], pool),
        "text.z": _standardise(text, pool),
        "passages.z": _standardise(_top_mean(passages[:, :, 0], 3), pool),
        "asked_passages.z": _standardise(asked_passages, pool),
        "bm25.z": _standardise(bm25, pool),
        "asked_bm25.z": _standardise(asked_bm25, pool),
    }


def _example_columns(
    query: str, vector: Floats, index: SearchIndex, pool: NDArray[np.bool_]
) -> dict[str, Floats]:
    nearest = _top_mean(index.examples.similarities(vector[None, :])[:, :, 0], 3)[index.skill_row]
    centroid = (index.examples.centroids @ vector)[index.skill_row]
    bm25 = index.examples_bm25.coverage(stemmed_terms(query))[index.skill_row]
    has_examples = (index.examples.counts > 0)[index.skill_row]
    standardised = {
        "examples.z": _standardise(nearest, pool),
        "centroid.z": _standardise(centroid, pool),
        "examples_bm25.z": _standardise(bm25, pool),
    }
    masked = {name: np.where(has_examples, column, 0.0) for name, column in standardised.items()}
    return {"examples": nearest, "centroid": centroid, **masked}


def _top_mean(similarities: Floats, count: int) -> Floats:
    """Mean of each row's highest `count` finite values; zero for a row without any."""
    count = min(count, similarities.shape[1])
    top = -np.partition(-similarities, count - 1, axis=1)[:, :count]
    finite = np.isfinite(top)
    sums = np.where(finite, top, 0.0).sum(axis=1)
    return np.asarray(sums / np.maximum(finite.sum(axis=1), 1))


def _standardise(values: Floats, pool: NDArray[np.bool_]) -> Floats:
    """Distance from the pool's mean, in the pool's spreads; zero everywhere when the pool is empty."""
    if not pool.any():
        return np.zeros_like(values)
    return np.asarray((values - values[pool].mean()) / (values[pool].std() + MIN_SPREAD))
