"""Records: what an agent's file was before us, so that an uninstall can give it back byte for byte.

A record is sealed and stands in the user's data folder. It holds digests and names, no content: that is in
the copy beside the file, and is used only when its digest is the one of the record.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, ValidationError

from pickysteve.seal import operator_seal

__all__ = ["Record", "digest", "forget", "recall", "remember"]

PURPOSE = "agent-config"


class Record(BaseModel):
    """One file: what it was, and what we made of it.

    `original` is the digest before us, "" when there was no file, and None when the user changed the file
    between two of our edits, so that there is no state to go back to.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    original: str | None
    written: str
    copy_name: str = ""
    folders: tuple[str, ...] = ()


def digest(content: bytes | None) -> str:
    """SHA-256 in hex; "" for a file that is not there."""
    return "" if content is None else sha256(content).hexdigest()


def _place(path: Path) -> Path:
    folder = user_data_path("pickysteve") / "connect"
    return folder / f"{sha256(os.fsencode(path)).hexdigest()[:32]}.json"


def remember(record: Record) -> None:
    """Keep a record, for this account's eyes only."""
    place = _place(Path(record.path))
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    body = record.model_dump_json()
    draft = place.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{operator_seal().sign(PURPOSE, body.encode())}\n{body}")
    draft.replace(place)


def recall(path: Path) -> Record | None:
    """The record of a file; None without one. One that does not verify is none: somebody else wrote it."""
    try:
        signature, body = _place(path).read_text(encoding="utf-8").split("\n", 1)
    except (FileNotFoundError, ValueError):
        return None
    if not operator_seal().verifies(PURPOSE, body.encode(), signature):
        return None
    try:
        record = Record.model_validate_json(body)
    except ValidationError:
        return None
    return record if record.path == str(path) else None


def forget(path: Path) -> None:
    """Delete the record of a file."""
    _place(path).unlink(missing_ok=True)
