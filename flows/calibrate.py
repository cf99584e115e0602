"""Calibrate: fit the embedded reranker on one split, and choose its thresholds on another of other skills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from pickysteve.calibration.figures import area, share
from pickysteve.calibration.fitted import Fitted
from pickysteve.calibration.measures import top1
from pickysteve.flows.answering import PlainBm25
from pickysteve.flows.fitting import EXAMPLE_SHARES, fit_reranker, odds_of
from pickysteve.flows.pairs import Pairs, pair_scores, with_pair_floor
from pickysteve.flows.scenes import MemoEmbedder, Split, read_scenes, registry_states
from pickysteve.flows.threshold_report import Figures, threshold_figures
from pickysteve.flows.thresholds import score_scenes, with_thresholds
from pickysteve.flows.two_jobs import offered_pairs, two_job_report
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex

__all__ = ["calibrate", "threshold"]

Progress = Callable[[str], None]


def calibrate(
    fit: Split,
    held: Split,
    encoder: Embedder,
    progress: Progress = lambda phase: None,
    pairs: Pairs | None = None,
) -> Fitted:
    """Weights from `fit`, thresholds from `held`, Youden's floor from `pairs`; no two may share a skill."""
    seen = [part.index.skills.keys() for part in (fit, held, pairs) if part]
    if common := {skill for one, other in combinations(seen, 2) for skill in one & other}:
        raise ValueError(f"The splits share skills: {', '.join(sorted(common))}.")
    memo = MemoEmbedder(encoder)
    draft = fit_reranker(fit, memo, progress)
    states = registry_states(held.index, EXAMPLE_SHARES)
    return threshold(draft, held, states, memo, progress, pairs)


def threshold(
    draft: Fitted,
    held: Split,
    states: Sequence[SearchIndex],
    encoder: Embedder,
    progress: Progress = lambda phase: None,
    pairs: Pairs | None = None,
) -> Fitted:
    """The thresholds of a fitted reranker, from requests of `held` on these states of its registry.

    What was fitted must not have seen the requests.
    """
    progress("reading the calibrate split")
    scenes = [scene for state in states for scene in read_scenes(held.tasks, state, encoder)]
    progress("choosing thresholds")
    scored = score_scenes(scenes, draft)
    fitted = with_thresholds(draft, scored)
    pair_report: Figures = {}
    if pairs:
        progress("scoring the labelled pairs")
        fitted, pair_report = with_pair_floor(fitted, pairs, pair_scores(pairs, fitted, encoder))
    report = {
        **threshold_figures(scored, fitted.youden_floor if pairs else None),
        **_bm25_figures(held),
        **two_job_report(scenes, offered_pairs(scenes, odds_of(encoder, fitted)), fitted.second),
        **pair_report,
    }
    return fitted.model_copy(update={"calibrate_sha256": held.sha256, "report": report})


def _bm25_figures(held: Split) -> Figures:
    """Plain BM25 on the same requests: whether its first is right, and what its score tells."""
    plain = PlainBm25(SearchIndex(held.index))
    ranked = [plain.rank(task.request) for task in held.tasks]
    pairs = list(zip(held.tasks, ranked, strict=True))
    first = share(top1(names, task.gold, task.accept) for task, (names, _) in pairs if task.gold)
    told = area([score for _, score in ranked], [bool(task.gold) for task in held.tasks])
    return {
        "bm25_top1": f"{first.value:.4f} [{first.low:.3f}, {first.high:.3f}], n {first.n}" if first else "",
        "bm25_no_match_auroc": f"{told.value:.4f} [{told.low:.3f}, {told.high:.3f}]" if told else "",
    }
