"""Shared storage: what one machine made, for the others to fetch; any file system that fsspec knows.

    <shared>/objects/<sha256>            tables of indexes, and fitted calibrations
    <shared>/indexes/<digest>.json       the sealed manifest of an index
    <shared>/runs/<name>/...             rows, records and page of a run, as they are

Everything fetched is named by its digest, bounded in size and checked before it is used; an index's manifest
carries the seal of the key that all machines must have in common (PS_SEAL_KEY).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pickysteve.errors import IndexCorrupt, SettingsInvalid, SharedCorrupt, SharedUnavailable
from pickysteve.registry.index import current_digest, export_index, import_index

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["SharedStore", "open_shared"]

MEBIBYTE = 1024 * 1024
MANIFEST_BYTES = 64 * 1024
OBJECT_BYTES = 512 * MEBIBYTE
OBJECT_STORES = frozenset({"abfs", "az", "gcs", "gs", "s3", "s3a"})
"""They have no folders, and would make a bucket of a misspelt one."""
DIGEST = re.compile(r"[0-9a-f]{64}")
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def open_shared(address: str) -> SharedStore:
    """The storage at an address as in PS_SHARED; raises SettingsInvalid for one that fits no system."""
    from fsspec.core import url_to_fs

    try:
        files, root = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise SettingsInvalid(
            f"PS_SHARED is no storage that can be opened ({error}): write file:///mnt/folder, or "
            "s3://bucket/prefix with the package s3fs installed."
        ) from error
    return SharedStore(files, root.rstrip("/"), address)


class SharedStore:
    """A folder of a file system. Raises SharedUnavailable where it cannot be read or written."""

    def __init__(self, files: AbstractFileSystem, root: str, address: str) -> None:
        self.files: Any = files
        self.root, self.address = root, address

    def publish_index(self, folder: Path) -> str:
        """Put the current generation of an index there, if it is not yet; returns its digest."""
        digest = current_digest(folder)
        path = f"indexes/{digest}.json"
        if not self._has(path):
            manifest, tables = export_index(folder)
            for name, content in tables.items():
                self._put_object(name, content)
            # last, so that whoever sees the manifest finds its tables
            self._put(path, manifest)
        return digest

    def fetch_index(self, digest: str, folder: Path) -> None:
        """Make the index with that digest current in a folder, after all of it was checked.

        Raises SharedCorrupt when it is not what was published, or was sealed with another key.
        """
        path = f"indexes/{_digest_name(digest)}.json"
        try:
            found = import_index(folder, self._get(path, MANIFEST_BYTES), self._get_object)
        except IndexCorrupt as error:
            raise SharedCorrupt(
                f"{self.address}/{path} was changed, or sealed with another key than this machine's: set the "
                "same PS_SEAL_KEY on all machines, and publish the index anew by an ingest."
            ) from error
        if found != digest:
            raise SharedCorrupt(f"{self.address}/{path} is another index: delete it, and ingest again.")

    def publish_file(self, path: Path) -> str:
        """Put a file there under its SHA-256, and return that."""
        content = path.read_bytes()
        digest = sha256(content).hexdigest()
        self._put_object(digest, content)
        return digest

    def fetch_file(self, digest: str, path: Path) -> None:
        """Write the bytes of that SHA-256 to a path, all or nothing."""
        content = self._get_object(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        draft.write_bytes(content)
        draft.replace(path)

    def publish_run(self, folder: Path) -> str:
        """Put all files of a run's folder there, under the folder's name; returns the address.

        A run of the same name is replaced file by file. Raises SettingsInvalid for a name of other letters.
        """
        name = folder.resolve().name
        if not RUN_NAME.fullmatch(name):
            raise SettingsInvalid(
                f"A run called {name!r} cannot be shared: pass --out a folder of letters, digits, - and _."
            )
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
            self._put(f"runs/{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"{self.address}/runs/{name}"

    def _put_object(self, digest: str, content: bytes) -> None:
        path = f"objects/{digest}"
        if not self._has(path, len(content)):
            self._put(path, content)

    def _get_object(self, digest: str) -> bytes:
        path = f"objects/{_digest_name(digest)}"
        content = self._get(path, OBJECT_BYTES)
        if sha256(content).hexdigest() != digest:
            raise SharedCorrupt(
                f"{self.address}/{path} is not what was published: delete it, and ingest again."
            )
        return content

    def _has(self, path: str, size: int | None = None) -> bool:
        with self._told(path):
            full = f"{self.root}/{path}"
            return self.files.exists(full) and (size is None or self.files.size(full) == size)

    def _put(self, path: str, content: bytes) -> None:
        with self._told(path):
            full = f"{self.root}/{path}"
            draft = f"{full}.{secrets.token_hex(4)}.part"
            if not OBJECT_STORES.intersection(_protocols(self.files)):
                self.files.makedirs(full.rpartition("/")[0], exist_ok=True)
            self.files.pipe_file(draft, content)
            self.files.mv(draft, full)

    def _get(self, path: str, longest: int) -> bytes:
        with self._told(path), self.files.open(f"{self.root}/{path}", "rb") as file:
            content = bytes(file.read(longest + 1))
        if len(content) > longest:
            raise SharedCorrupt(
                f"{self.address}/{path} is longer than {longest} bytes: it is not ours, delete it."
            )
        return content

    @contextmanager
    def _told(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise SharedUnavailable(
                f"There is no {path} in {self.address}: make that bucket or folder, or start the run "
                "where the index is, with the same PS_SHARED."
            ) from error
        except Exception as error:
            # each storage's library has errors of its own, and not all are an OSError
            raise SharedUnavailable(
                f"{self.address}/{path} cannot be used ({type(error).__name__}: {error}): "
                "check PS_SHARED and the rights to it."
            ) from error


def _protocols(files: Any) -> set[str]:
    return {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)


def _digest_name(digest: str) -> str:
    """A digest as a file's name: nothing else gets into a path."""
    if not DIGEST.fullmatch(digest):
        raise SharedCorrupt(f"{digest[:80]!r} is no SHA-256: publish the index anew by an ingest.")
    return digest
