"""Guard: the handle that judges texts with. It owns the scanner, the encoder and the fitted heads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.logistic import GateHeads, Head, read_gate_heads
from pickysteve.errors import CalibrationMismatch
from pickysteve.tasks.engines.defender import Defender, Scan, prepare
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.evidence import EVIDENCE_VERSION, FEATURES, Window, features_of, windows_of
from pickysteve.tasks.engines.views import Reading, Views, read_views

__all__ = ["Guard", "RequestReading", "ScoredWindow", "head_scores", "read_evidence", "request_matrix"]

GRAY = 0.05
"""A short text that scores this much is read again from each of its sentences on."""
EDGE_CHARACTERS = 600
EDGES = 3
SENTENCE_START = re.compile(r"(?<=[.!?;:])\s+(?=\S)|\n+(?=\S)")


@dataclass(frozen=True)
class ScoredWindow:
    """A window of a reading and its calibrated score, in [0, 1]."""

    score: float
    window: Window


@dataclass(frozen=True)
class RequestReading:
    """All that was read of a request. `covered` is False when any of it went unread."""

    windows: tuple[ScoredWindow, ...]
    """Highest score first."""
    covered: bool
    reason: str = ""

    @property
    def score(self) -> float:
        """The highest score of any window."""
        return self.windows[0].score if self.windows else 0.0


class Guard:
    """Reads requests as the fitted head sees them. Making one is cheap; models load at the first use."""

    def __init__(self, encoder: Embedder, heads: GateHeads | None = None) -> None:
        self.defender = Defender()
        self.encoder = encoder
        self._given = heads

    @cached_property
    def heads(self) -> GateHeads:
        """The fitted heads; raises CalibrationMismatch when they were fitted for other models."""
        heads = self._given or read_gate_heads()
        found = (self.encoder.fingerprint, self.defender.fingerprint, EVIDENCE_VERSION)
        if (heads.encoder, heads.scanner, heads.evidence) != found:
            raise CalibrationMismatch(
                "gate.json was fitted for another encoder, scanner or evidence: "
                'run "pickysteve gate calibrate".'
            )
        return heads

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever a score could: scanner, encoder, readings, lexicon and heads."""
        return sha256(f"{self.defender.fingerprint} {self.heads.digest}".encode()).hexdigest()

    def read_request(self, text: str) -> RequestReading:
        """Score every window of every reading of a text that `unreadable` has let through."""
        scan, windows = read_evidence(text, self.defender)
        if not scan.covered:
            return RequestReading((), covered=False, reason=scan.reason)
        scored = self._scored(windows)
        if GRAY <= scored[0].score < self.heads.request.block:
            scored = self._scored([*windows, *_window_edges(windows, self.defender)])
        return RequestReading(scored, covered=True)

    def _scored(self, windows: Sequence[Window]) -> tuple[ScoredWindow, ...]:
        scores = head_scores(self.heads.request, request_matrix(windows, self.encoder))
        ranked = [ScoredWindow(float(s), window) for s, window in zip(scores, windows, strict=True)]
        return tuple(sorted(ranked, key=lambda scored: -scored.score))


def head_scores(head: Head, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of an attack for each row of features."""
    utilities = features @ head.weights + head.constant
    return np.asarray(1 / (1 + np.exp(-np.clip(utilities, -500, 500))))


def request_matrix(windows: Sequence[Window], encoder: Embedder) -> NDArray[np.float64]:
    """Features and embedding of each window; the encoder knows little of scripts other than Latin."""
    features = np.stack([features_of(window) for window in windows])
    latin = 1 - features[:, [FEATURES.index("foreign_script")]]
    return np.hstack([features, encoder.encode([window.passage.text for window in windows]) * latin])


def read_evidence(text: str, defender: Defender) -> tuple[Scan, tuple[Window, ...]]:
    """All windows of a request; a text of several windows is also read from its edges.

    A payload at the end of a long text is thus seen without what stands before it.
    """
    views = read_views(text)
    scan, windows = windows_of(views, defender)
    if not views.complete:
        return Scan(scan.score, scan.tier1_high, (), False, "the text has more readings than may be read"), ()
    if scan.covered and len(scan.passages) > 1:
        edges = tuple(Reading("raw", edge) for edge in _edges(prepare(text)))
        scan_of_edges, more = windows_of(Views(edges), defender) if edges else (scan, ())
        return scan_of_edges, _distinct(windows + more)
    return scan, _distinct(windows)


def _distinct(windows: Sequence[Window]) -> tuple[Window, ...]:
    return tuple({(window.kind, window.passage.text): window for window in windows}.values())


def _window_edges(windows: Sequence[Window], defender: Defender) -> tuple[Window, ...]:
    edges = [Reading(window.kind, edge) for window in windows[:1] for edge in _edges(window.passage.text)]
    return windows_of(Views(tuple(edges)), defender)[1] if edges else ()


def _edges(text: str) -> Iterator[str]:
    """The last sentences from each sentence on, and the first ones up to each."""
    starts = [match.end() for match in SENTENCE_START.finditer(text)]
    last = [at for at in starts if at >= len(text) - EDGE_CHARACTERS][-EDGES:]
    first = [at for at in starts if at <= EDGE_CHARACTERS][:EDGES]
    yield from (text[at:] for at in last)
    yield from (text[:at].rstrip() for at in first)
