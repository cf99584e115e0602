"""Fit: the weights of the embedded reranker, on one split and with its thresholds still to come.

Three steps. A conditional logit gives the weights of the candidates. Its out-of-fold utilities, on pairs of
a registry with and without what answers, give each class of skills its scale and the request's features
their weights. The natural requests give the level: how often something fits at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.fitted import Fitted, Weights, fitted_draft
from pickysteve.calibration.logit import Choice, fit_rescaling, fit_weights
from pickysteve.flows.scenes import SEED, Scene, Split, read_counterfactuals, read_scenes, registry_states
from pickysteve.flows.two_jobs import Odds, fit_two_jobs, offered_pairs
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import (
    EXAMPLE_FEATURES,
    REQUEST_FEATURES,
    SCORING_VERSION,
    TEXT_FEATURES,
)
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker
from pickysteve.tasks.judge import log_odds
from pickysteve.tasks.values import Clause

__all__ = ["EXAMPLE_SHARES", "fit_reranker", "odds_of"]

L2 = 0.06
"""Ridge of the weights; figures on the development suites hardly move from 0.03 to 0.2."""
FOLDS = 4
EXAMPLE_SHARES = (0.0, 0.5, 1.0)
"""Each request is seen on the registry without examples, with half of the skills' and with all."""
WITHOUT = len(TEXT_FEATURES)
HAVING = WITHOUT + len(TEXT_FEATURES) + len(EXAMPLE_FEATURES) + 1
"""Columns of the two constants of the joint fit."""

Floats = NDArray[Any]
Progress = Callable[[str], None]


def fit_reranker(split: Split, encoder: Embedder, progress: Progress = lambda phase: None) -> Fitted:
    """Weights from `split`; floors and thresholds are left open, such that everything is picked."""
    progress("reading the fit split")
    states = registry_states(split.index, EXAMPLE_SHARES)
    scenes = [scene for state in states for scene in read_scenes(split.tasks, state, encoder)]
    progress("fitting the weights")
    weights = _fit(scenes)
    folds = _fold_of(scenes)
    held_out = [_fit([s for s in scenes if folds[s.group] != fold]) for fold in range(FOLDS)]
    progress("weighing what tells that nothing fits")
    missing = (s for state in states for s in read_counterfactuals(split.tasks, state, encoder))
    without = [_reduced(scene, held_out[folds[scene.group]]) for scene in missing]
    natural = [_reduced(scene, held_out[folds[scene.group]]) for scene in scenes]
    answered = [choice for choice, scene in zip(natural, scenes, strict=True) if scene.task.gold]
    draft = _draft(split, encoder, weights, *_scales([*answered, *without], natural))
    progress("fitting the pair weights")
    second = fit_two_jobs(offered_pairs(scenes, odds_of(encoder, draft)))
    return draft.model_copy(update={"second": second})


def _fit(scenes: Sequence[Scene]) -> Floats:
    return fit_weights([scene.choice for scene in scenes], L2, free=(WITHOUT, HAVING))


def _fold_of(scenes: Sequence[Scene]) -> dict[str, int]:
    """A fold for each group of scenes: no skill is scored by weights that saw requests for it."""
    from sklearn.model_selection import GroupKFold

    groups = [scene.group for scene in scenes]
    parts = GroupKFold(FOLDS, shuffle=True, random_state=SEED).split(groups, groups=groups)
    return {groups[row]: fold for fold, (_, rows) in enumerate(parts) for row in rows}


def _reduced(scene: Scene, weights: Floats) -> Choice:
    """Columns of the rescaling: utility and constant of each class, and the features of the request."""
    columns = scene.columns
    parts = (slice(0, WITHOUT + 1), slice(WITHOUT + 1, HAVING + 1))
    of_class = [columns[:, part] @ weights[part] for part in parts]
    asked = np.repeat(scene.asked[None, :], len(columns), axis=0)
    stacked = [of_class[0], columns[:, WITHOUT], of_class[1], columns[:, HAVING], asked]
    return Choice(np.column_stack(stacked), scene.right)


def _scales(pairs: Sequence[Choice], natural: Sequence[Choice]) -> tuple[Floats, Floats]:
    """Scale and bias of each class with the request's weights, then scale and level of all (Platt 1999)."""
    reduced = fit_rescaling(pairs)
    utilities = [choice.features @ reduced for choice in natural]
    levels = fit_rescaling(
        [
            Choice(np.column_stack([utility, np.ones_like(utility)]), choice.right)
            for utility, choice in zip(utilities, natural, strict=True)
        ]
    )
    return reduced, levels


def _draft(split: Split, encoder: Embedder, weights: Floats, reduced: Floats, levels: Floats) -> Fitted:
    without_scale, without_bias, having_scale, having_bias = reduced[:4]
    scale, level = levels
    text = weights[: WITHOUT + 1] * without_scale
    every = weights[WITHOUT + 1 :] * having_scale
    text[-1] += without_bias
    every[-1] += having_bias
    return fitted_draft(
        encoder=encoder.fingerprint,
        scoring=SCORING_VERSION,
        seed=SEED,
        fit_sha256=split.sha256,
        with_examples=Weights.rounded(every * scale, TEXT_FEATURES + EXAMPLE_FEATURES),
        without_examples=Weights.rounded(text * scale, TEXT_FEATURES),
        request=Weights.rounded(np.append(reduced[4:] * scale, level), REQUEST_FEATURES),
    )


def odds_of(encoder: Embedder, fitted: Fitted) -> Callable[[Scene], Odds]:
    """What gives the log-odds of each skill in a scene, by weights that were fitted."""
    reranker = EmbeddedReranker(encoder, Calibration(fitted))

    def in_scene(scene: Scene) -> Odds:
        def odds(text: str, clauses: Sequence[Clause]) -> dict[str, float]:
            scores, _ = reranker.scores(text, clauses, scene.index)
            rows_of = scene.index.skill_rows
            return {skill: log_odds(float(scores[rows].max())) for skill, rows in rows_of.items()}

        return odds

    return in_scene
