"""Any sentence-transformers model as the encoder: from a folder or from the hub, on torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.embedder import RememberingEncoder, Vectors
from pickysteve.tasks.engines.model_files import LocalModel, quiet_loading

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["SentenceEmbedder"]

BATCH = 32


class SentenceEmbedder(LocalModel, RememberingEncoder):
    """Encodes with the model's own pooling and its longest input. It loads at its first text.

    Requests and texts are encoded alike: a prompt that a model wants before a query is not given.
    """

    def __init__(self, name: str) -> None:
        LocalModel.__init__(self, name)
        RememberingEncoder.__init__(self)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._model.get_embedding_dimension() or self.encode(["length"]).shape[1])

    @cached_property
    def _model(self) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        quiet_loading()
        try:
            return SentenceTransformer(
                str(self.folder),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            raise ModelUnavailable(
                f'"{self.folder}" cannot be loaded as an encoder ({type(error).__name__}): '
                "name a sentence-transformers model."
            ) from error

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._one_at_a_time:
            found = self._model.encode(
                list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(found, dtype=np.float32)
