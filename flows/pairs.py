"""Labelled pairs: a request and a skill that answers it, or that only seems to; for the floor by Youden's J.

A request's best match tells where to abstain. A pair tells whether this skill is for this request, whatever
else there is: that is what a floor is asked about each candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError

from pickysteve.calibration.figures import area
from pickysteve.calibration.fitted import Fitted
from pickysteve.calibration.floor import youden_floor
from pickysteve.calibration.risk import least_answered, risk_controlled_floor
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.ingest import index_own_data
from pickysteve.flows.scenes import SEED
from pickysteve.registry.index_tables import IndexData
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.values import Request

__all__ = ["LabelledPair", "Pairs", "load_pairs", "pair_scores", "read_pairs", "with_pair_floor"]

FOLDS = 5
Floats = NDArray[Any]
Figures = dict[str, float | int | str]


class LabelledPair(Value):
    """One request, one skill, and whether the skill answers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    request: str
    skill: str
    relevant: bool
    kind: Literal["positive", "hard-negative", "easy-negative"]
    """A hard negative is a skill that an author would mistake for the right one."""


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs with the registry that their skills are in."""

    index: IndexData
    rows: tuple[LabelledPair, ...]
    sha256: str

    def of_kind(self, *kinds: str) -> NDArray[np.bool_]:
        """Which rows are of these kinds: (n,)."""
        return np.array([row.kind in kinds for row in self.rows])


def read_pairs(path: Path) -> tuple[LabelledPair, ...]:
    """Read pairs, one JSON object a line; raises SuiteInvalid, naming the line, for one that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteInvalid(
            f'The labelled pairs "{path}" cannot be read: run this in a checkout, or pass --datasets.'
        ) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(LabelledPair.model_validate_json(line))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise SuiteInvalid(f"{path.name} line {number} is no pair ({reason}): correct it.") from error
    return tuple(rows)


def load_pairs(datasets: Path, encoder: Embedder) -> Pairs:
    """The pairs of our trap registry; raises SuiteInvalid where they are missing or name unknown skills."""
    path = datasets / "trap" / "pairs.jsonl"
    rows = read_pairs(path)
    index = index_own_data(datasets / "trap" / "skills", encoder)
    if unknown := sorted({row.skill for row in rows} - index.skills.keys()):
        raise SuiteInvalid(f'{path.name} names {", ".join(unknown[:5])}, not in "{path.parent}": correct it.')
    return Pairs(index, rows, sha256(path.read_bytes()).hexdigest())


def pair_scores(pairs: Pairs, fitted: Fitted, encoder: Embedder) -> Floats:
    """The reranker's score of each pair, in [0, 1]: (n,)."""
    index = SearchIndex(pairs.index)
    reranker = EmbeddedReranker(encoder, Calibration(fitted))
    scores = []
    for row in pairs.rows:
        route = parse_request(Request(text=row.request), RouteConfig())
        of_unit, _ = reranker.scores(route.query, route.clauses, index)
        scores.append(float(of_unit[index.skill_rows[row.skill]].max()))
    return np.array(scores)


def with_pair_floor(fitted: Fitted, pairs: Pairs, scores: Floats) -> tuple[Fitted, Figures]:
    """The fitted file with Youden's floor from pairs that are hard to tell apart, and what that is worth.

    Easy negatives are left out of the choice: hardly one of them is ever the best match, and so many true
    rejections that cost nothing would buy a floor that lets the hard ones pass.
    """
    hard = pairs.of_kind("positive", "hard-negative")
    relevant = np.array([row.relevant for row in pairs.rows])
    floor = round(youden_floor(scores[hard], relevant[hard]), 4)
    changed = fitted.model_copy(update={"youden_floor": floor, "pairs_sha256": pairs.sha256})
    return changed, _figures(pairs, scores, relevant, hard, floor)


def _figures(
    pairs: Pairs, scores: Floats, relevant: NDArray[np.bool_], hard: NDArray[np.bool_], floor: float
) -> Figures:
    found = area(scores[hard].tolist(), relevant[hard].tolist())
    figures: Figures = {"pairs": len(pairs.rows)}
    if found:
        figures["pairs_auroc"] = (
            f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}], {found.positives} positive, "
            f"{found.negatives} hard negative"
        )
    over = scores >= floor
    for kind in ("positive", "hard-negative", "easy-negative"):
        mine = pairs.of_kind(kind)
        name = f"pairs_{kind.replace('-', '_')}_over_youden"
        figures[name] = f"{int((over & mine).sum())}/{int(mine.sum())}"
    rows = np.flatnonzero(hard)
    passed = _held_out(scores[rows], relevant[rows], [pairs.rows[row].skill for row in rows])
    right, wrong = (passed & relevant[rows]).sum(), (passed & ~relevant[rows]).sum()
    figures["pairs_youden_other_skills"] = (
        f"{int(right)}/{int(relevant[rows].sum())} positive and {int(wrong)}/{int((~relevant[rows]).sum())} "
        "hard negative over it"
    )
    # the share of wrong pairs follows how many of each kind were written: a figure, and no promise to users
    promised = risk_controlled_floor(scores[rows], relevant[rows], 0.2)
    figures["pairs_at_most_20_percent_wrong"] = (
        f"floor {promised.floor:.3f}, {promised.answered}/{promised.n} over it, {promised.wrong} wrong"
        if promised
        else f"not attainable; the least is {least_answered(0.2, 0.95)} pairs without a wrong one"
    )
    return figures


def _held_out(scores: Floats, relevant: NDArray[np.bool_], skills: Sequence[str]) -> NDArray[np.bool_]:
    """Which pairs clear a floor that was chosen on pairs of other skills."""
    from sklearn.model_selection import GroupKFold

    passed = np.zeros(len(scores), bool)
    count = min(FOLDS, len(set(skills)))
    folds = GroupKFold(count, shuffle=True, random_state=SEED).split(skills, groups=skills)
    for others, held in folds:
        passed[held] = scores[held] >= youden_floor(scores[others], relevant[others])
    return passed
