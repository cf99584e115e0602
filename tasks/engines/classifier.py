"""Classifier: the scanner's model, run one window at a time, with the state that its heads read.

The model is quantised by the largest value of a run, so a window among others gets a score that depends
on them. Alone it gets the score of the scanner's own entry point, whatever else is scanned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.onnx_session import open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

__all__ = ["STATE", "Classifier", "Outcome", "empty_state"]

STATE = 384
"""Length of a state."""
# Padding moves the scores too: a window is padded to the first of these widths, as the scanner does.
WIDTHS = (32, 64, 128, 256)
MIN_TEXT = 10
DECORATION = re.compile(r"([^\w\s])\1{3,}")
# The mean over a window's tokens, from which both heads are computed.
POOLED = b"/Cast_1_output_0"

# The scanner's rule for noise such as rules and boxes, on which its model says something arbitrary.
LEAST_TOKENS = 3
MOST_DISTINCT = 4
DOMINANT_SHARE = 2 / 3


def empty_state() -> NDArray[np.float32]:
    """The state of a window that was not read."""
    return np.zeros(STATE, dtype=np.float32)


@dataclass(frozen=True)
class Outcome:
    """What the model says of one window; all zero for a window that is too short or is noise."""

    main: float = 0.0
    aux: float = 0.0
    state: NDArray[np.float32] = field(default_factory=empty_state)
    """Unit vector of length STATE: what the window is about, as far as injections go."""


class Classifier:
    """The scanner's model and tokenizer, loaded from its folder.

    Args:
        folder: holds model_quantized.onnx and tokenizer.json, already verified.
        temperature: that both logits are divided by.
    """

    def __init__(self, folder: Path, temperature: float) -> None:
        from tokenizers import Tokenizer

        self.temperature = temperature
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._unknown = self.tokenizer.token_to_id("[UNK]")
        self._session = _session((folder / "model_quantized.onnx").read_bytes())

    def read(self, window: str) -> Outcome:
        """Both heads' scores in [0, 1], and the state; raises ValueError for what the model cannot read.

        Windows of fewer than ten characters are left unread, as the scanner does.
        """
        normalised = _normalised(window)
        if len(normalised) < MIN_TEXT:
            return Outcome()
        ids = self.tokenizer.encode(normalised).ids
        if len(ids) > WIDTHS[-1]:
            raise ValueError(f"a window has {len(ids)} tokens")
        if _is_noise(ids[1:-1], self._unknown):
            return Outcome()
        row = np.zeros((1, next(width for width in WIDTHS if len(ids) <= width)), dtype=np.int64)
        mask = np.zeros_like(row)
        row[0, : len(ids)], mask[0, : len(ids)] = ids, 1
        logits, pooled = self._session.run(None, {"input_ids": row, "attention_mask": mask})
        if not (np.isfinite(logits).all() and np.isfinite(pooled).all()):
            raise ValueError("a score is not finite")
        main, aux = 1 / (1 + np.exp(-np.asarray(logits[0], dtype=np.float64) / self.temperature))
        state = np.asarray(pooled[0], dtype=np.float32)
        return Outcome(float(main), float(aux), state / max(float(np.linalg.norm(state)), 1e-9))


def _normalised(window: str) -> str:
    """The text as the scanner gives it to its model."""
    from stackone_defender.sanitizers.normalizer import normalize_unicode
    from stackone_defender.utils.boundary import strip_boundary_patterns

    return DECORATION.sub(r"\1\1\1", strip_boundary_patterns(normalize_unicode(window)))


def _is_noise(tokens: Sequence[int], unknown: int | None) -> bool:
    """Few distinct tokens, one of them most of the text, and that one not an unknown word."""
    counts = Counter(tokens)
    if len(tokens) < LEAST_TOKENS or len(counts) > MOST_DISTINCT:
        return False
    token, count = counts.most_common(1)[0]
    return count / len(tokens) >= DOMINANT_SHARE and token != unknown


def _session(model: bytes) -> InferenceSession:
    # What is appended to a serialised protobuf message is merged into it, here one more output of the
    # graph (ModelProto.graph = 7, GraphProto.output = 12, ValueInfoProto.name = 1 and type = 2, float).
    output = _field(1, POOLED) + _field(2, _field(1, b"\x08\x01"))
    model += _field(7, _field(12, output))
    return open_session(model, spinning=True)


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field of fewer than 128 bytes, in protobuf's wire format."""
    return bytes([number << 3 | 2, len(content)]) + content
