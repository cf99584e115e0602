"""The index on disk: Parquet tables in a generation folder, named by a sealed manifest.

    <index>/manifest.json            which generation is current; SHA-256 of its tables; our seal
    <index>/<generation>/*.parquet   skills, units, examples, edges, vectors, postings, verdicts

A new generation is written beside the old one and becomes current when the manifest is replaced, so
a reader sees one or the other, never a mixture.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pickysteve.errors import IndexCorrupt, IndexMissing
from pickysteve.registry.graph import Edge
from pickysteve.registry.models import Example, Problem, Skill, Unit, Verdict
from pickysteve.seal import operator_seal

__all__ = ["INDEX_VERSION", "IndexData", "Vector", "read_index", "write_index"]

INDEX_VERSION = "2"
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


def write_index(folder: Path, data: IndexData) -> str:
    """Write a new generation and make it current; returns its digest."""
    generation = f"gen-{secrets.token_hex(6)}"
    target = folder / generation
    target.mkdir(parents=True)
    digests = {}
    for name, table in _tables(data).items():
        path = target / f"{name}.parquet"
        pq.write_table(table, path, compression="zstd")
        digests[name] = sha256(path.read_bytes()).hexdigest()
    manifest = {
        "version": INDEX_VERSION,
        "generation": generation,
        "root": data.root,
        "encoder": data.encoder,
        "gate": data.gate,
        "built_at": data.built_at,
        "tables": digests,
    }
    manifest["seal"] = operator_seal().sign("index", _canonical(manifest))
    _replace(folder / "manifest.json", json.dumps(manifest, indent=1))
    _sweep(folder, keep=generation)
    data.digest = _digest(digests)
    return data.digest


def read_index(folder: Path) -> IndexData:
    """Read the current generation.

    Raises IndexMissing when there is none, and IndexCorrupt when a table is not the one that the
    sealed manifest names.
    """
    manifest = _manifest(folder)
    tables = {}
    for name in TABLES:
        path = folder / str(manifest["generation"]) / f"{name}.parquet"
        content = path.read_bytes() if path.is_file() else b""
        if sha256(content).hexdigest() != manifest["tables"].get(name):
            raise _corrupt(folder, f"{name}.parquet is not the file that was written")
        # not pq.read_table, nor to_numpy below: both import pandas (0.5 s)
        tables[name] = pq.ParquetFile(pa.BufferReader(content)).read()
    return _load(manifest, tables)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise IndexMissing(f'There is no index in "{folder}": run "pickysteve ingest DIR".')
    try:
        manifest = json.loads(path.read_bytes())
        seal = manifest.pop("seal")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _corrupt(folder, "manifest.json cannot be read") from error
    if not operator_seal().verifies("index", _canonical(manifest), str(seal)):
        raise _corrupt(folder, "manifest.json was not written by this account")
    if manifest["version"] != INDEX_VERSION:
        raise IndexMissing(
            f'The index in "{folder}" is of another version: run "pickysteve ingest DIR" again.'
        )
    return dict(manifest)


def _corrupt(folder: Path, what: str) -> IndexCorrupt:
    return IndexCorrupt(f'The index in "{folder}" is damaged ({what}): run "pickysteve ingest DIR --fresh".')


def _canonical(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()


def _digest(digests: dict[str, str]) -> str:
    return sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _sweep(folder: Path, keep: str) -> None:
    """Remove old generations, but the newest of them: a reader may still be in it."""
    old = sorted((p for p in folder.glob("gen-*") if p.name != keep), key=lambda p: p.stat().st_mtime)
    for generation in old[:-1]:
        shutil.rmtree(generation, ignore_errors=True)


def _tables(data: IndexData) -> dict[str, pa.Table]:
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


def _load(manifest: dict[str, Any], tables: dict[str, pa.Table]) -> IndexData:
    skills = _skills(tables)
    units = [Unit.model_validate_json(row) for row in tables["units"]["unit"].to_pylist()]
    verdicts = [Verdict.model_validate_json(row) for row in tables["verdicts"]["verdict"].to_pylist()]
    vectors = tables["vectors"].combine_chunks()
    postings: dict[str, dict[str, dict[str, int]]] = {}
    columns = [tables["postings"][name].to_pylist() for name in ("field", "owner", "terms", "counts")]
    for name, owner, terms, counts in zip(*columns, strict=True):
        postings.setdefault(name, {})[owner] = dict(zip(terms, counts, strict=True))
    return IndexData(
        root=manifest["root"],
        encoder=manifest["encoder"],
        gate=manifest["gate"],
        built_at=manifest["built_at"],
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
        digest=_digest(manifest["tables"]),
    )


def _skills(tables: dict[str, pa.Table]) -> dict[str, Skill]:
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
