"""The index on disk: Parquet tables in a generation folder, named by a sealed manifest.

    <index>/manifest.json            which generation is current; SHA-256 of its tables; our seal
    <index>/<generation>/*.parquet   skills, units, examples, edges, vectors, postings, verdicts

A new generation is written beside the old one and becomes current when the manifest is replaced, so
a reader sees one or the other, never a mixture.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
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

__all__ = [
    "INDEX_VERSION",
    "IndexData",
    "Vector",
    "current_digest",
    "export_index",
    "import_index",
    "read_index",
    "write_index",
]

INDEX_VERSION = "2"
GENERATION = re.compile(r"gen-[0-9a-f]{12}")
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
    _replace(folder / "manifest.json", json.dumps(manifest, indent=1).encode())
    _sweep(folder, keep=generation)
    data.digest = _digest(digests)
    return data.digest


def read_index(folder: Path) -> IndexData:
    """Read the current generation.

    Raises IndexMissing when there is none, and IndexCorrupt when a table is not the one that the
    sealed manifest names.
    """
    manifest = _manifest(folder)
    # not pq.read_table, nor to_numpy below: both import pandas (0.5 s)
    return _load(
        manifest,
        {name: pq.ParquetFile(pa.BufferReader(_table(folder, manifest, name))).read() for name in TABLES},
    )


def current_digest(folder: Path) -> str:
    """Digest of the current generation by its manifest; "" without one. Raises IndexCorrupt."""
    if not (folder / "manifest.json").is_file():
        return ""
    return _digest(_manifest(folder)["tables"])


def export_index(folder: Path) -> tuple[bytes, dict[str, bytes]]:
    """The sealed manifest of the current generation, and its tables by SHA-256, as they are on disk.

    Raises as read_index does.
    """
    manifest = _manifest(folder)
    content = (folder / "manifest.json").read_bytes()
    return content, {manifest["tables"][name]: _table(folder, manifest, name) for name in TABLES}


def import_index(folder: Path, content: bytes, table: Callable[[str], bytes]) -> str:
    """Make a generation current that was exported elsewhere; returns its digest.

    `content` is the manifest, and `table` gives the bytes of a SHA-256. Nothing is written before the
    manifest's seal and each table's digest were checked. Raises IndexCorrupt.
    """
    manifest = _parsed(folder, content)
    generation, digests = str(manifest["generation"]), manifest["tables"]
    if not GENERATION.fullmatch(generation) or set(digests) != set(TABLES):
        raise _corrupt(folder, "its manifest names other files than those of an index")
    tables = {name: table(digests[name]) for name in TABLES}
    for name, given in tables.items():
        if sha256(given).hexdigest() != digests[name]:
            raise _corrupt(folder, f"{name}.parquet is not the file that was written")
    target = folder / generation
    target.mkdir(parents=True, exist_ok=True)
    for name, given in tables.items():
        _replace(target / f"{name}.parquet", given)
    _replace(folder / "manifest.json", content)
    return _digest(digests)


def _table(folder: Path, manifest: dict[str, Any], name: str) -> bytes:
    path = folder / str(manifest["generation"]) / f"{name}.parquet"
    content = path.read_bytes() if path.is_file() else b""
    if sha256(content).hexdigest() != manifest["tables"].get(name):
        raise _corrupt(folder, f"{name}.parquet is not the file that was written")
    return content


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise IndexMissing(f'There is no index in "{folder}": run "pickysteve ingest DIR".')
    return _parsed(folder, path.read_bytes())


def _parsed(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(content)
        seal = manifest.pop("seal")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _corrupt(folder, "manifest.json cannot be read") from error
    if not operator_seal().verifies("index", _canonical(manifest), str(seal)):
        raise _corrupt(folder, "manifest.json was not written by this account, or with another PS_SEAL_KEY")
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


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with draft.open("wb") as file:
        file.write(content)
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
