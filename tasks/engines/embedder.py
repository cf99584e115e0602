"""Encoders: texts in, unit vectors out. The default runs all-MiniLM-L6-v2 on ONNX Runtime.

Importing sentence-transformers costs 6 s and torch 2 s, so the default's weights are exported once
(see export.py) and the request path loads only onnxruntime and tokenizers.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, Field

from pickysteve.errors import ModelUnavailable
from pickysteve.seal import operator_seal
from pickysteve.tasks.engines.onnx_session import open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

__all__ = [
    "MINILM_SHA256",
    "EmbedConfig",
    "Embedder",
    "MiniLM",
    "RememberingEncoder",
    "Vectors",
    "minilm_folder",
    "open_encoder",
    "seal_files",
]

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors; the same bytes in two independent packages."""
EXPORT_VERSION = "1"
EXPORTED = ("model.onnx", "tokenizer.json")
MAX_TOKENS = 256
BATCH_TOKENS = 4096
MAX_PADDING = 1.25
MEMO_TEXTS = 256

Vectors = NDArray[np.float32]


class EmbedConfig(BaseModel):
    """Which encoder turns texts into vectors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(
        "", description="sentence-transformers model: a folder, or a name of the hub; none: all-MiniLM-L6-v2"
    )


class Embedder(Protocol):
    """Turns texts into unit vectors, so that a dot product is a cosine."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever a vector could."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text: float32, (len(texts), dimension)."""


def open_encoder(config: EmbedConfig) -> Embedder:
    """The encoder of the settings; its model loads at the first text."""
    if not config.model:
        return MiniLM()
    from pickysteve.tasks.engines.sentence_embedder import SentenceEmbedder

    return SentenceEmbedder(config.model)


def minilm_folder() -> Path:
    """Where the exported encoder is kept, in the user's cache."""
    return user_cache_path("pickysteve") / "models" / f"minilm-{MINILM_SHA256[:12]}-v{EXPORT_VERSION}"


class RememberingEncoder(ABC):
    """An encoder that keeps the vectors of the latest texts: the stages of one request share texts."""

    def __init__(self) -> None:
        self._memo: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text: (texts, dimension)."""
        # one look at the memo: another thread may replace it
        memo = self._memo
        new = [text for text in dict.fromkeys(texts) if text not in memo]
        fresh = dict(zip(new, self._encode(new), strict=True)) if new else {}
        vectors = [fresh[text] if text in fresh else memo[text] for text in texts]
        if len(new) <= MEMO_TEXTS:
            kept = list(memo.items())[-(MEMO_TEXTS - len(new)) or MEMO_TEXTS :]
            self._memo = {**dict(kept), **fresh}
        return np.stack(vectors) if vectors else np.zeros((0, self.dimension), np.float32)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each of at least one text."""


class MiniLM(RememberingEncoder):
    """all-MiniLM-L6-v2: mean pooling over at most 256 tokens, normalised (Reimers & Gurevych 2019).

    Made cheaply; the model is exported at its first use on a machine and loaded at its first use in
    a process.
    """

    dimension = 384
    fingerprint = f"minilm-{MINILM_SHA256[:12]}-onnx-v{EXPORT_VERSION}"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or minilm_folder()
        super().__init__()

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        encodings = self._tokenizer.encode_batch(list(texts))
        for batch in _batches([len(encoding.ids) for encoding in encodings]):
            vectors[batch] = self._run([encodings[row] for row in batch])
        return vectors

    def _run(self, encodings: Sequence[Any]) -> Vectors:
        width = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        (vectors,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._files / "tokenizer.json"))
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(str(self._files / "model.onnx"), spinning=False)

    @cached_property
    def _files(self) -> Path:
        """The folder with the exported files, made if missing and checked against its seal."""
        if not self.folder.exists():
            from pickysteve.tasks.engines.export import export_minilm

            export_minilm(self.folder)
        _check(self.folder)
        return self.folder


def _batches(lengths: list[int]) -> list[list[int]]:
    """Rows sorted by length and cut so that little of a batch is padding: time grows with padded tokens."""
    batches: list[list[int]] = []
    shortest = 0
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = not batches or (len(batches[-1]) + 1) * lengths[row] > BATCH_TOKENS
        if full or lengths[row] > MAX_PADDING * shortest:
            batches.append([])
            shortest = lengths[row]
        batches[-1].append(row)
    return batches


def seal_files(folder: Path) -> dict[str, Any]:
    """The manifest of exported files: their SHA-256, and our seal over them."""
    digests = {name: _digest(folder / name) for name in EXPORTED}
    signature = operator_seal().sign("encoder", json.dumps(digests, sort_keys=True).encode())
    return {"files": digests, "seal": signature}


def _check(folder: Path) -> None:
    try:
        genuine = json.loads((folder / "manifest.json").read_bytes()) == seal_files(folder)
    except (OSError, ValueError):
        genuine = False
    if not genuine:
        raise ModelUnavailable(
            f'The exported encoder in "{folder}" is not what was written there: '
            "delete that folder, and it is exported again."
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
