"""Cross-encoders: FlagReranker on checkpoints that the tests make, loaded as those of the hub are."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from pickysteve.calibration.fitted import uncalibrated
from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.cross_encoder import BGE_BASE, CrossEncoder, PairScorer, unit_passage

QUERY = "review my rust endpoint"
PASSAGES = ["Rust review of the borrow checker", "slow database query", "brand voice and tone " * 60]


@pytest.fixture(scope="module")
def scorer(tiny_reranker: Path) -> PairScorer:
    return PairScorer(str(tiny_reranker))


@pytest.fixture(scope="module")
def index(sketch: Any, index_of: Any) -> Any:
    bodies = {"apples": "How to design a rest api.", "boats": "Rust review.", "clocks": "Tone of a brand."}
    directions = {"apples": (1, 0, 0), "boats": (0, 1, 0), "clocks": (0, 0, 1)}
    return index_of(*(sketch(name, {name: directions[name]}, {name: bodies[name]}) for name in bodies))


def calibrated(slope: float, constant: float) -> Any:
    fitted = uncalibrated(encoder="e", scoring="1", reranker="r")
    scale = fitted.without_examples.model_copy(update={"features": {"logit": slope}, "constant": constant})
    return fitted.model_copy(update={"without_examples": scale, "with_examples": scale})


def test_the_logits_are_those_of_the_model_itself(scorer: PairScorer, tiny_reranker: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_reranker)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_reranker).eval()
    with torch.no_grad():
        direct = [float(model(**tokenizer(QUERY, p, return_tensors="pt")).logits) for p in PASSAGES[:2]]
    assert scorer.logits(QUERY, PASSAGES[:2]) == pytest.approx(direct, abs=1e-5)


def test_a_pair_has_one_score_whatever_is_read_with_it(scorer: PairScorer) -> None:
    many = PASSAGES * 30
    together = scorer.logits(QUERY, many)
    assert together.shape == (90,) and np.ptp(together[:3]) > 0.1
    assert together == pytest.approx(np.tile(scorer.logits(QUERY, PASSAGES), 30), abs=1e-5)
    assert scorer.logits(QUERY, []).shape == (0,)


def test_no_progress_bar_is_drawn(scorer: PairScorer, capfd: pytest.CaptureFixture[str]) -> None:
    scorer.logits(QUERY, PASSAGES * 30)
    assert capfd.readouterr() == ("", "")


def test_only_the_candidates_are_read_and_scored(scorer: PairScorer, index: Any) -> None:
    rows = np.array([2, 0])
    scores, features = CrossEncoder(scorer, calibrated(2.0, -1.0)).scores(QUERY, (), index, rows)
    logits = scorer.logits(QUERY, [unit_passage(index.unit(index.unit_ids[row])) for row in rows])
    assert scores[rows] == pytest.approx(1 / (1 + np.exp(-(2 * logits - 1))), abs=1e-5)
    assert scores[1] == 0
    assert features.names == ("logit",)
    assert features.values[rows, 0] == pytest.approx(logits, abs=1e-5)


def test_without_a_choice_of_rows_every_unit_is_read(scorer: PairScorer, index: Any) -> None:
    scores, _ = CrossEncoder(scorer, calibrated(1.0, 0.0)).scores(QUERY, (), index)
    assert (scores > 0).all()


def test_the_fingerprint_follows_weights_and_calibration(scorer: PairScorer, tmp_path: Path) -> None:
    twin = PairScorer(str(shutil.copytree(scorer.folder, tmp_path / scorer.folder.name)))
    other = PairScorer(str(tiny_models.save_cross_encoder(tmp_path / "other", seed=2)))
    assert twin.fingerprint == scorer.fingerprint != other.fingerprint
    prints = {
        CrossEncoder(one, fitted).fingerprint
        for one in (scorer, other)
        for fitted in (calibrated(1.0, 0.0), calibrated(1.0, 0.1))
    }
    assert len(prints) == 4


def test_a_name_of_the_hub_is_loaded_by_the_same_path(
    tiny_reranker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the hub's cache, laid out as a download leaves it: the files of the named default."""
    place = tmp_path / f"models--{BGE_BASE.replace('/', '--')}"
    revision = "0" * 40
    shutil.copytree(tiny_reranker, place / "snapshots" / revision)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(revision)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    named, local = PairScorer(BGE_BASE), PairScorer(str(tiny_reranker))
    assert named.folder == place / "snapshots" / revision
    assert named.fingerprint.startswith("bge-reranker-base@")
    assert named.logits(QUERY, PASSAGES) == pytest.approx(local.logits(QUERY, PASSAGES), abs=1e-6)


def test_a_model_of_the_hub_that_cannot_be_brought_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailable, match=r"bge-reranker-base.*go online once, or name a local folder"):
        PairScorer(BGE_BASE).logits(QUERY, PASSAGES)


def test_weights_that_could_run_code_are_refused(tiny_reranker: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_reranker, tmp_path / "pickled"))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match=r"holds no \*\.safetensors"):
        PairScorer(str(folder)).logits(QUERY, PASSAGES)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/model", "a/b/c"])
def test_a_folder_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(ModelUnavailable, match=f'There is no folder "{name}"'):
        PairScorer(name).logits(QUERY, PASSAGES)


def test_a_model_with_several_classes_is_no_reranker(tmp_path: Path) -> None:
    folder = tiny_models.save_cross_encoder(tmp_path / "three", classes=3)
    with pytest.raises(ModelUnavailable, match="has 3 classes"):
        PairScorer(str(folder)).logits(QUERY, PASSAGES)


def test_damaged_weights_are_named(tiny_reranker: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_reranker, tmp_path / "damaged"))
    (folder / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(ModelUnavailable, match="cannot be loaded as a cross-encoder"):
        PairScorer(str(folder)).logits(QUERY, PASSAGES)


def test_without_the_package_the_extra_is_named(tiny_reranker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "FlagEmbedding", None)
    with pytest.raises(ModelUnavailable, match=r"pickysteve\[local\]"):
        PairScorer(str(tiny_reranker)).logits(QUERY, PASSAGES)
