"""The fitted file: small, readable, and refused where it does not belong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pickysteve.calibration.probability import Platt
from pickysteve.errors import CalibrationMismatch

__all__ = [
    "EMBEDDED",
    "EMBEDDED_RERANKER",
    "Fitted",
    "FloorMode",
    "Weights",
    "fitted_draft",
    "read_fitted",
    "uncalibrated",
    "write_fitted",
]

EMBEDDED = Path(__file__).parent / "embedded.json"
EMBEDDED_RERANKER = "embedded"

FloorMode = Literal["net-benefit", "youden", "risk-controlled"]


class Weights(BaseModel):
    """A linear utility: one weight a feature, and a constant."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    features: dict[str, float]
    constant: float

    @classmethod
    def rounded(cls, values: NDArray[Any], names: Sequence[str]) -> Weights:
        """The weights of the names and then the constant: (names + 1,), to four digits."""
        digits = [round(float(value), 4) for value in values]
        return cls(features=dict(zip(names, digits[:-1], strict=True)), constant=digits[-1])


class Fitted(BaseModel):
    """Everything that was fitted for one encoder and one scoring version; no registry is part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str
    scoring: str
    reranker: str = EMBEDDED_RERANKER
    """Which one gives the scores: the embedded one, or name and digest of a cross-encoder."""
    scale: Literal["utility", "logit"] = "utility"
    """Of the raw scores that the weights rescale: our own log-odds, or a cross-encoder's logit."""
    seed: int
    fit_sha256: str
    """Of the fit split: its suite, skills and examples."""
    calibrate_sha256: str
    pairs_sha256: str = ""
    """Of the labelled pairs; empty where there were none."""
    with_examples: Weights
    without_examples: Weights
    request: Weights
    """What the request itself adds to the utility of each unit, against "none of these"."""
    second: Weights
    """Utility of reading a request as two jobs, over none: above 0 the pair is picked."""
    floor: float = Field(ge=0, le=1, description="best score under which nothing is picked: net benefit")
    youden_floor: float = Field(
        ge=0,
        le=1,
        description="the same by Youden's J: of labelled pairs, or of requests where there are none",
    )
    risk_floors: dict[str, float | None]
    """The same by the promised share of wrong picks; null where the rows cannot attain the promise."""
    set_share: float = Field(ge=0, le=1, description="share from which a skill joins the prediction set")
    sure_score: float = Field(ge=0, le=1, description="score under which a pick is marked low-confidence")
    probability: Platt | None
    """From the best log-odds to the share of right picks in the calibration data; null without any."""
    report: dict[str, float | int | str] = Field(description="figures on the calibrate split, for the reader")

    def floor_for(self, mode: FloorMode, risk: str) -> float:
        """The floor of a mode; raises CalibrationMismatch where none keeps the risk."""
        if mode != "risk-controlled":
            return self.floor if mode == "net-benefit" else self.youden_floor
        found = self.risk_floors.get(risk)
        if found is None:
            attained = [promise for promise, floor in self.risk_floors.items() if floor is not None]
            others = f"set floor.risk to {' or '.join(attained)}, " if attained else ""
            raise CalibrationMismatch(
                f"This calibration has too few rows to promise at most {float(risk):.0%} wrong picks: "
                f"{others}set floor.mode to net-benefit, or run "
                '"pickysteve calibrate --registry DIR --suite FILE" with more rows of your own.'
            )
        return found


def read_fitted(path: Path, *, encoder: str, scoring: str, reranker: str = EMBEDDED_RERANKER) -> Fitted:
    """Read a fitted file; raises CalibrationMismatch when it was made for other models."""
    try:
        fitted = Fitted.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise CalibrationMismatch(
            f'"{path}" cannot be read: run "pickysteve calibrate", or pass --allow-uncalibrated.'
        ) from error
    if (fitted.encoder, fitted.scoring, fitted.reranker) != (encoder, scoring, reranker):
        made = f"{fitted.encoder}, scoring {fitted.scoring} and the reranker {fitted.reranker}"
        raise CalibrationMismatch(
            f"{path.name} was fitted for {made}, not for {encoder}, scoring {scoring} and the reranker "
            f'{reranker}: run "pickysteve calibrate" with these settings, or pass --allow-uncalibrated.'
        )
    return fitted


def uncalibrated(*, encoder: str, scoring: str, reranker: str = EMBEDDED_RERANKER) -> Fitted:
    """The thresholds of no calibration: nothing is under a floor, and every pick is unsure and ambiguous.

    The logit of a cross-encoder is taken as it is.
    """
    embedded = reranker == EMBEDDED_RERANKER
    nothing = Weights(features={} if embedded else {"logit": 1.0}, constant=0.0)
    return Fitted(
        encoder=encoder,
        scoring=scoring,
        reranker=reranker,
        scale="utility" if embedded else "logit",
        seed=0,
        fit_sha256="",
        calibrate_sha256="",
        with_examples=nothing,
        without_examples=nothing,
        request=nothing,
        second=Weights(features=dict.fromkeys(("weaker", "lead", "whole", "signalled"), 0.0), constant=-1.0),
        floor=0.0,
        youden_floor=0.0,
        risk_floors={},
        set_share=0.0,
        sure_score=1.0,
        probability=None,
        report={},
    )


def fitted_draft(
    *,
    encoder: str,
    scoring: str,
    seed: int,
    fit_sha256: str,
    with_examples: Weights,
    without_examples: Weights,
    request: Weights,
    reranker: str = EMBEDDED_RERANKER,
) -> Fitted:
    """Weights whose thresholds are still to be chosen: everything is picked, at the score's own odds."""
    nothing = uncalibrated(encoder=encoder, scoring=scoring, reranker=reranker)
    chosen = {
        "seed": seed,
        "fit_sha256": fit_sha256,
        "with_examples": with_examples,
        "without_examples": without_examples,
        "request": request,
        "sure_score": 0.0,
        "probability": Platt(slope=1.0, constant=0.0),
    }
    return nothing.model_copy(update=chosen)


def write_fitted(fitted: Fitted, path: Path) -> None:
    """Write a fitted file, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(fitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
