"""Evidence: what is known of each window of a request in each of its readings, as features."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.defender import Defender, Passage, Scan
from pickysteve.tasks.engines.lexicon import RULES, lexicon_hits
from pickysteve.tasks.engines.views import Reading, Views

__all__ = ["EVIDENCE_VERSION", "FEATURES", "Window", "features_of", "windows_of"]

EVIDENCE_VERSION = "1"
SCORE_FLOOR = 1e-4
VIEWS = ("hidden", "spaced", "folded", "decoded", "joined", "deciphered", "reordered")
SHELL = re.compile(
    r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\brm\s+-[rf]{1,2}\b|\bnc\s+-"
    r"|/dev/tcp/|\bchmod\s+777"
)
ROLE = re.compile(
    r"</?\s*(?:system|user_input|instructions?|assistant|admin)\b|\[/?(?:INST|SYSTEM|SYS)\b|<\|\w+\|>|<<SYS>>"
    r"|^\W{0,8}(?:system|assistant|developer)\b\s*(?:prompt|override|message|note|update)?\s*:"
    r"|\bSYSTEM (?:OVERRIDE|NOTE)\b|\bEND OF (?:UNTRUSTED|DATA|USER|DOCUMENT|INPUT)\b"
    r"|#{2,}\s*(?:system|new (?:instruction|conversation|task))",
    re.IGNORECASE | re.MULTILINE,
)
DAN = re.compile(r"\bDAN\b")
ORDER = re.compile(
    r"(?:^|[.!?:;\n]\s*)(?:now\s+|please\s+)?"
    r"(?:ignore|forget|disregard|override|pretend|reveal|repeat|print|stop|say|output)\b",
    re.IGNORECASE,
)
LETTER = re.compile(r"[^\W\d_]")
ENGLISH = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "get",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "just",
        "me",
        "my",
        "need",
        "no",
        "not",
        "of",
        "on",
        "only",
        "or",
        "our",
        "out",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "to",
        "up",
        "use",
        "want",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "without",
        "would",
        "you",
        "your",
        "write",
        "make",
        "create",
        "help",
        "give",
        "explain",
    ]
)
FEATURES = (
    "scanner",
    "scanner_foreign",
    "aux",
    "aux_foreign",
    "tier1",
    "foreign_script",
    "foreign_words",
    *(f"lexicon.{rule}" for rule in RULES),
    "lexicon.count",
    *(f"view.{view}" for view in VIEWS),
    "shell",
    "role_tag",
    "dan",
    "order",
)


@dataclass(frozen=True)
class Window:
    """A window of one reading, with what the scanner and the lexicon say of it."""

    kind: str
    passage: Passage
    rules: tuple[str, ...]


def windows_of(views: Views, defender: Defender) -> tuple[Scan, tuple[Window, ...]]:
    """All windows of all readings, and the scan of the raw text; one that fails is not covered."""
    readings = views.readings
    scans = defender.scan_prepared([reading.text for reading in readings])
    uncovered = next((scan for scan in scans if not scan.covered), None)
    windows = tuple(
        _window(reading, passage)
        for reading, scan in zip(readings, scans, strict=True)
        for passage in scan.passages
    )
    return uncovered or scans[0], windows


def _window(reading: Reading, passage: Passage) -> Window:
    rules = tuple(hit.rule for hit in lexicon_hits(passage.text))
    return Window(reading.kind, passage, rules)


def features_of(window: Window) -> NDArray[np.float64]:
    """One number a name in FEATURES: log-odds of the scanner, shares, and flags."""
    text = window.passage.text
    script, words = _foreign(text)
    foreign = max(script, words)
    main, aux = _log_odds(window.passage.score), _log_odds(window.passage.aux)
    steps = window.kind.split(">")
    return np.array(
        [
            main * (1 - foreign),
            main * foreign,
            aux * (1 - foreign),
            aux * foreign,
            float(window.passage.tier1_high),
            script,
            words,
            *(float(rule in window.rules) for rule in RULES),
            min(len(window.rules), 5),
            *(float(view in steps) for view in VIEWS),
            *(float(bool(pattern.search(text))) for pattern in (SHELL, ROLE, DAN, ORDER)),
        ]
    )


def _log_odds(score: float) -> float:
    bounded = min(max(score, SCORE_FLOOR), 1 - SCORE_FLOOR)
    return math.log(bounded / (1 - bounded))


def _foreign(text: str) -> tuple[float, float]:
    """Share of letters outside ASCII, and how far the words are from English ones, both in [0, 1]."""
    letters = LETTER.findall(text)
    script = sum(not letter.isascii() for letter in letters) / max(len(letters), 1)
    words = text.lower().split()
    english = sum(word.strip(".,:;!?\"'()") in ENGLISH for word in words) / max(len(words), 1)
    return script, max(0.0, 1 - english / 0.2) if len(words) >= 4 else 0.0
