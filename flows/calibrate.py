"""Calibrate: fit the embedded reranker on one split, and choose its thresholds on another of other skills."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pickysteve.calibration.fitted import Fitted
from pickysteve.flows.fitting import EXAMPLE_SHARES, fit_reranker, offered_pairs
from pickysteve.flows.scenes import MemoEmbedder, Scene, Split, read_scenes, registry_states
from pickysteve.flows.threshold_report import pair_figures, threshold_figures
from pickysteve.flows.thresholds import score_scenes, with_thresholds
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex

__all__ = ["calibrate", "threshold"]

Progress = Callable[[str], None]


def calibrate(fit: Split, held: Split, encoder: Embedder, progress: Progress = lambda phase: None) -> Fitted:
    """Weights from `fit`, thresholds from `held`; the two must not share a skill."""
    if common := fit.index.skills.keys() & held.index.skills.keys():
        raise ValueError(f"The splits share skills: {', '.join(sorted(common))}.")
    memo = MemoEmbedder(encoder)
    draft = fit_reranker(fit, memo, progress)
    return threshold(draft, held, registry_states(held.index, EXAMPLE_SHARES), memo, progress)


def threshold(
    draft: Fitted,
    held: Split,
    states: Sequence[SearchIndex],
    encoder: Embedder,
    progress: Progress = lambda phase: None,
) -> Fitted:
    """The thresholds of a fitted reranker, from requests of `held` on these states of its registry.

    What was fitted must not have seen the requests.
    """
    progress("reading the calibrate split")
    scenes = [scene for state in states for scene in read_scenes(held.tasks, state, encoder)]
    progress("choosing thresholds")
    scored = score_scenes(scenes, draft)
    fitted = with_thresholds(draft, scored)
    report = {**threshold_figures(scored), **_pair_figures(scenes, fitted, encoder)}
    return fitted.model_copy(update={"calibrate_sha256": held.sha256, "report": report})


def _pair_figures(scenes: Sequence[Scene], fitted: Fitted, encoder: Embedder) -> dict[str, float | int | str]:
    best: dict[int, tuple[float, bool]] = {}
    names = {id(scene): at for at, scene in enumerate(scenes)}
    for scene, pair in offered_pairs(scenes, fitted, encoder):
        at, utility = names[id(scene)], pair.utility(fitted.second)
        if utility > max(0.0, best.get(at, (0.0, False))[0]):
            best[at] = (utility, set(pair.skills) == set(scene.task.gold))
    read = {str(at): right for at, (_, right) in best.items()}
    return pair_figures(read, {str(at): len(s.task.gold) > 1 for at, s in enumerate(scenes)})
