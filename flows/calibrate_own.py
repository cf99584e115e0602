"""Calibrate on a registry and a suite of one's own: thresholds, and with enough rows the weights too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from platformdirs import user_data_path

from pickysteve.calibration.fitted import Fitted
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.calibrate import threshold
from pickysteve.flows.fitting import fit_reranker
from pickysteve.flows.fitting_pairs import calibrate_pairs
from pickysteve.flows.scenes import SEED, MemoEmbedder, Split
from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.cross_encoder import PairScorer
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.index import SearchIndex

__all__ = ["calibrate_own", "calibrate_own_pairs", "own_calibration_file", "read_own_suite"]

LEAST_ANSWERED = 40
LEAST_UNANSWERED = 10
"""Rows of a suite under which a floor would be a guess."""
LEAST_FOR_WEIGHTS = 400
"""As many as our own splits hold together: half of them for the weights, half for the thresholds."""
MOST_FOR_WEIGHTS = 1_000
"""Further rows of the fitting half are passed over: they cost minutes and move no weight."""

Progress = Callable[[str], None]


def own_calibration_file(registry: Path) -> Path:
    """Where the calibration of a registry goes unless somebody says otherwise."""
    return user_data_path("pickysteve") / "calibration" / f"{registry.resolve().name}.json"


def read_own_suite(path: Path, index: IndexData, *, weights: bool) -> tuple[Task, ...]:
    """Read a suite to calibrate on; raises SuiteInvalid where it is too small or names unknown skills."""
    tasks = read_suite(path)
    if unknown := sorted({skill for task in tasks for skill in task.gold} - index.skills.keys()):
        raise SuiteInvalid(
            f'The registry has no {", ".join(unknown[:5])}: correct the gold skills in "{path}", '
            "or ingest the registry that they belong to."
        )
    known = {_flat(example.text) for skill in index.skills.values() for example in skill.examples}
    if repeated := [task.id for task in tasks if _flat(task.request) in known]:
        raise SuiteInvalid(
            f'{len(repeated)} requests of "{path}" are examples of the registry, word for word (the first is '
            f"{repeated[0]}): leave them out, as thresholds chosen on them would promise too much."
        )
    answered = sum(bool(task.gold) for task in tasks)
    counts = f'"{path}" has {answered} requests with a gold skill and {len(tasks) - answered} without'
    if answered < LEAST_ANSWERED or len(tasks) - answered < LEAST_UNANSWERED:
        raise SuiteInvalid(
            f"{counts}; thresholds need at least {LEAST_ANSWERED} and {LEAST_UNANSWERED}: write more of the "
            'missing kind ("gold": [] is a request that no skill answers).'
        )
    if weights and len(tasks) < LEAST_FOR_WEIGHTS:
        raise SuiteInvalid(
            f"{counts}; weights of your own need at least {LEAST_FOR_WEIGHTS} rows, half of them for the "
            "thresholds: leave out --weights, or write more."
        )
    return tasks


def calibrate_own_pairs(
    index: IndexData,
    suite: Path,
    encoder: Embedder,
    scorer: PairScorer,
    progress: Progress = lambda phase: None,
) -> Fitted:
    """The scale of a cross-encoder from one half of the rows, and its thresholds from the other.

    Raises SuiteInvalid for a suite that is too small or that does not belong to the registry.
    """
    digest = sha256(suite.read_bytes()).hexdigest()
    fitting, held = _halves(read_own_suite(suite, index, weights=False))
    memo = MemoEmbedder(encoder)
    return calibrate_pairs(Split(index, fitting, digest), Split(index, held, digest), memo, scorer, progress)


def calibrate_own(
    index: IndexData,
    suite: Path,
    encoder: Embedder,
    base: Fitted,
    *,
    weights: bool = False,
    progress: Progress = lambda phase: None,
) -> Fitted:
    """Thresholds on an ingested registry, for the weights of `base` or of one half of the rows.

    Raises SuiteInvalid for a suite that is too small or that does not belong to the registry.
    """
    tasks = read_own_suite(suite, index, weights=weights)
    digest = sha256(suite.read_bytes()).hexdigest()
    memo = MemoEmbedder(encoder)
    held = tasks
    if weights:
        fitting, held = _halves(tasks)
        base = fit_reranker(Split(index, fitting[:MOST_FOR_WEIGHTS], digest), memo, progress)
    return threshold(base, Split(index, held, digest), (SearchIndex(index),), memo, progress)


def _flat(text: str) -> str:
    return " ".join(text.lower().split())


def _halves(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Two halves by a fixed draw, each with its part of the requests that nothing answers."""
    draw = np.random.default_rng(SEED)
    halves: tuple[list[Task], list[Task]] = ([], [])
    for kind in (True, False):
        rows = [task for task in tasks if bool(task.gold) is kind]
        for place, at in enumerate(draw.permutation(len(rows))):
            halves[place % 2].append(rows[at])
    shuffled = [[half[at] for at in draw.permutation(len(half))] for half in halves]
    return tuple(shuffled[0]), tuple(shuffled[1])
