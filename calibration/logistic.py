"""A logistic head: weights by penalised maximum likelihood, kept in a small readable file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pickysteve.errors import CalibrationMismatch

__all__ = ["GATE", "GateHeads", "Head", "fit_logistic", "read_gate_heads"]

GATE = Path(__file__).parent / "gate.json"

Floats = NDArray[Any]


class Head(BaseModel):
    """A linear utility whose sigmoid is the chance of an attack, were attacks as frequent as the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: dict[str, float]
    embedding: tuple[float, ...] = ()
    """One weight a dimension of the scanner's state; empty when the head does not read it."""
    constant: float
    block: float = Field(ge=0, le=1, description="score from which a text is blocked")
    review: float = Field(1, ge=0, le=1, description="score from which a text that passes is for review")

    @property
    def weights(self) -> Floats:
        """All weights in the order of the feature vector."""
        return np.array([*self.features.values(), *self.embedding])


class GateHeads(BaseModel):
    """Everything of the gate that was fitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scanner: str
    evidence: str
    seed: int
    fit_sha256: str
    """Of the texts and labels that the weights and thresholds come from."""
    request: Head
    gray: float = Field(description="score from which a request is blocked without asking an adjudicator")
    document: Head
    report: dict[str, float | int | str] = Field(description="figures of the fit, for the reader")

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides a score."""
        return sha256(self.model_dump_json(exclude={"report"}).encode()).hexdigest()


def read_gate_heads(path: Path = GATE) -> GateHeads:
    """Read the fitted heads; raises CalibrationMismatch when the file is missing or damaged."""
    try:
        return GateHeads.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise CalibrationMismatch(f'"{path}" cannot be read: run "pickysteve gate calibrate".') from error


def fit_logistic(
    features: Floats,
    labels: Floats,
    shares: Floats,
    penalties: Floats,
    least_spread: Floats,
    *,
    positive: bool | NDArray[np.bool_] = False,
) -> tuple[Floats, float]:
    """Weights and constant by maximum likelihood with a ridge (le Cessie & van Houwelingen 1992).

    Args:
        features: (n, d).
        labels: (n,) of 0 and 1.
        shares: (n,) weight of each row.
        penalties: (d,) ridge per squared weight, on features of unit spread.
        least_spread: (d,) spread that a feature counts with at least, so that a rare one stays small.
        positive: no weight below zero, for all features or for those marked: evidence for the label.
    """
    from scipy.optimize import minimize

    spread = np.maximum(features.std(axis=0), least_spread)
    scaled = features / spread
    total = shares.sum()

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, constant = parameters[:-1], parameters[-1]
        utilities = scaled @ weights + constant
        residuals = (1 / (1 + np.exp(-np.clip(utilities, -500, 500))) - labels) * shares / total
        value = ((np.logaddexp(0, utilities) - labels * utilities) * shares).sum() / total
        gradient = np.append(scaled.T @ residuals + 2 * penalties * weights, residuals.sum())
        return float(value + (penalties * weights**2).sum()), gradient

    start = np.zeros(features.shape[1] + 1)
    signs = np.broadcast_to(np.asarray(positive), features.shape[1])
    bounds = [(0.0 if sign else None, None) for sign in signs] + [(None, None)]
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 1_000}).x
    return best[:-1] / spread, float(best[-1])
