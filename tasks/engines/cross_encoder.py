"""Cross-encoders: a model that reads request and text together, through FlagEmbedding's FlagReranker.

It reads the retrieved candidates and nothing else. What it gives is a raw logit, whose scale is its own;
a calibration made for these very weights turns it into the score of the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.fitted import Fitted
from pickysteve.calibration.logit import sigmoid
from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Unit
from pickysteve.tasks.engines.features import PairFeatures
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.model_files import LocalModel, quiet_loading
from pickysteve.tasks.engines.reranker import Rows
from pickysteve.tasks.values import Clause

if TYPE_CHECKING:
    from FlagEmbedding import FlagReranker

__all__ = ["BGE_BASE", "BGE_M3", "CROSS_SCALE", "CrossEncoder", "PairScorer", "unit_passage"]

BGE_BASE = "BAAI/bge-reranker-base"
BGE_M3 = "BAAI/bge-reranker-v2-m3"
CROSS_SCALE = "logit"
"""What a cross-encoder gives: the logit of its one class, unbounded."""
MAX_TOKENS = 512
BATCH_PAIRS = 32
PASSAGE_CHARACTERS = 2_500

Floats = NDArray[Any]


def unit_passage(unit: Unit) -> str:
    """What the model reads of a unit: what it says of itself, then the start of its text."""
    head = f"{unit.title.replace('-', ' ')}. {unit.description}".strip()
    return f"{head}\n{unit.body}"[:PASSAGE_CHARACTERS]


class PairScorer(LocalModel):
    """The weights: pairs of texts in, raw logits out. They load at the first pair."""

    @cached_property
    def _model(self) -> FlagReranker:
        quiet_loading()
        try:
            from FlagEmbedding import FlagReranker
        except ImportError as error:
            raise ModelUnavailable(
                f"The reranker {self.name} needs FlagEmbedding ({error}): "
                "run \"pip install 'pickysteve[local]'\"."
            ) from error
        try:
            model = FlagReranker(
                str(self.folder), use_fp16=False, devices="cpu", batch_size=BATCH_PAIRS, normalize=False
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelUnavailable(
                f'"{self.folder}" cannot be loaded as a cross-encoder ({type(error).__name__}): '
                "name a model for sequence classification with its tokenizer."
            ) from error
        if model.model.config.num_labels != 1:
            raise ModelUnavailable(
                f"The reranker {self.name} has {model.model.config.num_labels} classes: take one with a "
                "single score, such as BAAI/bge-reranker-base."
            )
        model.max_length = min(MAX_TOKENS, model.tokenizer.model_max_length)
        return model

    def logits(self, query: str, passages: Sequence[str]) -> Floats:
        """One raw logit a passage: (len(passages),); raises ModelUnavailable."""
        found: list[float] = []
        # less than a whole batch at a time: from there on it draws progress bars
        for start in range(0, len(passages), BATCH_PAIRS - 1):
            pairs = [(query, passage) for passage in passages[start : start + BATCH_PAIRS - 1]]
            # its tokenizer keeps state while it works
            with self._one_at_a_time:
                found += self._model.compute_score(pairs)
        logits = np.array(found, dtype=np.float64)
        if not np.isfinite(logits).all():
            raise ModelUnavailable(
                f"The reranker {self.name} gave a score that is no number: take another one."
            )
        return logits


class CrossEncoder:
    """A reranker: the logit of each candidate, rescaled by the calibration to [0, 1]."""

    def __init__(self, scorer: PairScorer, fitted: Fitted, degraded: str = "") -> None:
        self.scorer = scorer
        self.degraded = degraded
        self.weights = fitted.without_examples
        calibrated = sha256(fitted.model_dump_json().encode()).hexdigest()
        self.fingerprint = f"cross-encoder:{scorer.fingerprint}:{calibrated}"

    def scores(
        self,
        query: str,
        clauses: Sequence[Clause],
        index: SearchIndex,
        rows: Rows | None = None,
    ) -> tuple[Floats, PairFeatures]:
        """Scores of the units in `rows`, by default of all; the others keep 0, for they were not read."""
        wanted = np.arange(len(index.unit_ids)) if rows is None else rows
        logits = np.zeros(len(index.unit_ids))
        units = [index.unit(index.unit_ids[row]) for row in wanted]
        logits[wanted] = self.scorer.logits(query, [unit_passage(unit) for unit in units])
        scores = np.zeros(len(index.unit_ids))
        utilities = self.weights.features[CROSS_SCALE] * logits[wanted] + self.weights.constant
        scores[wanted] = sigmoid(utilities)
        nothing = np.zeros(len(index.unit_ids), dtype=bool)
        return scores, PairFeatures((CROSS_SCALE,), logits[:, None], nothing)
