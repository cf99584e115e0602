"""The files of cached results: where they are, for how long they count, and how they are taken away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from pickysteve.errors import SettingsInvalid

__all__ = ["CACHE_EXPIRATION", "CacheFile", "cache_folder", "list_results", "remove_results"]

CACHE_EXPIRATION = timedelta(days=1)
# a result by its key, of version 0.2.0 without the stage; and a draft that a stopped run left
OURS = re.compile(r"\.?(?:(?P<stage>[a-z]+(?:-[a-z]+)*)-)?[0-9a-f]{64}(?:\.[0-9a-f]{8})?")


class CacheFile(NamedTuple):
    """One result, or the draft of one."""

    path: Path
    stage: str
    """Empty for a result of an older version, which nobody reads any more."""
    size: int
    """In bytes."""
    written: float
    """Seconds since the epoch."""


def cache_folder() -> Path:
    """Where results are kept; deleting it clears the cache."""
    return user_cache_path("pickysteve") / "results"


def list_results(folder: Path) -> tuple[CacheFile, ...]:
    """The results in a folder, oldest first; nothing is opened, and what is not ours is not named.

    Raises SettingsInvalid for a folder that is a symbolic link: what it leads to may be anything.
    """
    if folder.is_symlink():
        raise SettingsInvalid(f'"{folder}" is a symbolic link: remove it, and set XDG_CACHE_HOME instead.')
    found = _results(folder) if folder.is_dir() else ()
    return tuple(sorted(found, key=lambda file: (file.written, file.path.name)))


def _results(folder: Path) -> Iterator[CacheFile]:
    for path in folder.iterdir():
        name = OURS.fullmatch(path.name)
        if name is None or path.is_symlink() or not path.is_file():
            continue
        try:
            status = path.lstat()
        except FileNotFoundError:
            # a run replaced its draft, or somebody else cleared it
            continue
        yield CacheFile(path, name["stage"] or "", status.st_size, status.st_mtime)


def remove_results(files: Iterable[CacheFile]) -> tuple[CacheFile, ...]:
    """Unlink them; returns those that were still there. A run that misses one computes it again."""
    return tuple(file for file in files if _unlinked(file.path))


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
