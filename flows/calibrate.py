"""Calibrate: fit the embedded reranker on the fit split, and its thresholds on the calibrate split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.conformal import least_share
from pickysteve.calibration.fitted import Fitted, Weights
from pickysteve.calibration.floor import net_benefit_floor
from pickysteve.calibration.logit import Choice, fit_rescaling, fit_weights, shares, sigmoid
from pickysteve.calibration.measures import auroc
from pickysteve.flows.ingest import ingest_registry
from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.index import IndexData
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import EXAMPLE_FEATURES, SCORING_VERSION, TEXT_FEATURES, pair_features
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker, class_columns
from pickysteve.tasks.gate import GateConfig
from pickysteve.tasks.judge import PAIR_FEATURES, Pair, half_winners, log_odds
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.values import Clause, Request, Route

__all__ = ["Split", "calibrate", "load_split", "split_digest"]

L2 = 0.06
"""Ridge of the weights; figures on the development suites hardly move from 0.03 to 0.2."""
PAIR_L2 = 0.01
"""The same for the few weights that tell two jobs from one."""
COVERAGE = 0.9
SEED = 20261130
EXAMPLE_SHARES = (0.0, 0.5, 1.0)
"""Each request is seen on the registry without examples, with half of the skills' and with all."""

Floats = NDArray[Any]


@dataclass(frozen=True)
class Split:
    """A registry with its suite, ready to be scored."""

    index: IndexData
    tasks: tuple[Task, ...]
    sha256: str


@dataclass(frozen=True)
class _Scene:
    """One request on one state of the registry."""

    task: Task
    route: Route
    index: SearchIndex
    choice: Choice


def load_split(folder: Path, encoder: Embedder, defender: Guard) -> Split:
    """Ingest `folder`/skills into a temporary index and read `folder`/suite.jsonl."""
    with TemporaryDirectory() as scratch:
        done = ingest_registry(
            folder / "skills", Path(scratch), encoder=encoder, defender=defender, config=GateConfig()
        )
    return Split(done.data, read_suite(folder / "suite.jsonl"), split_digest(folder))


def split_digest(folder: Path) -> str:
    """SHA-256 over a split's suite, skills and examples, by path."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    kept = [name for name in names if not name.endswith("PROVENANCE.md")]
    return sha256(b"".join(name.encode() + b"\0" + (folder / name).read_bytes() for name in kept)).hexdigest()


def calibrate(
    fit: Split, held: Split, encoder: Embedder, progress: Callable[[str], None] = lambda phase: None
) -> Fitted:
    """Weights from `fit`, rescaling and thresholds from `held`; the two must not share a skill."""
    if common := fit.index.skills.keys() & held.index.skills.keys():
        raise ValueError(f"The splits share skills: {', '.join(sorted(common))}.")
    memo = _Memo(encoder)
    progress("reading the fit split")
    fitting = list(_scenes(fit, memo))
    weights = fit_weights([scene.choice for scene in fitting], L2, free=_constants())
    progress("reading the calibrate split")
    scenes = list(_scenes(held, memo))
    weights = _rescaled(weights, scenes)
    progress("choosing thresholds")
    draft = _draft(weights, fit, held, encoder)
    second = _second_weights(fitting, draft, memo)
    return _with_thresholds(draft.model_copy(update={"second": second}), weights, scenes)


def _constants() -> tuple[int, int]:
    return len(TEXT_FEATURES), 2 * len(TEXT_FEATURES) + len(EXAMPLE_FEATURES) + 1


def _scenes(split: Split, encoder: Embedder) -> Iterator[_Scene]:
    generator = np.random.default_rng(SEED)
    for share in EXAMPLE_SHARES:
        skills = sorted(split.index.skills)
        kept = set(generator.permutation(skills)[: round(share * len(skills))])
        index = SearchIndex(_keep_examples(split.index, kept))
        for task in split.tasks:
            route = parse_request(Request(text=task.request), RouteConfig())
            features = pair_features(route.query, route.clauses, index, encoder)
            right = [r for skill in (*task.gold, *task.accept) for r in index.skill_rows.get(skill, [])]
            choice = Choice(class_columns(features), np.array(right, dtype=np.intp))
            yield _Scene(task, route, index, choice)


def _keep_examples(data: IndexData, kept: set[str]) -> IndexData:
    """The index as it would be if only these skills had example requests."""
    rows = [r for r, v in enumerate(data.vectors) if v.kind != "example" or v.owner in kept]
    examples = {s: counts for s, counts in data.postings["examples"].items() if s in kept}
    return replace(
        data,
        vectors=tuple(data.vectors[row] for row in rows),
        matrix=data.matrix[rows],
        postings={**data.postings, "examples": examples},
    )


def _rescaled(weights: Floats, scenes: Sequence[_Scene]) -> Floats:
    """Temperature and bias for each class of skills (Platt 1999), from requests that the fit has not seen."""
    split, end = _constants()
    without = slice(0, split + 1)
    having = slice(split + 1, end + 1)

    def reduced(choice: Choice) -> Choice:
        parts = [choice.features[:, part] @ weights[part] for part in (without, having)]
        flags = [choice.features[:, split], choice.features[:, end]]
        return Choice(np.stack([parts[0], flags[0], parts[1], flags[1]], axis=1), choice.right)

    scale_without, bias_without, scale_having, bias_having = fit_rescaling(
        [reduced(s.choice) for s in scenes]
    )
    out = weights.copy()
    out[without] *= scale_without
    out[having] *= scale_having
    out[split] += bias_without
    out[end] += bias_having
    return out


def _draft(weights: Floats, fit: Split, held: Split, encoder: Embedder) -> Fitted:
    split, end = _constants()
    return Fitted(
        encoder=encoder.fingerprint,
        scoring=SCORING_VERSION,
        seed=SEED,
        fit_sha256=fit.sha256,
        calibrate_sha256=held.sha256,
        with_examples=_weights(weights[split + 1 : end], weights[end], TEXT_FEATURES + EXAMPLE_FEATURES),
        without_examples=_weights(weights[:split], weights[split], TEXT_FEATURES),
        second=Weights(features=dict.fromkeys(PAIR_FEATURES, 0.0), constant=-1.0),
        floor=0.0,
        set_share=0.0,
        sure_score=0.0,
        report={},
    )


def _with_thresholds(draft: Fitted, weights: Floats, scenes: Sequence[_Scene]) -> Fitted:
    utilities = [scene.choice.features @ weights for scene in scenes]
    best = np.array([sigmoid(u).max() for u in utilities])
    single = np.array([len(s.task.gold) == 1 for s in scenes])
    nothing = np.array([not s.task.gold for s in scenes])
    right = np.array([_right_share(s, u) for s, u in zip(scenes, utilities, strict=True)])
    first = np.array([_first_is_right(s, u) for s, u in zip(scenes, utilities, strict=True)])
    floor = net_benefit_floor(best, first)
    set_share = least_share(right[single], COVERAGE)
    sizes = [int((_skill_shares(s, u) >= set_share).sum()) for s, u in zip(scenes, utilities, strict=True)]
    report = {
        "requests": len(scenes) // len(EXAMPLE_SHARES),
        "example_shares": str(EXAMPLE_SHARES),
        "top1": round(float(first[~nothing].mean()), 4),
        "no_match_auroc": round(auroc(best, ~nothing) or 0.0, 4),
        "kept_at_floor": round(float((best[~nothing] >= floor).mean()), 4),
        "no_match_rejected_at_floor": round(float((best[nothing] < floor).mean()), 4),
        "set_size_uncapped": round(float(np.maximum(sizes, 1)[single].mean()), 3),
    }
    thresholds = {
        "floor": round(floor, 4),
        "set_share": round(set_share, 4),
        "sure_score": _sure_score(best[~nothing], first[~nothing]),
    }
    return draft.model_copy(update={**thresholds, "report": report})


def _weights(values: Floats, constant: float, names: Sequence[str]) -> Weights:
    rounded = {name: round(float(value), 4) for name, value in zip(names, values, strict=True)}
    return Weights(features=rounded, constant=round(float(constant), 4))


def _skill_shares(scene: _Scene, utilities: Floats) -> Floats:
    """Shares of the skills, each by its best unit."""
    best = [utilities[rows].max() for rows in scene.index.skill_rows.values()]
    return shares(np.array(best))


def _right_share(scene: _Scene, utilities: Floats) -> float:
    skills = list(scene.index.skill_rows)
    share = _skill_shares(scene, utilities)
    return max((float(share[skills.index(s)]) for s in (*scene.task.gold, *scene.task.accept)), default=0.0)


def _first_is_right(scene: _Scene, utilities: Floats) -> bool:
    return int(np.argmax(utilities)) in scene.choice.right


def _sure_score(best: Floats, first: NDArray[np.bool_]) -> float:
    """The lowest score from which nine of ten first picks are right on the calibrate split."""
    order = np.argsort(-best)
    precision = np.cumsum(first[order]) / np.arange(1, len(order) + 1)
    reached = np.flatnonzero((precision >= 0.9) & (np.arange(len(order)) >= 20))
    return round(float(best[order][reached[-1]]), 4) if reached.size else 1.0


def _second_weights(scenes: Sequence[_Scene], draft: Fitted, encoder: Embedder) -> Weights:
    """When a request is two jobs: each pair that a cut offers is right or wrong (a binary logit)."""
    reranker = EmbeddedReranker(encoder, Calibration(draft))
    choices = []
    for scene in scenes:
        for pair in _offered_pairs(scene, reranker):
            right = set(pair.skills) == set(scene.task.gold)
            if right or len(scene.task.gold) < 2:
                row = np.array([[*pair.features.values(), 1.0]])
                choices.append(Choice(row, np.array([0] if right else [], dtype=np.intp)))
    if not any(choice.right.size for choice in choices):
        # no compound request to learn from: none is ever read as two jobs
        return Weights(features=dict.fromkeys(PAIR_FEATURES, 0.0), constant=-1.0)
    weights = fit_weights(choices, PAIR_L2, free=(len(PAIR_FEATURES),))
    return _weights(weights[:-1], weights[-1], PAIR_FEATURES)


def _offered_pairs(scene: _Scene, reranker: EmbeddedReranker) -> list[Pair]:
    scores, _ = reranker.scores(scene.route.query, scene.route.clauses, scene.index)
    whole = _by_skill(scores, scene.index)
    halves = [_skill_log_odds(reranker, half, scene.index) for half in scene.route.halves]
    by_skill = {skill: tuple(half[skill] for half in halves) for skill in whole}
    return half_winners(whole, by_skill, [cut.signalled for cut in scene.route.cuts])


def _skill_log_odds(reranker: EmbeddedReranker, text: str, index: SearchIndex) -> dict[str, float]:
    scores, _ = reranker.scores(text, (Clause(text=text, role="ask"),), index)
    return _by_skill(scores, index)


def _by_skill(scores: Floats, index: SearchIndex) -> dict[str, float]:
    return {skill: log_odds(float(scores[rows].max())) for skill, rows in index.skill_rows.items()}


class _Memo:
    """An encoder that keeps what it has encoded: the same texts come back for every state of the registry."""

    def __init__(self, encoder: Embedder) -> None:
        self.fingerprint, self.dimension = encoder.fingerprint, encoder.dimension
        self._encoder = encoder
        self._known: dict[str, Floats] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])
