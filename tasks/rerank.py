"""Rerank: score every candidate against the request as it was asked, and each part of a compound one."""

from __future__ import annotations

from pydantic import Field

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Reranker
from pickysteve.tasks.route import read_clauses
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidates, Route

__all__ = ["RerankConfig", "rerank", "score_candidates"]


class RerankConfig(StageConfig):
    """Knobs of reranking."""

    max_part_clauses: int = Field(8, gt=0, description="clauses weighed in a part of a compound request")


def score_candidates(
    route: Route, gated: Candidates, index: SearchIndex, reranker: Reranker, config: RerankConfig
) -> Candidates:
    """The candidates with scores and features, best first; ties fall back to the fused rank."""
    scores, features = reranker.scores(route.query, route.clauses, index)
    parts = [
        reranker.scores(part, read_clauses(part, config.max_part_clauses), index)[0]
        for part in route.sub_queries
    ]
    scored = []
    for candidate in gated.candidates:
        row = index.row_of[candidate.unit_id]
        values = zip(features.names, features.values[row], strict=True)
        update = {
            "score": round(float(scores[row]), 6),
            "part_scores": tuple(round(float(part[row]), 6) for part in parts),
            "features": {name: round(float(value), 4) for name, value in values},
        }
        scored.append(candidate.model_copy(update=update))
    ranked = sorted(scored, key=lambda candidate: (-(candidate.score or 0.0), candidate.fused_rank))
    return gated.model_copy(update={"candidates": tuple(ranked)})


rerank = stage("rerank", score_candidates, cached=True)
