"""Floor: one option a skill, near-duplicates folded, and nothing under the calibrated floor.

The prediction set does not know the floor: a request that is left unanswered may still have one, for whoever
asked to choose from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from pickysteve.calibration.conformal import prediction_set
from pickysteve.calibration.fitted import FloorMode
from pickysteve.calibration.logit import shares
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidate, Candidates, Option, Pool

__all__ = ["FloorConfig", "floor", "pool_options"]


class FloorConfig(StageConfig):
    """Knobs of the pool."""

    duplicate_cosine: float = Field(
        0.97, gt=0, le=1, description="text similarity from which a skill is a copy"
    )
    largest_set: int = Field(4, ge=1, le=10, description="skills in the prediction set at most")
    nearest: int = Field(3, ge=0, description="skills named when nothing clears the floor")
    mode: FloorMode = Field("net-benefit", description="which of the calibrated floors is used")
    risk: Literal["0.05", "0.1", "0.2"] = Field(
        "0.05",
        description="wrong picks promised at most, on requests like the calibration's; mode risk-controlled",
    )


def pool_options(
    ranked: Candidates, index: SearchIndex, calibration: Calibration, config: FloorConfig
) -> Pool:
    """Collapse units to skills, drop copies, and keep what clears the floor.

    A skill also stays when it clears the floor on a half that may be a job of its own; not under a promised
    risk, which was calibrated on whole requests. Raises CalibrationMismatch for a risk that the calibration
    cannot promise.
    """
    fitted = calibration.fitted
    least = fitted.floor_for(config.mode, config.risk)
    options, dropped = _fold_copies(_one_per_skill(ranked.candidates), index, config.duplicate_cosine)
    options = _with_shares(options)
    halves_count = config.mode != "risk-controlled"
    kept = [o for o in options if max((o.score, *(o.part_scores if halves_count else ()))) >= least]
    dropped |= {o.skill_id: f"score {o.score:.2f} is under the floor" for o in options if o not in kept}
    size = prediction_set([option.share for option in options], fitted.set_share, config.largest_set)
    return Pool(
        options=tuple(kept),
        prediction_set=tuple(option.skill_id for option in options[: max(size, min(len(kept), 1))]),
        nearest=() if kept else tuple(options[: config.nearest]),
        floor=least,
        dropped=dropped,
    )


def _one_per_skill(candidates: Sequence[Candidate]) -> list[Option]:
    """The best unit stands for its skill."""
    units: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        units[candidate.skill_id].append(candidate)
    options = [
        Option(
            skill_id=skill_id,
            unit_ids=tuple(member.unit_id for member in members),
            score=members[0].score or 0.0,
            share=0.0,
            part_scores=tuple(max(part) for part in zip(*(m.part_scores for m in members), strict=True)),
        )
        for skill_id, members in units.items()
    ]
    return sorted(options, key=lambda option: (-option.score, option.skill_id))


def _with_shares(options: list[Option]) -> list[Option]:
    """The probability mass over the skills that remain and "none of these"."""
    scores = np.clip([option.score for option in options], 1e-9, 1 - 1e-9)
    masses = shares(np.log(scores / (1 - scores)))
    return [
        option.model_copy(update={"share": round(float(mass), 6)})
        for option, mass in zip(options, masses, strict=True)
    ]


def _fold_copies(
    options: list[Option], index: SearchIndex, cosine: float
) -> tuple[list[Option], dict[str, str]]:
    """Keep the better of two skills that say the same; its copy would only split the vote."""
    kept: list[Option] = []
    dropped: dict[str, str] = {}
    for option in options:
        vector = index.texts[index.row_of[option.unit_ids[0]]]
        twin = next(
            (k for k in kept if float(index.texts[index.row_of[k.unit_ids[0]]] @ vector) >= cosine), None
        )
        if twin is None:
            kept.append(option)
        else:
            dropped[option.skill_id] = f"says the same as {twin.skill_id}"
    return kept, dropped


floor = stage("floor", pool_options, cached=True)
