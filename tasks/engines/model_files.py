"""Files of open models: a folder of one's own, or a repository of the hub brought into the local cache.

Only configurations, tokenizers and safetensors are taken: nothing that could run code when it is loaded.
"""

from __future__ import annotations

import os
import re
from functools import cached_property, lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from threading import Lock

from pickysteve.errors import ModelUnavailable

__all__ = ["LocalModel", "files_digest", "model_folder", "model_label", "quiet_loading"]

TAKEN = ("*.json", "*.safetensors", "*.txt", "*.model")
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
DIGITS = 16


def model_label(name: str) -> str:
    """The last part of a name or path."""
    return Path(name).name


def model_folder(name: str) -> Path:
    """The folder of a model, brought from the hub where it is neither a path nor in the cache.

    Raises ModelUnavailable for a folder that is not there or holds no safetensors, and for a repository
    that cannot be brought.
    """
    given = Path(name).expanduser()
    if given.is_dir():
        return _with_weights(given)
    if not HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelUnavailable(f'There is no folder "{name}": name one with a model, or a model of the hub.')
    cached = _snapshot(name, local=True)
    if cached and any(cached.glob("*.safetensors")):
        return cached
    return _with_weights(_snapshot(name, local=False) or given)


def _snapshot(name: str, *, local: bool) -> Path | None:
    import httpx
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(TAKEN), local_files_only=local))
    except (OSError, ValueError, httpx.HTTPError) as error:
        if local:
            return None
        raise ModelUnavailable(
            f'The model "{name}" is neither a folder here nor could it be brought from the hub '
            f"({type(error).__name__}): correct its name, go online once, or name a local folder."
        ) from error


def _with_weights(folder: Path) -> Path:
    if not any(folder.rglob("*.safetensors")):
        raise ModelUnavailable(
            f'"{folder}" holds no *.safetensors: save the model in that format, as others can run code.'
        )
    return folder


def quiet_loading() -> None:
    """Make torch models load without progress bars and without a warning for each thread that asks."""
    from transformers.utils import logging

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def files_digest(folder: Path) -> str:
    """The start of a SHA-256 over the files that a model is loaded from: changes with any of them."""
    found = sorted(path for pattern in TAKEN for path in folder.rglob(pattern) if path.is_file())
    stamps = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found)
    return _digest(folder, stamps)


@lru_cache(maxsize=16)
def _digest(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    digest = sha256()
    for path, *_ in stamps:
        digest.update(Path(path).relative_to(folder).as_posix().encode() + b"\0")
        with Path(path).open("rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return digest.hexdigest()[:DIGITS]


class LocalModel:
    """An open model by its name: where its files lie, and what they are. Making one is cheap."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._one_at_a_time = Lock()

    @cached_property
    def folder(self) -> Path:
        """Where the weights lie; raises ModelUnavailable."""
        return model_folder(self.name)

    @cached_property
    def fingerprint(self) -> str:
        """Name and digest of the files: what a calibration is made for."""
        return f"{model_label(self.name)}@{files_digest(self.folder)}"
