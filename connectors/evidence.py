"""Evidence: what each kind of it adds to a candidate's log-odds. The terminal and the live page show it."""

from __future__ import annotations

from pickysteve.calibration.fitted import Fitted
from pickysteve.tasks.values import Candidate

__all__ = ["GROUPS", "evidence_columns", "evidence_of"]

GROUPS = {
    "meaning": ("text", "head.z", "text.z", "passages.z", "asked_passages.z"),
    "words": ("bm25", "bm25.z", "asked_bm25.z"),
    "examples": ("examples", "centroid", "examples.z", "centroid.z", "examples_bm25.z"),
    "cross-encoder": ("logit",),
}
REQUEST = "request"
"""What the request itself adds for every skill alike, with the constants."""


def evidence_columns(fitted: Fitted) -> tuple[str, ...]:
    """The groups that count for this reranker, and the request's own part."""
    kept = (name for name in GROUPS if (name == "cross-encoder") == (fitted.scale == "logit"))
    return (*kept, REQUEST)


def evidence_of(candidate: Candidate, fitted: Fitted, *, has_examples: bool) -> dict[str, float]:
    """Log-odds by column; they sum to the log-odds of the candidate's score."""
    weights = fitted.with_examples if has_examples else fitted.without_examples
    parts = {
        group: sum(weights.features.get(name, 0.0) * candidate.features.get(name, 0.0) for name in names)
        for group, names in GROUPS.items()
    }
    asked = sum(
        weight * candidate.features.get(name, 0.0) for name, weight in fitted.request.features.items()
    )
    parts[REQUEST] = asked + weights.constant + fitted.request.constant
    return {column: parts[column] for column in evidence_columns(fitted)}
