"""Retrieve: rank the units by words and by meaning, and fuse the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pickysteve.tasks.engines.bm25 import stemmed_terms
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidate, Candidates, Request, Route

__all__ = ["RetrieveConfig", "reciprocal_rank_fusion", "retrieve", "retrieve_candidates"]

Floats = NDArray[Any]


class RetrieveConfig(StageConfig):
    """Knobs of retrieval."""

    rrf_k: int = Field(60, gt=0, description="damping constant of reciprocal rank fusion")
    top_n: int = Field(30, gt=0, description="candidates handed to the gate and the reranker")


def reciprocal_rank_fusion(scores: Sequence[Floats], k: int) -> Floats:
    """Sum 1 / (k + rank) over rankings of the same items (Cormack et al. 2009).

    Each array holds one score an item, higher is better; equal scores keep the items' order. Returns
    one fused score an item.
    """
    fused = np.zeros(len(scores[0]))
    for ranking in scores:
        order = np.argsort(-ranking, kind="stable")
        fused[order] += 1 / (k + 1 + np.arange(len(order)))
    return fused


def retrieve_candidates(
    request: Request, route: Route, index: SearchIndex, encoder: Embedder, config: RetrieveConfig
) -> Candidates:
    """The units that words or meaning bring up, words for each half, and both for each further search."""
    queries = (route.query, *route.halves, *route.searches)
    lexical = [index.bm25.coverage(stemmed_terms(query)) for query in queries]
    dense, *further = (_nearest(v, index) for v in encoder.encode([route.query, *route.searches]))
    fused = reciprocal_rank_fusion([lexical[0], dense, *lexical[1:], *further], config.rrf_k)
    wanted = [
        row for row in np.argsort(-fused, kind="stable") if _skill_of(row, index) not in request.exclude
    ]
    candidates = [
        Candidate(
            unit_id=index.unit_ids[row],
            skill_id=_skill_of(row, index),
            bm25=round(float(lexical[0][row]), 6),
            dense=round(float(dense[row]), 6),
            fused_rank=rank,
        )
        for rank, row in enumerate(wanted[: config.top_n], start=1)
    ]
    return Candidates(candidates=tuple(candidates))


def _nearest(vector: Floats, index: SearchIndex) -> Floats:
    """Cosine with the nearest of a unit's head, its text and the centroid of its skill's examples."""
    centroids = index.examples.centroids @ vector
    nearest = [index.heads @ vector, index.texts @ vector, centroids[index.skill_row]]
    return np.asarray(np.maximum.reduce(nearest))


def _skill_of(row: int, index: SearchIndex) -> str:
    return index.data.units[index.unit_ids[row]].skill_id


retrieve = stage("retrieve", retrieve_candidates, cached=True)
