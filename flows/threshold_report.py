"""What the thresholds are worth on requests for skills that they were not chosen on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.conformal import aps_mass, aps_set, largest_mass, least_share, prediction_set
from pickysteve.calibration.curves import expected_calibration_error, reliability
from pickysteve.calibration.floor import net_benefit_floor, youden_floor
from pickysteve.calibration.logit import sigmoid
from pickysteve.calibration.measures import auroc
from pickysteve.calibration.probability import fit_isotonic, fit_platt
from pickysteve.flows.scenes import SEED
from pickysteve.flows.thresholds import COVERAGE, Scored, right_shares, risk_floors
from pickysteve.tasks.floor import FloorConfig

__all__ = ["Figures", "threshold_figures", "two_job_figures"]

FOLDS = 5
RESAMPLES = 1_000
BINS = 10
"""Of equal size, for the expected calibration error (Naeini et al. 2015) beside the Brier score (1950)."""

Floats = NDArray[Any]
Figures = dict[str, float | int | str]


def threshold_figures(scored: Scored, youden: float | None = None) -> Figures:
    """Figures of the calibrate split; floors, sets and curves are those of other skills' folds.

    `youden` is a floor that other data than these gave; without it, each fold takes that of the others.
    Intervals are bootstrapped over requests, as the scenes of one request are not independent.
    """
    matching = ~scored.nothing
    best = sigmoid(scored.best)
    figures: Figures = {
        "requests": len(set(scored.ids)),
        "scenes": len(scored.ids),
        "top1": float(scored.first[matching].mean()),
        "no_match_auroc": auroc(best, matching) or 0.0,
    }
    figures |= _intervals(scored, best)
    figures |= _floor_figures(scored, "net_benefit", net_benefit_floor)
    figures |= _floor_figures(scored, "youden", youden_floor if youden is None else _fixed(youden))
    for risk, found in risk_floors(scored).items():
        attained = f"{found.answered}/{found.n} answered, {found.wrong} wrong" if found else "not attainable"
        figures[f"at_most_{float(risk):.0%}_wrong".replace("%", "_percent")] = attained
    figures |= _set_figures(scored)
    figures |= _reliability_figures(scored)
    return {name: round(f, 4) if isinstance(f, float) else f for name, f in figures.items()}


def _fixed(floor: float) -> Callable[[Floats, Any], float]:
    return lambda scores, right: floor


def _intervals(scored: Scored, best: Floats) -> Figures:
    matching = ~scored.nothing
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(scored.ids):
        rows.setdefault(name, []).append(row)
    groups = [np.array(own) for own in rows.values()]
    draw = np.random.default_rng(SEED)
    found: dict[str, list[float]] = {"top1": [], "no_match_auroc": []}
    for _ in range(RESAMPLES):
        drawn = np.concatenate([groups[at] for at in draw.integers(len(groups), size=len(groups))])
        asked = drawn[matching[drawn]]
        if 0 < len(asked) < len(drawn):
            found["top1"].append(float(scored.first[asked].mean()))
            found["no_match_auroc"].append(auroc(best[drawn], matching[drawn]) or 0.0)
    ends = {name: np.quantile(values, [0.025, 0.975]) for name, values in found.items() if values}
    return {f"{name}_interval": f"[{low:.3f}, {high:.3f}]" for name, (low, high) in ends.items()}


def _folds(scored: Scored) -> Iterator[tuple[Scored, Scored]]:
    from sklearn.model_selection import GroupKFold

    folds = GroupKFold(min(FOLDS, len(set(scored.groups))), shuffle=True, random_state=SEED)
    for others, held in folds.split(scored.groups, groups=scored.groups):
        yield scored.part(others), scored.part(held)


def _floor_figures(scored: Scored, name: str, choose: Callable[[Floats, Any], float]) -> Figures:
    right = wrong = rejected = 0
    for others, held in _folds(scored):
        picked = sigmoid(held.best) >= choose(sigmoid(others.best), others.first)
        right += int((picked & held.first).sum())
        wrong += int((picked & ~held.first).sum())
        rejected += int((~picked & held.nothing).sum())
    matching, nothing = int((~scored.nothing).sum()), int(scored.nothing.sum())
    return {
        f"{name}_right": right / max(matching, 1),
        f"{name}_no_match_rejected": rejected / max(nothing, 1),
        f"{name}_wrong_among_picks": wrong / max(right + wrong, 1),
    }


def _set_figures(scored: Scored) -> Figures:
    """Coverage against mean size of both kinds of sets, at the coverage asked for and capped."""
    draw, largest = np.random.default_rng(SEED), FloorConfig().largest_set
    found: dict[str, list[tuple[bool, int]]] = {"lac": [], "aps": []}
    for others, held in _folds(scored):
        others, held = (part.part(np.flatnonzero(part.single)) for part in (others, held))
        share = least_share(right_shares(others), COVERAGE)
        mass = largest_mass(_aps_masses(others, draw), COVERAGE)
        for shares, right in zip(held.shares, held.right, strict=True):
            lac = prediction_set(shares.tolist(), share, largest)
            aps = min(aps_set(_among_skills(shares), mass, draw.uniform()), largest)
            for name, size in (("lac", lac), ("aps", aps)):
                found[name].append((bool(right[:size].any()), size))
    figures: Figures = {}
    for name, rows in found.items():
        covered, sizes = np.array(rows, dtype=float).T
        figures |= {f"{name}_coverage": float(covered.mean()), f"{name}_size": float(sizes.mean())}
    return figures


def _aps_masses(scored: Scored, draw: np.random.Generator) -> Floats:
    rows = [(_among_skills(s), r) for s, r in zip(scored.shares, scored.right, strict=True) if r.any()]
    return np.array([aps_mass(shares, int(np.argmax(right)), draw.uniform()) for shares, right in rows])


def _among_skills(shares: Floats) -> Floats:
    # the mass of "none of these" comes before no skill: with it, every set would run to the end
    return shares / max(float(shares.sum()), 1e-12)


def _reliability_figures(scored: Scored) -> Figures:
    stated: dict[str, list[float]] = {"platt": [], "isotonic": []}
    happened: list[bool] = []
    for others, held in _folds(scored):
        curve, knots = fit_platt(others.best, others.first), fit_isotonic(others.best, others.first)
        stated["platt"] += [curve.probability(value) for value in held.best]
        stated["isotonic"] += np.interp(held.best, *knots).tolist()
        happened += held.first.tolist()
    figures: Figures = {}
    for name, probabilities in stated.items():
        error = expected_calibration_error(reliability(probabilities, happened, BINS)) or 0.0
        brier = float(np.mean((np.array(probabilities) - happened) ** 2))
        figures |= {f"{name}_ece": error, f"{name}_brier": brier}
    return figures


def two_job_figures(read_as_two: dict[str, bool], compound: dict[str, bool]) -> Figures:
    """Precision and recall of reading a request as two jobs: by scene, whether it was, rightly, and is one.

    `read_as_two` holds the scenes that were read as two jobs and whether with the right skills; `compound`
    holds every scene and whether two skills answer it.
    """
    hits = sum(read_as_two.values())
    return {
        "second_precision": f"{hits}/{len(read_as_two)}",
        "second_recall": f"{hits}/{sum(compound.values())}",
    }
