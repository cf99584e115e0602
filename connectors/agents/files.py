"""Files: reads and replaces an agent's file without losing what stands in it.

A replacement is whole or does not happen; a link stays a link; mode and owner stay; a copy is kept.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pickysteve.errors import AgentConfigInvalid

__all__ = [
    "keep_copy",
    "made_folders",
    "read_file",
    "refuse_read_only",
    "remove_file",
    "replace_file",
    "true_path",
]

NEW_FILE_MODE = 0o600


def true_path(path: Path, inside: Path | None = None) -> Path:
    """The file behind a path and its links. With `inside`, a link that leads out of that folder is refused.

    Raises AgentConfigInvalid for a link to nothing and for what is not a plain file.
    """
    with _told(path):
        real = path.resolve()
        if path.is_symlink() and not real.exists():
            raise AgentConfigInvalid(f'"{path}" is a link to nothing: mend or delete the link.')
        if real.exists() and not real.is_file():
            raise AgentConfigInvalid(f'"{path}" is no file: move it away.')
    if inside is not None and not real.is_relative_to(inside.resolve()):
        raise AgentConfigInvalid(f'"{path}" leads out of this folder, to "{real}": edit that file instead.')
    return real


def read_file(path: Path) -> bytes | None:
    """The bytes of a file; None when there is none."""
    with _told(path):
        return path.read_bytes() if path.exists() else None


def replace_file(path: Path, expected: bytes | None, content: bytes) -> None:
    """Write a file anew, or for the first time; `expected` is what it held when the change was made.

    Raises AgentConfigInvalid when it is read-only, cannot be written, or has changed since.
    """
    refuse_read_only(path)
    with _told(path):
        status = path.stat() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as draft:
                draft.write(content)
                draft.flush()
                os.fsync(draft.fileno())
            _like(Path(name), status)
            if read_file(path) != expected:
                raise AgentConfigInvalid(f'"{path}" changed in the meantime: run this again.')
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)


def refuse_read_only(path: Path) -> None:
    """Raises AgentConfigInvalid for a file that its owner may not write, also when we could."""
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise AgentConfigInvalid(f'"{path}" is read-only: run "chmod u+w" on it, or edit its source.')


def _like(draft: Path, status: os.stat_result | None) -> None:
    """Give a draft the mode and the owner of the file that it replaces."""
    if status is None:
        draft.chmod(NEW_FILE_MODE)
        return
    if os.name == "posix":
        ours = draft.stat()
        if (ours.st_uid, ours.st_gid) != (status.st_uid, status.st_gid):
            os.chown(draft, status.st_uid, status.st_gid)
    draft.chmod(stat.S_IMODE(status.st_mode))


def keep_copy(path: Path, content: bytes, now: datetime) -> Path:
    """Keep what a file holds beside it, under the time; a second copy of the same second gets a number."""
    stamp = now.strftime("%Y%m%dT%H%M%S")
    with _told(path):
        for number in range(1, 100):
            suffix = "" if number == 1 else f"-{number}"
            copy = path.with_name(f"{path.name}.pickysteve-{stamp}{suffix}.bak")
            try:
                descriptor = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, NEW_FILE_MODE)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            _like(copy, path.stat())
            return copy
    raise AgentConfigInvalid(f'There are too many copies beside "{path}": delete the older ones.')


def made_folders(path: Path) -> tuple[Path, ...]:
    """The folders that writing a file will make, innermost first."""
    return tuple(folder for folder in path.parents if not folder.exists())


def remove_file(path: Path, folders: tuple[Path, ...]) -> None:
    """Delete a file that we made, and the folders that we made for it, as far as they are empty."""
    with _told(path):
        path.unlink()
    for folder in folders:
        if not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AgentConfigInvalid(
            f'"{error.filename or path}" cannot be used ({error.strerror}): check its permissions.'
        ) from error
