"""The fitted file: small, readable, and refused where it does not belong."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pickysteve.errors import CalibrationMismatch

__all__ = ["EMBEDDED", "Fitted", "Weights", "read_fitted"]

EMBEDDED = Path(__file__).parent / "embedded.json"


class Weights(BaseModel):
    """A linear utility: one weight a feature, and a constant."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    features: dict[str, float]
    constant: float


class Fitted(BaseModel):
    """Everything that was fitted for one encoder and one scoring version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str
    scoring: str
    seed: int
    fit_sha256: str
    """Of the fit split: its suite, skills and examples."""
    calibrate_sha256: str
    with_examples: Weights
    without_examples: Weights
    floor: float = Field(ge=0, le=1, description="best score under which nothing is picked")
    second: Weights
    """Utility of reading a request as two jobs, over none: above 0 the pair is picked."""
    set_share: float = Field(ge=0, le=1, description="share from which a skill joins the prediction set")
    sure_score: float = Field(ge=0, le=1, description="score under which a pick is marked low-confidence")
    report: dict[str, float | int | str] = Field(description="figures on the calibrate split, for the reader")


def read_fitted(path: Path, *, encoder: str, scoring: str) -> Fitted:
    """Read a fitted file; raises CalibrationMismatch when it was made for other models."""
    try:
        fitted = Fitted.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise CalibrationMismatch(f'"{path}" cannot be read: run "pickysteve calibrate".') from error
    if (fitted.encoder, fitted.scoring) != (encoder, scoring):
        raise CalibrationMismatch(
            f"{path.name} was fitted for {fitted.encoder} and scoring {fitted.scoring}, not for {encoder} "
            f'and scoring {scoring}: run "pickysteve calibrate".'
        )
    return fitted
