"""Two jobs: when a request is read as two, for whichever reranker gives the log-odds.

Cutting a request offers pairs of skills. Which of them are right is fitted as a binary logit over what the
halves tell, with few weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from pickysteve.calibration.fitted import Weights
from pickysteve.calibration.logit import Choice, fit_weights
from pickysteve.flows.suite import Task
from pickysteve.flows.threshold_report import Figures, two_job_figures
from pickysteve.tasks.judge import PAIR_FEATURES, Pair, half_winners
from pickysteve.tasks.values import Clause, Route

__all__ = ["NEVER", "Odds", "fit_two_jobs", "offered_pairs", "two_job_report"]

L2 = 0.01
"""Ridge of the weights."""
NEVER = Weights(features=dict.fromkeys(PAIR_FEATURES, 0.0), constant=-1.0)
"""No request is read as two."""

Odds = Callable[[str, Sequence[Clause]], Mapping[str, float]]
"""The log-odds of each skill for a text with its clauses."""


class Asked(Protocol):
    """A request in its registry, as either reranker reads it."""

    @property
    def task(self) -> Task:
        """The request and what answers it."""

    @property
    def route(self) -> Route:
        """Its clauses, and where it may be cut."""


Scene = TypeVar("Scene", bound=Asked)


def offered_pairs(scenes: Iterable[Scene], odds_in: Callable[[Scene], Odds]) -> Iterator[tuple[Scene, Pair]]:
    """The pairs that the cuts of each request offer, with their evidence; one without a cut is not scored."""
    for scene in scenes:
        if not scene.route.cuts:
            continue
        odds = odds_in(scene)
        whole = odds(scene.route.query, scene.route.clauses)
        halves = [odds(half, (Clause(text=half, role="ask"),)) for half in scene.route.halves]
        by_skill = {skill: tuple(half[skill] for half in halves) for skill in whole}
        for pair in half_winners(whole, by_skill, [cut.signalled for cut in scene.route.cuts]):
            yield scene, pair


def fit_two_jobs(offered: Iterable[tuple[Scene, Pair]]) -> Weights:
    """The weights that tell right pairs from wrong ones; NEVER where no compound request is among them."""
    choices = []
    for scene, pair in offered:
        right = _is_right(scene, pair)
        if right or len(scene.task.gold) < 2:
            row = np.array([[*pair.features.values(), 1.0]])
            choices.append(Choice(row, np.array([0] if right else [], dtype=np.intp)))
    if not any(choice.right.size for choice in choices):
        return NEVER
    return Weights.rounded(fit_weights(choices, L2, free=(len(PAIR_FEATURES),)), PAIR_FEATURES)


def two_job_report(
    scenes: Sequence[Scene], offered: Iterable[tuple[Scene, Pair]], weights: Weights
) -> Figures:
    """Precision and recall of reading a request as two jobs, by the best pair of each scene."""
    best: dict[int, tuple[float, bool]] = {}
    for scene, pair in offered:
        utility = pair.utility(weights)
        if utility > max(0.0, best.get(id(scene), (0.0, False))[0]):
            best[id(scene)] = (utility, _is_right(scene, pair))
    read = {str(name): right for name, (_, right) in best.items()}
    return two_job_figures(read, {str(id(scene)): len(scene.task.gold) > 1 for scene in scenes})


def _is_right(scene: Asked, pair: Pair) -> bool:
    return set(pair.skills) == set(scene.task.gold)
