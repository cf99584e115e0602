"""The outcome of a run in narrow columns, so that usage is counted without reading its large outputs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["OUTCOME", "no_outcome", "outcome_of"]

_TEXTS = pa.list_(pa.string())
OUTCOME = {
    "registry": pa.string(),
    "picks": _TEXTS,
    "prediction_set": _TEXTS,
    "nearest": _TEXTS,
    "ambiguous": pa.bool_(),
}
"""Filled in the row of the run, empty in those of its stages."""


def outcome_of(run: dict[str, Any], floor: dict[str, Any]) -> dict[str, Any]:
    """What was picked, and what was near where nothing was, or refused.

    `run` is a Trace without its stages and `floor` the output of that stage, both as JSON values.
    """
    pick = run["pick"]
    near = [option["skill_id"] for option in floor.get("nearest", ())]
    if pick["status"] == "blocked_retrieved":
        near = [candidate["skill_id"] for candidate in run["candidates"]]
    return {
        "registry": run["registry"],
        "picks": pick["skills"],
        "prediction_set": pick["prediction_set"],
        "nearest": list(dict.fromkeys(near)),
        "ambiguous": pick["ambiguous"],
    }


def no_outcome() -> dict[str, Any]:
    """Of a row that is no run but a stage of one."""
    return {"registry": "", "picks": [], "prediction_set": [], "nearest": [], "ambiguous": False}
