"""Rerank: score every candidate against the request as it was asked, and each half that it may fall into."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from pydantic import Field

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Reranker
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidates, Clause, Route

__all__ = ["RerankConfig", "rerank", "score_candidates"]


class RerankConfig(StageConfig):
    """Knobs of reranking."""

    contest: float = Field(
        0.2, ge=0, le=1, description="score of the second-best skill from which a second job is looked for"
    )


def score_candidates(
    route: Route, gated: Candidates, index: SearchIndex, reranker: Reranker, config: RerankConfig
) -> Candidates:
    """The candidates with scores and features, best first; ties fall back to the fused rank."""
    scores, features = reranker.scores(route.query, route.clauses, index)
    halves = []
    if any(cut.signalled for cut in route.cuts) or _second_best(scores, index) >= config.contest:
        halves = [reranker.scores(half, (Clause(text=half, role="ask"),), index)[0] for half in route.halves]
    scored = []
    for candidate in gated.candidates:
        row = index.row_of[candidate.unit_id]
        values = zip(features.names, features.values[row], strict=True)
        update = {
            "score": round(float(scores[row]), 6),
            "part_scores": tuple(round(float(half[row]), 6) for half in halves),
            "features": {name: round(float(value), 4) for name, value in values},
        }
        scored.append(candidate.model_copy(update=update))
    ranked = sorted(scored, key=lambda candidate: (-(candidate.score or 0.0), candidate.fused_rank))
    return gated.model_copy(update={"candidates": tuple(ranked)})


def _second_best(scores: NDArray[Any], index: SearchIndex) -> float:
    """The score of the runner-up among skills, 0 when there is none."""
    best = sorted((float(scores[rows].max()) for rows in index.skill_rows.values()), reverse=True)
    return best[1] if len(best) > 1 else 0.0


rerank = stage("rerank", score_candidates, cached=True)
