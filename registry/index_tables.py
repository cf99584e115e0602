"""What an index holds, and how that lies in tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pickysteve.registry.graph import Edge
from pickysteve.registry.models import Example, Problem, Skill, Unit, Verdict

__all__ = ["TABLES", "IndexData", "Vector", "index_of_tables", "index_tables"]

TABLES = ("edges", "examples", "postings", "problems", "skills", "units", "vectors", "verdicts")


@dataclass(frozen=True)
class Vector:
    """Whose vector a row of the matrix is: the unit's head, full text or passage; a skill's example."""

    kind: str
    owner: str
    text_sha256: str


@dataclass
class IndexData:
    """Everything an index holds, as plain values and arrays."""

    root: str
    encoder: str
    gate: str
    built_at: str
    skills: dict[str, Skill] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    vectors: tuple[Vector, ...] = ()
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """One unit vector a row, in the order of `vectors`."""
    postings: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    """Field ("text" or "examples") to owner to term counts."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Allow and review verdicts by the SHA-256 of the scanned text."""
    problems: tuple[Problem, ...] = ()
    edges: tuple[Edge, ...] = ()
    """Which skills are confused with each other, by people's word or by how near they are."""
    digest: str = ""
    """SHA-256 over the tables; set when read or written."""


def index_tables(data: IndexData) -> dict[str, pa.Table]:
    """The tables of an index, by name."""
    width = data.matrix.shape[1] or 1
    matrix = pa.FixedSizeListArray.from_arrays(pa.array(data.matrix.ravel(), pa.float32()), width)
    examples = [example for skill in data.skills.values() for example in skill.examples]
    return {
        "edges": _json_table("edge", data.edges),
        "examples": _records(examples, ["skill_id", "text", "origin"]),
        "postings": _postings_table(data.postings),
        "problems": _json_table("problem", data.problems),
        "skills": _json_table("skill", [s.model_copy(update={"examples": ()}) for s in data.skills.values()]),
        "units": _json_table("unit", data.units.values()),
        "vectors": pa.table(
            {
                "kind": pa.array([v.kind for v in data.vectors], pa.string()),
                "owner": pa.array([v.owner for v in data.vectors], pa.string()),
                "text_sha256": pa.array([v.text_sha256 for v in data.vectors], pa.string()),
                "vector": matrix if data.matrix.size else pa.array([], pa.list_(pa.float32(), width)),
            }
        ),
        "verdicts": _json_table("verdict", data.verdicts.values()),
    }


def _records(values: Iterable[Any], names: list[str]) -> pa.Table:
    rows = list(values)
    return pa.table({name: pa.array([getattr(row, name) for row in rows], pa.string()) for name in names})


def _postings_table(postings: dict[str, dict[str, dict[str, int]]]) -> pa.Table:
    rows = [(name, owner, counts) for name, owners in postings.items() for owner, counts in owners.items()]
    return pa.table(
        {
            "field": pa.array([name for name, _, _ in rows], pa.string()),
            "owner": pa.array([owner for _, owner, _ in rows], pa.string()),
            "terms": pa.array([list(counts) for *_, counts in rows], pa.list_(pa.string())),
            "counts": pa.array([list(counts.values()) for *_, counts in rows], pa.list_(pa.int32())),
        }
    )


def _json_table(name: str, values: Iterable[Any]) -> pa.Table:
    rows = list(values)
    key = {"skill": "skill_id", "unit": "unit_id", "verdict": "sha256", "problem": "path", "edge": "first"}[
        name
    ]
    return pa.table(
        {
            key: pa.array([getattr(row, key) for row in rows], pa.string()),
            name: pa.array([row.model_dump_json() for row in rows], pa.string()),
        }
    )


def index_of_tables(about: Mapping[str, Any], tables: Mapping[str, pa.Table], digest: str) -> IndexData:
    """The index that lies in these tables; `about` has its root, encoder, gate and time."""
    skills = _skills(tables)
    units = [Unit.model_validate_json(row) for row in tables["units"]["unit"].to_pylist()]
    verdicts = [Verdict.model_validate_json(row) for row in tables["verdicts"]["verdict"].to_pylist()]
    vectors = tables["vectors"].combine_chunks()
    postings: dict[str, dict[str, dict[str, int]]] = {}
    columns = [tables["postings"][name].to_pylist() for name in ("field", "owner", "terms", "counts")]
    for name, owner, terms, counts in zip(*columns, strict=True):
        postings.setdefault(name, {})[owner] = dict(zip(terms, counts, strict=True))
    return IndexData(
        root=about["root"],
        encoder=about["encoder"],
        gate=about["gate"],
        built_at=about["built_at"],
        skills=skills,
        units={unit.unit_id: unit for unit in units},
        vectors=tuple(
            Vector(*row)
            for row in zip(*(vectors[n].to_pylist() for n in ("kind", "owner", "text_sha256")), strict=True)
        ),
        matrix=_matrix(vectors),
        postings=postings,
        verdicts={verdict.sha256: verdict for verdict in verdicts},
        problems=tuple(Problem.model_validate_json(row) for row in tables["problems"]["problem"].to_pylist()),
        edges=tuple(Edge.model_validate_json(row) for row in tables["edges"]["edge"].to_pylist()),
        digest=digest,
    )


def _skills(tables: Mapping[str, pa.Table]) -> dict[str, Skill]:
    examples: dict[str, list[Example]] = {}
    for row in tables["examples"].to_pylist():
        examples.setdefault(row["skill_id"], []).append(Example(**row))
    skills = [Skill.model_validate_json(row) for row in tables["skills"]["skill"].to_pylist()]
    return {
        skill.skill_id: skill.model_copy(update={"examples": tuple(examples.get(skill.skill_id, ()))})
        for skill in skills
    }


def _matrix(vectors: pa.Table) -> NDArray[np.float32]:
    if not vectors.num_rows:
        return np.zeros((0, vectors.schema.field("vector").type.list_size), np.float32)
    column = vectors["vector"].combine_chunks()
    return np.asarray(np.from_dlpack(column.flatten()), np.float32).reshape(vectors.num_rows, -1)
