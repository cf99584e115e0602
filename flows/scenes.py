"""Scenes: a suite's requests on states of its registry, as features and right answers for the fits.

A scene without the right skills is a request that nothing answers, in the very words of one that something
answers: what is learned from such pairs cannot be the habit of authors to write shorter requests where
nothing fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.logit import Choice
from pickysteve.errors import RegistryMissing
from pickysteve.flows.ingest import index_own_data
from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.features import pair_features, request_features
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import class_columns
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.values import Request, Route

__all__ = [
    "SEED",
    "MemoEmbedder",
    "Scene",
    "Split",
    "group_of",
    "load_split",
    "load_splits",
    "read_counterfactuals",
    "read_scenes",
    "registry_states",
    "split_digest",
]

SEED = 20261130

Floats = NDArray[Any]


@dataclass(frozen=True)
class Split:
    """A registry with its suite, ready to be scored."""

    index: IndexData
    tasks: tuple[Task, ...]
    sha256: str


@dataclass(frozen=True)
class Scene:
    """One request on one state of the registry."""

    task: Task
    route: Route
    index: SearchIndex
    columns: Floats
    """Features for the joint fit: (units, columns)."""
    asked: Floats
    """Features of the request itself."""
    right: NDArray[np.intp]
    """Rows of the units that answer the request; none when nothing does."""

    @property
    def choice(self) -> Choice:
        """The scene as the conditional logit takes it."""
        return Choice(self.columns, self.right)

    @property
    def group(self) -> str:
        """The skill that the request is about."""
        return group_of(self.task)

    @cached_property
    def skill_rows(self) -> list[list[int]]:
        """The rows of each skill."""
        return list(self.index.skill_rows.values())

    @cached_property
    def right_skills(self) -> NDArray[np.bool_]:
        """For each skill of `skill_rows` whether it answers the request."""
        right = {*self.task.gold, *self.task.accept}
        return np.array([skill in right for skill in self.index.skill_rows])


def group_of(task: Task) -> str:
    """The skill that a request is about: what folds must not tear apart."""
    return (*task.gold, *task.traps, task.id)[0]


def load_split(folder: Path, encoder: Embedder) -> Split:
    """Index `folder`/skills in memory and read `folder`/suite.jsonl."""
    index = index_own_data(folder / "skills", encoder)
    return Split(index, read_suite(folder / "suite.jsonl"), split_digest(folder))


def load_splits(datasets: Path, encoder: Embedder) -> tuple[Split, Split]:
    """The fit and the calibrate split; raises RegistryMissing where a folder is no place for them."""
    for name in ("fit", "calibrate"):
        if not (datasets / name / "suite.jsonl").is_file():
            raise RegistryMissing(
                f'There is no "{datasets / name}": run this in a checkout, or pass --datasets.'
            )
    return load_split(datasets / "fit", encoder), load_split(datasets / "calibrate", encoder)


def split_digest(folder: Path) -> str:
    """SHA-256 over a split's suite, skills and examples, by path."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    kept = [name for name in names if not name.endswith("PROVENANCE.md")]
    return sha256(b"".join(name.encode() + b"\0" + (folder / name).read_bytes() for name in kept)).hexdigest()


def registry_states(data: IndexData, example_shares: Sequence[float]) -> tuple[SearchIndex, ...]:
    """The registry with examples for only these shares of its skills, drawn with a fixed seed."""
    generator = np.random.default_rng(SEED)
    skills = sorted(data.skills)
    drawn = [set(generator.permutation(skills)[: round(share * len(skills))]) for share in example_shares]
    return tuple(SearchIndex(_keep_examples(data, kept)) for kept in drawn)


def _keep_examples(data: IndexData, kept: set[str]) -> IndexData:
    rows = [r for r, v in enumerate(data.vectors) if v.kind != "example" or v.owner in kept]
    examples = {s: counts for s, counts in data.postings["examples"].items() if s in kept}
    return replace(
        data,
        vectors=tuple(data.vectors[row] for row in rows),
        matrix=data.matrix[rows],
        postings={**data.postings, "examples": examples},
    )


def read_scenes(tasks: Sequence[Task], index: SearchIndex, encoder: Embedder) -> Iterator[Scene]:
    """Each request on this state of the registry."""
    return (_scene(task, index, encoder) for task in tasks)


def read_counterfactuals(tasks: Sequence[Task], index: SearchIndex, encoder: Embedder) -> Iterator[Scene]:
    """Each request that something answers, on this state of the registry without what answers it."""
    without: dict[tuple[str, ...], list[Task]] = {}
    for task in tasks:
        if task.gold:
            without.setdefault(tuple(sorted({*task.gold, *task.accept})), []).append(task)
    for skills, asked in without.items():
        # one such registry at a time: those of a large one would not fit into memory together
        rest = SearchIndex(_without_skills(index.data, set(skills)))
        if rest.unit_ids:
            yield from read_scenes(asked, rest, encoder)


def _without_skills(data: IndexData, gone: set[str]) -> IndexData:
    units = {unit_id: unit for unit_id, unit in data.units.items() if unit.skill_id not in gone}
    skills = {skill_id: skill for skill_id, skill in data.skills.items() if skill_id not in gone}
    owners = units.keys() | skills.keys()
    rows = [r for r, v in enumerate(data.vectors) if v.owner in owners]
    postings = {k: {o: c for o, c in part.items() if o in owners} for k, part in data.postings.items()}
    return replace(
        data,
        units=units,
        skills=skills,
        vectors=tuple(data.vectors[row] for row in rows),
        matrix=data.matrix[rows],
        postings=postings,
    )


def _scene(task: Task, index: SearchIndex, encoder: Embedder) -> Scene:
    route = parse_request(Request(text=task.request), RouteConfig())
    columns = class_columns(pair_features(route.query, route.clauses, index, encoder))
    right = [row for skill in (*task.gold, *task.accept) for row in index.skill_rows.get(skill, [])]
    return Scene(task, route, index, columns, request_features(route.query), np.array(right, dtype=np.intp))


class MemoEmbedder:
    """An encoder that keeps what it has encoded: the same texts come back for every state of a registry."""

    def __init__(self, encoder: Embedder) -> None:
        self.fingerprint, self.dimension = encoder.fingerprint, encoder.dimension
        self._encoder = encoder
        self._known: dict[str, Floats] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        """One vector a text: (texts, dimension)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])
