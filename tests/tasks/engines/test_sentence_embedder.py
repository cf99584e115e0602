"""Any sentence-transformers model as the encoder, on a checkpoint that the tests make."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.embedder import EmbedConfig, MiniLM, open_encoder
from pickysteve.tasks.engines.sentence_embedder import SentenceEmbedder

TEXTS = ["rust review", "slow database query", "rust review"]


@pytest.fixture(scope="module")
def tiny(tiny_encoder: Path) -> SentenceEmbedder:
    return SentenceEmbedder(str(tiny_encoder))


def test_the_settings_choose_the_encoder(tiny_encoder: Path) -> None:
    assert isinstance(open_encoder(EmbedConfig()), MiniLM)
    assert isinstance(open_encoder(EmbedConfig(model=str(tiny_encoder))), SentenceEmbedder)


def test_texts_become_unit_vectors_of_the_models_own(tiny: SentenceEmbedder, tiny_encoder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    vectors = tiny.encode(TEXTS)
    direct = SentenceTransformer(str(tiny_encoder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert (vectors.shape, vectors.dtype, tiny.dimension) == ((3, 16), np.float32, 16)
    assert vectors == pytest.approx(direct, abs=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_what_was_read_before_is_the_same_again(tiny: SentenceEmbedder) -> None:
    first = tiny.encode(["of a kind", *TEXTS])
    assert (tiny.encode(TEXTS) == first[1:]).all()
    assert tiny.encode([]).shape == (0, 16)


def test_the_fingerprint_follows_the_weights(tiny: SentenceEmbedder, tmp_path: Path) -> None:
    twin = SentenceEmbedder(str(shutil.copytree(tiny.folder, tmp_path / tiny.folder.name)))
    other = SentenceEmbedder(str(tiny_models.save_encoder(tmp_path / "other", seed=2)))
    assert twin.fingerprint == tiny.fingerprint != other.fingerprint


def test_what_is_no_encoder_is_named(tmp_path: Path, tiny_encoder: Path) -> None:
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "damaged"))
    (folder / "config.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="cannot be loaded as an encoder"):
        SentenceEmbedder(str(folder)).encode(TEXTS)
