"""Fit a cross-encoder's scale: its raw logits, on the candidates that retrieval brings up, become log-odds.

A slope and a constant by maximum likelihood against "none of these" (Platt 1999), and the weights that tell
two jobs from one. Its own weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.fitted import Fitted, Weights, fitted_draft
from pickysteve.calibration.logit import Choice, fit_rescaling
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.scenes import SEED, Split, group_of
from pickysteve.flows.suite import Task
from pickysteve.flows.threshold_report import threshold_figures
from pickysteve.flows.thresholds import Scored, gather_scored, with_thresholds
from pickysteve.flows.two_jobs import Odds, fit_two_jobs, offered_pairs, two_job_report
from pickysteve.tasks.engines.cross_encoder import CROSS_SCALE, CrossEncoder, PairScorer, unit_passage
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.judge import log_odds
from pickysteve.tasks.retrieve import RetrieveConfig, retrieve_candidates
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.values import Clause, Request, Route

__all__ = ["PairScene", "calibrate_pairs", "read_pair_scenes"]

LEAST_ANSWERED = 20
"""Answered rows in each half under which a scale would be a guess."""

Floats = NDArray[Any]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class PairScene:
    """One request with its candidates and what the cross-encoder gives them."""

    task: Task
    route: Route
    index: SearchIndex
    rows: NDArray[np.intp]
    """Of the candidates in the index: (candidates,)."""
    logits: Floats
    """Raw: (candidates,)."""

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of the candidates, each once."""
        return tuple(dict.fromkeys(self.skill_of(row) for row in self.rows))

    def skill_of(self, row: int) -> str:
        """The skill of a row of the index."""
        return self.index.data.units[self.index.unit_ids[row]].skill_id

    def best_of_skills(self, values: Floats) -> Floats:
        """The highest value among the candidates of each skill: (skills,)."""
        owners = np.array([self.skill_of(row) for row in self.rows])
        return np.array([values[owners == skill].max() for skill in self.skills])

    @property
    def right(self) -> NDArray[np.bool_]:
        """For each skill whether it answers the request."""
        answers = {*self.task.gold, *self.task.accept}
        return np.array([skill in answers for skill in self.skills])


def read_pair_scenes(
    tasks: Sequence[Task], index: SearchIndex, encoder: Embedder, scorer: PairScorer, progress: Progress
) -> list[PairScene]:
    """Each request with the candidates that a pick would rerank."""
    scenes = []
    for done, task in enumerate(tasks, start=1):
        request = Request(text=task.request)
        route = parse_request(request, RouteConfig())
        found = retrieve_candidates(request, route, index, encoder, RetrieveConfig()).candidates
        rows = np.array([index.row_of[candidate.unit_id] for candidate in found], dtype=np.intp)
        passages = [unit_passage(index.unit(candidate.unit_id)) for candidate in found]
        scenes.append(PairScene(task, route, index, rows, scorer.logits(route.query, passages)))
        if done % 25 == 0 or done == len(tasks):
            progress(f"read {done} of {len(tasks)} requests")
    return scenes


def calibrate_pairs(
    fit: Split,
    held: Split,
    encoder: Embedder,
    scorer: PairScorer,
    progress: Progress = lambda phase: None,
) -> Fitted:
    """The scale from `fit`, the thresholds from `held`, which shares no request with it.

    Raises SuiteInvalid where either holds too few requests that something answers.
    """
    for split in (fit, held):
        answered = sum(bool(task.gold) for task in split.tasks)
        if answered < LEAST_ANSWERED:
            raise SuiteInvalid(
                f"Half of the rows has {answered} requests with a gold skill, and the scale of a "
                f"cross-encoder needs {LEAST_ANSWERED}: write more rows."
            )
    progress("reading the requests of the fit")
    learned = read_pair_scenes(fit.tasks, SearchIndex(fit.index), encoder, scorer, progress)
    draft = _draft(fit, encoder, scorer, *_scale(learned))
    draft = draft.model_copy(update={"second": fit_two_jobs(offered_pairs(learned, _odds_of(scorer, draft)))})
    progress("reading the requests of the thresholds")
    scenes = read_pair_scenes(held.tasks, SearchIndex(held.index), encoder, scorer, progress)
    scored = _scored(scenes, draft)
    if draft.without_examples.features[CROSS_SCALE] <= 0 or not scored.first.any():
        raise SuiteInvalid(
            f"The reranker {scorer.name} does not score right skills higher than others on these "
            "requests, so that no floor can be chosen: check the suite's gold skills, or take another one."
        )
    fitted = with_thresholds(draft, scored)
    offered = offered_pairs(scenes, _odds_of(scorer, fitted))
    report = {**threshold_figures(scored), **two_job_report(scenes, offered, fitted.second)}
    return fitted.model_copy(update={"calibrate_sha256": held.sha256, "report": report})


def _scale(scenes: Sequence[PairScene]) -> tuple[float, float]:
    """Slope and constant of the log-odds in the raw logit."""
    choices = []
    for scene in scenes:
        logits = scene.best_of_skills(scene.logits)
        choices.append(Choice(np.column_stack([logits, np.ones_like(logits)]), np.flatnonzero(scene.right)))
    slope, constant = fit_rescaling(choices)
    return round(float(slope), 4), round(float(constant), 4)


def _draft(split: Split, encoder: Embedder, scorer: PairScorer, slope: float, constant: float) -> Fitted:
    scale = Weights(features={CROSS_SCALE: slope}, constant=constant)
    return fitted_draft(
        encoder=encoder.fingerprint,
        scoring=SCORING_VERSION,
        reranker=scorer.fingerprint,
        seed=SEED,
        fit_sha256=split.sha256,
        with_examples=scale,
        without_examples=scale,
        request=Weights(features={}, constant=0.0),
    )


def _scored(scenes: Sequence[PairScene], fitted: Fitted) -> Scored:
    weights = fitted.without_examples
    utilities = [
        scene.best_of_skills(weights.features[CROSS_SCALE] * scene.logits + weights.constant)
        for scene in scenes
    ]
    return gather_scored([(s.task, group_of(s.task), s.right) for s in scenes], utilities)


def _odds_of(scorer: PairScorer, fitted: Fitted) -> Callable[[PairScene], Odds]:
    """What gives the log-odds of each skill among the candidates of a scene."""
    reranker = CrossEncoder(scorer, fitted)

    def in_scene(scene: PairScene) -> Odds:
        def odds(text: str, clauses: Sequence[Clause]) -> dict[str, float]:
            scores, _ = reranker.scores(text, clauses, scene.index, scene.rows)
            best = scene.best_of_skills(scores[scene.rows])
            return dict(zip(scene.skills, map(log_odds, best.tolist()), strict=True))

        return odds

    return in_scene
