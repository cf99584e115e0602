"""The gate's knobs: thresholds, caps, and what happens to what is refused."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pickysteve.tasks.stage import StageConfig

__all__ = ["GateConfig"]


class GateConfig(StageConfig):
    """Thresholds and caps of the gate."""

    request_block: float | None = Field(
        None, gt=0, le=1, description="score that blocks a request; by default the calibrated one"
    )
    adjudicate_below: float | None = Field(
        None,
        gt=0,
        le=1,
        description="score from which a request is blocked unasked; below it an adjudicator may rescue it, "
        "where there is one; by default the calibrated one (benchmarks/gate_band.py shows who is in between)",
    )
    request_review: float = Field(
        0.5, gt=0, le=1, description="share of the blocking score that asks for a review"
    )
    document_block: float | None = Field(
        None,
        gt=0,
        le=1,
        description="score of weighed findings that refuses a document; by default calibrated",
    )
    review: float | None = Field(
        None,
        gt=0,
        le=1,
        description="score of weighed findings that asks for a review of a document; by default calibrated",
    )
    max_request_characters: int = Field(100_000, gt=0, description="longest request that is read")
    max_document_characters: int = Field(100_000, gt=0, description="longest document that is read")
    max_note_characters: int = Field(10_000, gt=0, description="longest example or not-for note")
    policy: Literal["drop", "abort"] = Field("drop", description="what a refused document does")
    auditor_failure: Literal["review", "block"] = Field(
        "block", description="what happens to a document that a configured auditor could not read"
    )
