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
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pickysteve.errors import IndexCorrupt, IndexMissing
from pickysteve.registry.index_tables import TABLES, IndexData, index_of_tables, index_tables
from pickysteve.seal import operator_seal

__all__ = [
    "INDEX_VERSION",
    "current_digest",
    "export_index",
    "import_index",
    "read_index",
    "write_index",
]

INDEX_VERSION = "2"
GENERATION = re.compile(r"gen-[0-9a-f]{12}")


def write_index(folder: Path, data: IndexData) -> str:
    """Write a new generation and make it current; returns its digest."""
    generation = f"gen-{secrets.token_hex(6)}"
    target = folder / generation
    target.mkdir(parents=True)
    digests = {}
    for name, table in index_tables(data).items():
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
    # not pq.read_table, nor to_numpy in the tables: both import pandas (0.5 s)
    tables = {name: pq.ParquetFile(pa.BufferReader(_table(folder, manifest, name))).read() for name in TABLES}
    return index_of_tables(manifest, tables, _digest(manifest["tables"]))


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
