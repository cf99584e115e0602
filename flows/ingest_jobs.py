"""The costly part of an ingest in any process: words in, verdicts and vectors out as plain JSON.

A batch carries its texts and not their paths: many come out of archives, repositories or documents that only
the caller has read. Batches are small, and whoever asked keeps the verdicts, in its own sealed store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from pickysteve.errors import WorkerMismatch
from pickysteve.flows.opened import opened_once
from pickysteve.registry.models import Value, Verdict
from pickysteve.registry.verdicts import TextSurface
from pickysteve.tasks.engines.embedder import EmbedConfig, Embedder, open_encoder
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, judge_document, judge_note

__all__ = [
    "IngestJob",
    "encode_batch",
    "judge_batch",
    "judging_batches",
    "read_vectors",
    "read_verdicts",
    "text_words",
]

BATCH_TEXTS = 16
BATCH_CHARACTERS = 100_000

Judged = tuple[TextSurface, Verdict]
_TEXTS: TypeAdapter[list[str]] = TypeAdapter(list[str])
_JUDGED: TypeAdapter[list[Judged]] = TypeAdapter(list[Judged])


class IngestJob(Value):
    """What a process needs to judge and to encode: no secret, as no model's host is asked from there."""

    gate: GateConfig
    embed: EmbedConfig
    ingest: str
    """A name for this ingest: what was opened for another may be out of date."""


@dataclass(frozen=True)
class _Readers:
    encoder: Embedder
    defender: Guard
    gate: GateConfig


def judging_batches(texts: Sequence[tuple[str, TextSurface]]) -> Iterator[list[tuple[str, TextSurface]]]:
    """Cut into batches of a few texts, and of few characters unless one text alone has more."""
    batch: list[tuple[str, TextSurface]] = []
    size = 0
    for text, surface in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append((text, surface))
        size += len(text)
    if batch:
        yield batch


def text_words(texts: Sequence[object]) -> str:
    """A batch as JSON; a lone surrogate stays what it is."""
    return json.dumps(texts)


def judge_batch(batch: str, texts: str, job: str) -> str:
    """Judge texts (JSON, pairs of text and surface) by the gate alone; returns pairs of surface and verdict.

    `batch` is a name for the task run.
    """
    readers = _readers(job)
    judged: list[Any] = []
    for text, surface in json.loads(texts):
        judge = judge_document if surface == "document" else judge_note
        judged.append((surface, judge(text, readers.defender, readers.gate).model_dump()))
    return json.dumps(judged)


def encode_batch(batch: str, texts: str, job: str) -> str:
    """Encode texts (JSON) in one call; returns the batch's name, the encoder's fingerprint and the vectors.

    The vectors are numbers of float32, which JSON carries exactly.
    """
    encoder = _readers(job).encoder
    vectors = encoder.encode(_TEXTS.validate_json(texts))
    return json.dumps({"batch": batch, "encoder": encoder.fingerprint, "vectors": vectors.tolist()})


def read_verdicts(words: str) -> list[Judged]:
    """What judge_batch returned; raises WorkerMismatch for anything else."""
    try:
        return _JUDGED.validate_python(json.loads(words))
    except (ValueError, TypeError, ValidationError) as error:
        raise _unreadable() from error


def read_vectors(words: str, encoder: Embedder, lengths: dict[str, int]) -> tuple[str, NDArray[np.float32]]:
    """Batch and vectors of encode_batch: (texts, dimension).

    Raises WorkerMismatch for those of another encoder, or of another shape than `lengths` says.
    """
    try:
        found = json.loads(words)
        batch, by = str(found["batch"]), str(found["encoder"])
        vectors = np.asarray(found["vectors"], np.float32)
    except (ValueError, TypeError, KeyError) as error:
        raise _unreadable() from error
    wanted = (lengths.get(batch, 0), encoder.dimension)
    if by != encoder.fingerprint or vectors.shape != wanted or not np.isfinite(vectors).all():
        raise WorkerMismatch(
            f"A worker encoded with {by[:80]} in the shape {vectors.shape}, where {encoder.fingerprint} in "
            f"{wanted} was asked for: install the same version and models on every machine."
        )
    return batch, vectors


def _readers(job: str) -> _Readers:
    return opened_once(f"ingest {sha256(job.encode()).hexdigest()}", lambda: _open(job))


def _open(words: str) -> _Readers:
    job = IngestJob.model_validate_json(words)
    return _Readers(open_encoder(job.embed), Guard(), job.gate)


def _unreadable() -> WorkerMismatch:
    return WorkerMismatch(
        "A worker's answer cannot be read: install the same version of PickySteve on every machine."
    )
