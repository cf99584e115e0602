from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.embedder import BATCH_TOKENS, MAX_PADDING, MEMO_TEXTS, MiniLM, _batches
from pickysteve.tasks.engines.export import minilm_weights

TEXTS = (
    "",
    "a",
    "The borrow checker rejects my code.",
    "Why is my Postgres query slow after the upgrade?",
    "ALL CAPS AND numbers 12345 67890",
    "Ünïcödé, 東京, emoji 🎉 and a zero\u200bwidth space",
    "def f(x):\n    return {k: v for k, v in x.items() if v is not None}",
    "plan the launch " * 20,
    "long and varied: " + " ".join(f"word{n} about topic {n % 7}" for n in range(150)),
    "token " * 2000,
    "x" * 3000,
    "a sentence that ends exactly. " * 36,
)


def test_vectors_are_those_of_sentence_transformers(encoder: MiniLM) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        reference = SentenceTransformer(str(minilm_weights()), device="cpu")
        reference.max_seq_length = 256
        expected = reference.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    cosines = (encoder.encode(TEXTS) * expected).sum(axis=1)
    assert cosines.min() >= 0.999


def test_vectors_have_length_one(encoder: MiniLM) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours(encoder: MiniLM) -> None:
    forward = MiniLM(encoder.folder).encode(TEXTS)
    backward = MiniLM(encoder.folder).encode(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(forward, backward, atol=1e-5)
    alone = np.stack([MiniLM._encode(encoder, [text])[0] for text in TEXTS[:4]])
    np.testing.assert_allclose(forward[:4], alone, atol=1e-5)


def test_the_memo_gives_the_same_vectors(encoder: MiniLM) -> None:
    first = encoder.encode(["one text", "two texts"])
    np.testing.assert_array_equal(encoder.encode(["two texts", "one text", "two texts"]), first[[1, 0, 1]])


def test_changing_a_returned_matrix_does_not_change_the_memo(encoder: MiniLM) -> None:
    first = encoder.encode(["a text that is remembered"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(encoder.encode(["a text that is remembered"]), kept)


def test_the_memo_holds_the_latest_texts_only(encoder: MiniLM) -> None:
    own = MiniLM(encoder.folder)
    own.encode([str(n) for n in range(MEMO_TEXTS)])
    own.encode(["newest"])
    assert len(own._memo) == MEMO_TEXTS
    assert "newest" in own._memo
    assert "0" not in own._memo


def test_no_texts_give_no_vectors(encoder: MiniLM) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimension)


@pytest.mark.parametrize(
    "lengths", [[1], [5, 5, 5], [256] * 40, list(range(2, 257)), [256, 2, 256, 2], [10_000, 1]]
)
def test_every_row_is_in_one_batch_with_little_padding(lengths: list[int]) -> None:
    batches = _batches(lengths)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        sizes = [lengths[row] for row in batch]
        assert max(sizes) <= MAX_PADDING * min(sizes)
        assert len(batch) == 1 or max(sizes) * len(batch) <= BATCH_TOKENS


@pytest.fixture
def exported(encoder: MiniLM, tmp_path: Path) -> Path:
    encoder.encode(["the export must be there"])
    return Path(shutil.copytree(encoder.folder, tmp_path / "export"))


def test_a_copied_export_is_as_good_as_the_first(exported: Path, encoder: MiniLM) -> None:
    np.testing.assert_allclose(MiniLM(exported).encode(["x"]), encoder.encode(["x"]), atol=1e-6)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["edited", "emptied", "removed"])
def test_a_tampered_export_is_refused_with_its_remedy(exported: Path, name: str, damage: str) -> None:
    file = exported / name
    if damage == "edited":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(bytes(content))
    elif damage == "emptied":
        file.write_bytes(b"")
    else:
        file.unlink()
    with pytest.raises(ModelUnavailable, match="delete that folder"):
        MiniLM(exported).encode(["x"])


@pytest.mark.parametrize("manifest", ["[]", "{}", "null", '{"files": {}, "seal": ""}', '{"files": []}'])
def test_a_manifest_of_another_shape_is_refused(exported: Path, manifest: str) -> None:
    (exported / "manifest.json").write_text(manifest)
    with pytest.raises(ModelUnavailable, match="delete that folder"):
        MiniLM(exported).encode(["x"])


def test_a_manifest_that_leaves_a_file_out_is_refused(exported: Path) -> None:
    manifest = json.loads((exported / "manifest.json").read_text())
    del manifest["files"]["tokenizer.json"]
    (exported / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelUnavailable, match="delete that folder"):
        MiniLM(exported).encode(["x"])


def test_a_memo_that_another_thread_replaces_meanwhile_loses_no_text(encoder: MiniLM) -> None:
    class Shared(MiniLM):
        def _encode(self, texts: list[str]) -> np.ndarray:
            vectors = super()._encode(texts)
            self._memo = {}
            return vectors

    shared = Shared(encoder.folder)
    shared._memo = {"known": shared.encode(["known"])[0]}
    np.testing.assert_allclose(shared.encode(["known", "new"]), encoder.encode(["known", "new"]), atol=1e-6)
