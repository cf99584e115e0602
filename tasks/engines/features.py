"""Features of a request and every unit of an index: the evidence that the reranker weighs.

Cosines and term coverages, read as they are (they tell whether anything fits) and against the
registry's own spread (they tell which fits best). Clauses that rule something out are left out of
the "asked" readings: "a hard refresh does not help" must not speak for the browser's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.bm25 import stemmed_terms
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.values import Clause

__all__ = ["EXAMPLE_FEATURES", "SCORING_VERSION", "TEXT_FEATURES", "PairFeatures", "pair_features"]

SCORING_VERSION = "1"
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
    columns = _text_columns(query, " ".join(asked), vectors, index)
    columns |= _example_columns(query, vectors[0], index)
    names = TEXT_FEATURES + EXAMPLE_FEATURES
    has_examples = (index.examples.counts > 0)[index.skill_row]
    return PairFeatures(names, np.stack([columns[name] for name in names], axis=1), has_examples)


def _text_columns(query: str, asked: str, vectors: Floats, index: SearchIndex) -> dict[str, Floats]:
    text = index.texts @ vectors[0]
    bm25 = index.bm25.coverage(stemmed_terms(query))
    passages = index.passages.similarities(vectors)
    asked_passages = np.where(np.isfinite(passages), passages, 0.0)[:, :, 1:].max(axis=1).mean(axis=1)
    return {
        "text": text,
        "bm25": bm25,
        "head.z": _standardise(index.heads @ vectors[0]),
        "text.z": _standardise(text),
        "passages.z": _standardise(_top_mean(passages[:, :, 0], 3)),
        "asked_passages.z": _standardise(asked_passages),
        "bm25.z": _standardise(bm25),
        "asked_bm25.z": _standardise(index.bm25.coverage(stemmed_terms(asked))),
    }


def _example_columns(query: str, vector: Floats, index: SearchIndex) -> dict[str, Floats]:
    has = index.examples.counts > 0
    nearest = _top_mean(index.examples.similarities(vector[None, :])[:, :, 0], 3)
    centroid = index.examples.centroids @ vector
    bm25 = index.examples_bm25.coverage(stemmed_terms(query))
    by_skill = {
        "examples": nearest,
        "centroid": centroid,
        "examples.z": _standardise(nearest, has),
        "centroid.z": _standardise(centroid, has),
        "examples_bm25.z": _standardise(bm25, has),
    }
    return {name: column[index.skill_row] for name, column in by_skill.items()}


def _top_mean(similarities: Floats, count: int) -> Floats:
    """Mean of each row's highest `count` finite values; zero for a row without any."""
    count = min(count, similarities.shape[1])
    top = -np.partition(-similarities, count - 1, axis=1)[:, :count]
    finite = np.isfinite(top)
    sums = np.where(finite, top, 0.0).sum(axis=1)
    return np.asarray(sums / np.maximum(finite.sum(axis=1), 1))


def _standardise(values: Floats, among: NDArray[np.bool_] | None = None) -> Floats:
    """Distance from the mean in spreads, over all rows or over those in `among`; the rest are zero."""
    among = np.ones(len(values), bool) if among is None else among
    if not among.any():
        return np.zeros_like(values)
    inside = values[among]
    return np.where(among, (values - inside.mean()) / (inside.std() + MIN_SPREAD), 0.0)
