"""Guard: the handle that judges texts with. It owns the scanner and the fitted heads."""

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
from pickysteve.tasks.engines.classifier import STATE
from pickysteve.tasks.engines.defender import Defender, Scan
from pickysteve.tasks.engines.dossier import DOCUMENT_FEATURES
from pickysteve.tasks.engines.evidence import EVIDENCE_VERSION, FEATURES, Window, features_of, windows_of
from pickysteve.tasks.engines.views import Reading, Views, read_views

__all__ = [
    "CLOSER_WINDOWS",
    "GRAY",
    "Guard",
    "RequestReading",
    "ScoredWindow",
    "head_scores",
    "passages_of",
    "read_closer",
    "read_evidence",
    "request_matrix",
]

GRAY = 0.15
"""A window that scores this much is read again, passage by passage."""
GRAY_MIXED = 0.005
"""The same for a window of two languages: the words of one vouch for the other."""
CLOSER_WINDOWS = 2
RAW = "raw"
PASSAGE_CHARACTERS = 24, 160
"""A passage is at least and about at most this long."""
SENTENCE_START = re.compile(r"(?<=[.!?;:。！？؟।])\s*(?=\S)|\n+(?=\S)")
WORD_START = re.compile(r"(?<=\s)(?=\S)")


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

    def __init__(self, heads: GateHeads | None = None) -> None:
        self.defender = Defender()
        self._given = heads

    @cached_property
    def heads(self) -> GateHeads:
        """The fitted heads; raises CalibrationMismatch when they were fitted for other models."""
        heads = self._given or read_gate_heads()
        fitted = (heads.scanner, heads.evidence, *heads.request.features, *heads.document.features)
        if fitted != (self.defender.fingerprint, EVIDENCE_VERSION, *FEATURES, *DOCUMENT_FEATURES):
            raise CalibrationMismatch(
                'gate.json was fitted for another scanner or evidence: run "pickysteve gate calibrate".'
            )
        return heads

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever a score could: scanner, readings, lexicon and heads."""
        return sha256(f"{self.defender.fingerprint} {self.heads.digest}".encode()).hexdigest()

    def read_request(self, text: str) -> RequestReading:
        """Score every window of every reading of a text that `unreadable` has let through."""
        scan, windows = read_evidence(text, self.defender)
        if not scan.covered:
            return RequestReading((), covered=False, reason=scan.reason)
        scored = self._scored(windows)
        block = self.heads.request.block
        gray = [s.window for s in scored if _doubtful(s) and s.score < block][:CLOSER_WINDOWS]
        if gray and scored[0].score < block:
            scored = self._scored([*windows, *read_closer(gray, self.defender)])
        return RequestReading(scored, covered=True)

    def _scored(self, windows: Sequence[Window]) -> tuple[ScoredWindow, ...]:
        scores = head_scores(self.heads.request, request_matrix(windows))
        ranked = [ScoredWindow(float(s), window) for s, window in zip(scores, windows, strict=True)]
        return tuple(sorted(ranked, key=lambda scored: -scored.score))


def _doubtful(scored: ScoredWindow) -> bool:
    mixed = 0 < scored.window.foreign_words < 1
    return scored.score >= (GRAY_MIXED if mixed else GRAY)


def head_scores(head: Head, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of an attack for each row of features."""
    utilities = features @ head.weights + head.constant
    return np.asarray(1 / (1 + np.exp(-np.clip(utilities, -500, 500))))


def request_matrix(windows: Sequence[Window]) -> NDArray[np.float64]:
    """Features and state of each window; the classifier knows little of scripts other than Latin."""
    if not windows:
        return np.zeros((0, len(FEATURES) + STATE))
    features = np.stack([features_of(window) for window in windows])
    latin = 1 - features[:, [FEATURES.index("foreign_script")]]
    return np.hstack([features, np.stack([window.passage.state for window in windows]) * latin])


def read_evidence(text: str, defender: Defender) -> tuple[Scan, tuple[Window, ...]]:
    """All windows of all readings of a request."""
    views = read_views(text)
    scan, windows = windows_of(views, defender)
    if not views.complete:
        return Scan(scan.score, scan.tier1_high, (), False, "the text has more readings than may be read"), ()
    return scan, _distinct(windows)


def _distinct(windows: Sequence[Window]) -> tuple[Window, ...]:
    return tuple({(window.kind, window.passage.text): window for window in windows}.values())


def read_closer(windows: Sequence[Window], defender: Defender) -> tuple[Window, ...]:
    """The passages of windows, each alone: an ordinary text around an attack no longer softens it.

    Raw passages are read in every reading, as a disguise may show only where it stands alone.
    """
    readings = [
        reading
        for window in windows
        for passage in passages_of(window.passage.text)
        for reading in (
            (Reading(window.kind, passage),) if window.kind != RAW else read_views(passage).readings
        )
    ]
    return _distinct(windows_of(Views(tuple(readings)), defender)[1]) if readings else ()


def passages_of(text: str) -> Iterator[str]:
    """Every sentence, and every two and three neighbours; never the whole."""
    cuts = [*_cuts(text), len(text)]
    pairs = [(begin, end) for size in (1, 2, 3) for begin, end in zip(cuts, cuts[size:], strict=False)]
    passages = (text[begin:end].strip() for begin, end in pairs if end - begin < len(text))
    yield from dict.fromkeys(passage for passage in passages if passage)


def _cuts(text: str) -> Iterator[int]:
    """Where passages begin: at sentences, or at words where sentences are long."""
    shortest, longest = PASSAGE_CHARACTERS
    words = [match.end() for match in WORD_START.finditer(text)]
    sentences = [match.end() for match in SENTENCE_START.finditer(text)]
    yield (last := 0)
    for at in (*sentences, len(text)):
        for word in words:
            if last + longest <= word <= at - shortest:
                yield (last := word)
        if last + shortest <= at <= len(text) - shortest:
            yield (last := at)
