"""Defender: StackOne's prompt-injection scanner, made to read every character and to fail closed.

The scanner alone reads the first 10,000 characters, passes text that its model failed on, and
needs minutes for a page of newlines. So the text is prepared and cut into windows here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pickysteve.errors import GateUnavailable
from pickysteve.tasks.engines.classifier import Classifier, empty_state
from pickysteve.tasks.engines.windows import WINDOW_CHARACTERS, window_bounds

__all__ = [
    "BLOCK_THRESHOLD",
    "INVISIBLE",
    "Defender",
    "Hit",
    "Passage",
    "Scan",
    "prepare",
    "refusal",
    "unreadable",
]

VERSION = "0.9.4"
RULES = "3"
BLOCK_THRESHOLD = 0.52
PINNED = {
    "model_quantized.onnx": "3d4a1ba798c395c140202992c50e6c8de02fb1b9bd5aba6540848705b9c1e92c",
    "tokenizer.json": "0d3aef594edd5f9b53e7f814277a9171dc70ff93eb66bda6e01f7aa53997d963",
    "classifier_config.json": "cfae8dfeb561cea5c99a81bac41f5da1254b92c71be2f641486e9e63ade86032",
}
REMEDY = f'run "pip install --force-reinstall stackone-defender=={VERSION}"'

SEGMENT_CHARACTERS = 50_000
WINDOW_MEMO = 2_048
# Beyond 100 characters the tokenizer reads a word as one unknown. Pieces of 32 keep base64 in step.
WORD_CHARACTERS = 100
PIECE_CHARACTERS = 32

# What no reader sees: it splits words for the scanner and not for the model that reads them.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
SURROGATE = re.compile("[\ud800-\udfff]")
WHITESPACE_RUN = re.compile(r"\s{3,}")
PUNCTUATION_RUN = re.compile(r"([^\w\s])\1{3,}")
LETTER_RUN = re.compile(r"(\w)\1{63,}")
LONG_WORD = re.compile(rf"\w{{{WORD_CHARACTERS + 1},}}")


@dataclass(frozen=True)
class Hit:
    """A high-severity pattern of the scanner's first tier, and the line that it stands in."""

    pattern: str
    matched: str
    line: str


@dataclass(frozen=True)
class Passage:
    """A window of a text, with what both tiers say of it."""

    text: str
    score: float
    aux: float = 0.0
    """The classifier's second head, in [0, 1]."""
    hits: tuple[Hit, ...] = ()
    tier1_high: bool = False
    state: NDArray[np.float32] = field(default_factory=empty_state, compare=False, repr=False)
    """What the classifier's heads read: a unit vector, or zeros for a window that it did not read."""


@dataclass(frozen=True)
class Scan:
    """What the scanner says of a whole text. `covered` is False when any of it went unread."""

    score: float
    """The highest window score of the classifier, in [0, 1]."""
    tier1_high: bool
    passages: tuple[Passage, ...]
    """Every window, in order."""
    covered: bool
    reason: str = ""
    """Why the text was not covered."""


def prepare(text: str) -> str:
    """The text as a reader sees it: compatibility forms folded, invisibles out, runs collapsed.

    Linear in the length. The result is for scanning only and is never delivered.
    """
    text = unicodedata.normalize("NFKC", INVISIBLE.sub("", text))
    text = WHITESPACE_RUN.sub(lambda run: "\n\n" if "\n" in run[0] else " ", text)
    text = LETTER_RUN.sub(lambda run: run[1] * 64, PUNCTUATION_RUN.sub(r"\1\1\1", text))
    return LONG_WORD.sub(_split_run_on, text)


def _split_run_on(word: re.Match[str]) -> str:
    letters = word[0]
    return " ".join(letters[i : i + PIECE_CHARACTERS] for i in range(0, len(letters), PIECE_CHARACTERS))


def refusal(reason: str) -> Scan:
    """A scan that covers nothing, so that whoever asks has to refuse."""
    return Scan(score=0.0, tier1_high=False, passages=(), covered=False, reason=reason)


class Defender:
    """A handle on the scanner. Making one is cheap; the model loads at the first scan.

    Raises:
        GateUnavailable: when the scanner is missing, or is not the pinned version, model or threshold.
    """

    @cached_property
    def fingerprint(self) -> str:
        """Scanner version, SHA-256 of its model, block threshold, and our preparation rules."""
        return f"stackone-defender {self._verified} {BLOCK_THRESHOLD} rules-{RULES}"

    @cached_property
    def _verified(self) -> str:
        """Version and model hash, after both proved to be the pinned ones."""
        try:
            found = version("stackone-defender")
        except PackageNotFoundError as missing:
            raise GateUnavailable(f"The scanner stackone-defender is not installed: {REMEDY}.") from missing
        if found != VERSION:
            raise GateUnavailable(f"The scanner is version {found} and the gate needs {VERSION}: {REMEDY}.")
        for name, digest in PINNED.items():
            if _file_digest(self._model_path / name) != digest:
                raise GateUnavailable(f"The scanner's {name} is missing or not the pinned file: {REMEDY}.")
        return f"{found} {PINNED['model_quantized.onnx']}"

    @property
    def _model_path(self) -> Path:
        try:
            from stackone_defender import get_default_model_path
        except ImportError as missing:
            raise GateUnavailable(f"The scanner cannot be imported ({missing}): {REMEDY}.") from missing
        return Path(get_default_model_path())

    @cached_property
    def _tiers(self) -> _Tiers:
        _ = self._verified
        try:
            return _Tiers(self._model_path)
        except _faults() as fault:
            raise GateUnavailable(f"The scanner's model does not load ({fault}): {REMEDY}.") from fault

    def scan(self, text: str, max_characters: int = 1_000_000) -> Scan:
        """Scan the whole text, or say that it was not covered; nothing is truncated.

        Texts of fewer than ten characters are judged by patterns alone: the model needs more.
        """
        if reason := unreadable(text, max_characters):
            return refusal(reason)
        prepared = prepare(text)
        if len(prepared) > 2 * max_characters:
            return refusal(f"the text unfolds to more than {2 * max_characters} characters")
        return self.scan_prepared((prepared,))[0]

    def scan_prepared(self, texts: Sequence[str]) -> list[Scan]:
        """Scan texts that `prepare` gave, each distinct window once; each is covered, or refused."""
        tiers = self._tiers
        # The only place where a failure of the scanner is caught; it becomes a refusal.
        try:
            windows = [tuple(dict.fromkeys(tiers.windows(text))) for text in texts]
            every = tuple(dict.fromkeys(window for each in windows for window in each))
            passages = {window: tiers.judge(window) for window in every}
        except _faults() as fault:
            return [refusal(f"the scanner failed with {type(fault).__name__}")] * len(texts)
        return [_combine(passages[window] for window in each) for each in windows]


def unreadable(text: str, max_characters: int) -> str:
    """Why a text is refused before it is scanned; empty when it is not."""
    if SURROGATE.search(text):
        return "the text holds a lone surrogate"
    if len(text) > max_characters:
        return f"the text is longer than {max_characters} characters"
    return ""


class _UncoveredError(ValueError):
    """The patterns skipped a part of a window."""


class _Tiers:
    """The scanner's two tiers, as its own `defend_tool_result` applies them to one string."""

    def __init__(self, model_path: Path) -> None:
        from stackone_defender.classifiers.pattern_detector import PatternDetector
        from stackone_defender.classifiers.tier2_classifier import Tier2Classifier
        from stackone_defender.core.tool_result_sanitizer import ToolResultSanitizer

        self.patterns = PatternDetector()
        self.tier1 = ToolResultSanitizer()
        config = Tier2Classifier().get_config()
        threshold = config["high_risk_threshold"]
        if threshold != BLOCK_THRESHOLD:
            raise GateUnavailable(f"The scanner blocks at {threshold}, not {BLOCK_THRESHOLD}: {REMEDY}.")
        self.classifier = Classifier(model_path, config["temperature_t"])
        # What is said of a window depends on nothing else, and documents share many.
        self.judge = lru_cache(maxsize=WINDOW_MEMO)(self._judge)

    def windows(self, text: str) -> Iterator[str]:
        """Overlapping windows, each short enough to be read whole by the model."""
        # Segments overlap too, so that no border is without a window across it.
        starts = range(0, len(text), SEGMENT_CHARACTERS)
        cuts = (text[max(start - WINDOW_CHARACTERS, 0) : start + SEGMENT_CHARACTERS] for start in starts)
        segments = list(dict.fromkeys(cuts))
        encoded = self.classifier.tokenizer.encode_batch(segments, add_special_tokens=False)
        for segment, tokens in zip(segments, encoded, strict=True):
            bounds = window_bounds(tokens.offsets, len(segment))
            yield from (segment[begin:end] for begin, end in bounds)

    def _judge(self, window: str) -> Passage:
        """What both tiers say of a window, suspect or not."""
        outcome = self.classifier.read(window)
        found = self.tier1.sanitize(window, tool_name="text").metadata
        if found.analysis_truncated:
            raise _UncoveredError("the patterns did not read a whole window")
        high = found.overall_risk_level in ("high", "critical")
        hits = self.hits(window) if high else ()
        return Passage(window, outcome.main, outcome.aux, hits, high, outcome.state)

    def hits(self, window: str) -> tuple[Hit, ...]:
        """High-severity matches; one that shows only after the scanner's folding stands alone."""
        high = [match for match in self.patterns.analyze(window).matches if match.severity == "high"]
        hits = (Hit(match.pattern, match.matched, _line_around(window, match.matched)) for match in high)
        return tuple(dict.fromkeys(hits))


def _line_around(window: str, matched: str) -> str:
    at = window.find(matched)
    if at < 0:
        return matched
    end = window.find("\n", at + len(matched))
    return window[window.rfind("\n", 0, at) + 1 : end if end >= 0 else len(window)]


def _combine(passages: Iterable[Passage]) -> Scan:
    every = tuple(passages)
    score = max((p.score for p in every), default=0.0)
    return Scan(score, any(p.tier1_high for p in every), every, covered=True)


def _file_digest(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _faults() -> tuple[type[Exception], ...]:
    """What the scanner, its tokenizer and its runtime raise when they fail."""
    named = (ArithmeticError, ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
    try:
        runtime = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state"))
    except ImportError:
        return named
    return named + tuple(m for m in runtime.values() if isinstance(m, type) and issubclass(m, Exception))
