"""Evidence: what is known of each window of a request in each of its readings, as features."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.defender import Defender, Passage, Scan
from pickysteve.tasks.engines.lexicon import RULES, read_words
from pickysteve.tasks.engines.views import Reading, Views
from pickysteve.tasks.engines.vocabulary import ENGLISH

__all__ = ["EVIDENCE_VERSION", "FEATURES", "Window", "features_of", "windows_of"]

EVIDENCE_VERSION = "2"
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
WORD = re.compile(r"[^\W\d_]+")
ADDRESS = re.compile(r"\S*[/\\@~=|]\S*|\s-\S*|\b(?:curl|wget|bash|sh|sudo)\b")
FEATURES = (
    "scanner",
    "scanner_foreign",
    "aux",
    "aux_foreign",
    "tier1",
    "foreign_script",
    "foreign_words",
    "foreign",
    *(f"lexicon.{rule}" for rule in RULES),
    "lexicon.count",
    *(f"foreign.{rule}" for rule in RULES),
    "foreign.count",
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
    foreign_rules: tuple[str, ...] = ()
    """Those of the rules that words of another language than English met."""
    foreign_words: float = 0.0
    """Share of the small words that are not English, in [0, 1]."""


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
    read = read_words(passage.text)
    rules, foreign = (
        tuple(hit.rule for hit in read.hits if every or hit.language != ENGLISH) for every in (True, False)
    )
    return Window(reading.kind, passage, rules, foreign, read.foreign)


def features_of(window: Window) -> NDArray[np.float64]:
    """One number a name in FEATURES: log-odds of the scanner, shares, and flags."""
    text = window.passage.text
    script, accented = _foreign_script(text)
    words = max(window.foreign_words, accented)
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
            foreign,
            *(float(rule in window.rules) for rule in RULES),
            min(len(window.rules), 5),
            *(float(rule in window.foreign_rules) for rule in RULES),
            min(len(window.foreign_rules), 5),
            *(float(view in steps) for view in VIEWS),
            *(float(bool(pattern.search(text))) for pattern in (SHELL, ROLE, DAN, ORDER)),
        ]
    )


def _log_odds(score: float) -> float:
    bounded = min(max(score, SCORE_FLOOR), 1 - SCORE_FLOOR)
    return math.log(bounded / (1 - bounded))


def _foreign_script(text: str) -> tuple[float, float]:
    """Share of the letters that are not ASCII, and thrice the share of such words, both at most 1.

    Paths, addresses and commands are written alike in every language and count for none.
    """
    words = WORD.findall(ADDRESS.sub(" ", text))
    foreign = [word for word in words if not word.isascii()]
    letters, others = len("".join(words)), sum(not letter.isascii() for word in foreign for letter in word)
    return others / max(letters, 1), min(1.0, 3 * len(foreign) / max(len(words), 1))
