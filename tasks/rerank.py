"""Rerank: score every candidate against the request as it was asked, and each half that it may fall into."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pickysteve.tasks.engines.bm25 import stemmed_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Reranker, Rows
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidates, Clause, Cut, Route

__all__ = ["RerankConfig", "rerank", "score_candidates"]


Floats = NDArray[Any]


class RerankConfig(StageConfig):
    """Knobs of reranking."""

    model: str = Field(
        "",
        description="cross-encoder: a folder, or a model of the hub such as BAAI/bge-reranker-base; "
        "none: the embedded reranker",
    )

    contest: float = Field(
        0.2, ge=0, le=1, description="score of the second-best skill from which a second job is looked for"
    )


def score_candidates(
    route: Route, gated: Candidates, index: SearchIndex, reranker: Reranker, config: RerankConfig
) -> Candidates:
    """The candidates with scores and features, best first; ties fall back to the fused rank."""
    rows = np.array([index.row_of[candidate.unit_id] for candidate in gated.candidates], dtype=np.intp)
    scores, features = reranker.scores(route.query, route.clauses, index, rows)
    halves = _score_halves(route, _second_best(scores, index), index, reranker, rows, config)
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
    return gated.model_copy(update={"candidates": tuple(ranked), "degraded": reranker.degraded})


def _score_halves(
    route: Route, runner_up: float, index: SearchIndex, reranker: Reranker, rows: Rows, config: RerankConfig
) -> list[Floats]:
    """Scores of both halves of every cut; zeros where reading them could not make a second job likely."""
    nothing = np.zeros(len(index.unit_ids))
    halves = []
    for cut in route.cuts:
        worth = cut.signalled or (runner_up >= config.contest and _parts_in_words(cut, index))
        for half in (cut.first, cut.second):
            asked = (Clause(text=half, role="ask"),)
            halves.append(reranker.scores(half, asked, index, rows)[0] if worth else nothing)
    return halves


def _parts_in_words(cut: Cut, index: SearchIndex) -> bool:
    """Whether the words of the two halves point to different skills."""
    rows = [int(np.argmax(index.bm25.coverage(stemmed_terms(half)))) for half in (cut.first, cut.second)]
    return len({index.skill_row[row] for row in rows}) == 2


def _second_best(scores: Floats, index: SearchIndex) -> float:
    """The score of the runner-up among skills, 0 when there is none."""
    best = sorted((float(scores[rows].max()) for rows in index.skill_rows.values()), reverse=True)
    return best[1] if len(best) > 1 else 0.0


# a cross-encoder loads for seconds and reads thirty texts for as long again
rerank = stage("rerank", score_candidates, cached=True, timeout_seconds=180)
