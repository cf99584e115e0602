"""Place: where the background engine of these settings listens, in a folder that is this account's alone."""

from __future__ import annotations

import json
import os
import stat
import warnings
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from platformdirs import user_runtime_path

from pickysteve.errors import EngineUnavailable
from pickysteve.flows.settings import Settings
from pickysteve.seal import operator_seal
from pickysteve.tasks.stage import source_digest

__all__ = ["Place", "engine_place", "has_unix_sockets"]


def has_unix_sockets() -> bool:
    """Whether engines can be shared here; on Windows each server opens its own."""
    return os.name == "posix"


@dataclass(frozen=True)
class Place:
    """The files of one engine."""

    folder: Path
    name: str

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        """Held by the engine as long as it lives: there is one, and a dead one leaves no lock."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """What it wrote to standard error."""
        return self.folder / f"{self.name}.log"


def engine_place(settings: Settings) -> Place:
    """Other settings or other code mean another engine.

    Raises EngineUnavailable when the folder is not this account's alone.
    """
    here = Path(__file__).resolve().parents[1]
    parts = {
        "settings": settings.model_dump(mode="json"),
        # masked above, and another key is another setting
        "key": operator_seal().sign("llm-key", settings.llm.api_key.get_secret_value().encode()),
        "code": source_digest([here, *(here.parent / name for name in ("flows", "tasks", "registry"))]),
    }
    name = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return Place(_private_folder(), name)


def _private_folder() -> Path:
    try:
        with warnings.catch_warnings():
            # agents seldom hand it on, and the folder that stands in for it is as private
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR is not set")
            folder = user_runtime_path("pickysteve")
    except PermissionError as error:
        raise EngineUnavailable(
            f"There is no private folder for sockets ({error}): set XDG_RUNTIME_DIR to one of yours."
        ) from error
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.lstat()
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not ours or status.st_mode & 0o077:
        raise EngineUnavailable(
            f'"{folder}" is not a folder that only this account can open: delete it, and it is made anew.'
        )
    return folder
