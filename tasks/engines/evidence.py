"""Evidence: what is known of each window of a request in each of its readings, as features."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickysteve.tasks.engines.defender import Defender, Passage, Scan
from pickysteve.tasks.engines.lexicon import ENGLISH, RULES, lexicon_hits
from pickysteve.tasks.engines.views import Reading, Views

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
LETTER = re.compile(r"[^\W\d_]")
ADDRESS = re.compile(r"\S*[/\\@~=|]\S*|\s-\S*|\b(?:curl|wget|bash|sh|sudo)\b")
# Words that hold sentences together: of English alone, and of twenty other languages in Latin script.
ENGLISH_WORD = re.compile(
    r"\b(?:"
    r"a|about|after|all|an|and|any|are|as|at|be|because|been|but|by|can|could|do|does|for|from|get|has"
    r"|have|how|i|if|in|is|it|its|just|me|my|need|not|of|on|only|or|our|out|please|should|so|some|than"
    r"|that|the|their|them|then|there|they|this|to|up|use|want|was|we|were|what|when|where|which|while"
    r"|who|why|will|with|without|would|you|your"
    r")\b"
)
FOREIGN_WORD = re.compile(
    r"\b(?:"
    r"aan|aber|adalah|alla|anda|ang|ao|apa|att|au|auch|auf|aus|av|avec|az|bagaimana|bei|bir|bitte|bu"
    r"|bạn|care|ce|cette|che|cho|co|come|como|cu|czy|các|cả|của|da|daha|dan|dans|dari|das|dat|de|dei"
    r"|dein|deine|del|della|delle|dem|dengan|der|des|det|deze|di|dich|dir|dla|du|een|egy|ei|ein|eine"
    r"|einem|einen|einer|el|elle|em|en|es|est|esta|este|et|että|ez|för|für|gibi|gli|har|het|hoe|hogy"
    r"|hur|hãy|ich|ik|ikke|il|ile|ini|ist|itu|için|ja|jag|jak|jako|je|jeg|jest|jsem|kamu|kann|katika"
    r"|không|kun|kwa|la|las|le|les|lo|los|là|maar|mai|mais|meg|mes|meu|mga|mich|minha|minun|mir|miten"
    r"|mon|más|mọi|một|na|naar|nach|nasıl|ne|nel|nem|nicht|nie|niet|non|nous|nu|này|não|och|od|oder|og"
    r"|olarak|ook|oraz|ou|ovat|pada|para|pe|pentru|pero|po|por|pour|på|qu|que|questo|qui|saya|semua|seu"
    r"|si|sind|się|som|sono|sont|su|sua|sur|să|tes|ti|tidak|til|ton|tu|tämä|tôi|tüm|tất|um|uma|un|una"
    r"|und|une|untuk|você|von|voor|votre|vous|và|všechny|với|wa|wat|wenn|wie|wird|ya|yako|yang|zijn|zu"
    r"|är|çok|è|é|és|în|über|được|że|și"
    r")\b|\b\w*[\u00df-\u024f\u1ea0-\u1eff]\w*"
)
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
    "lexicon.foreign",
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
    foreign_rules: int = 0
    """How many of the rules were met in a language other than English."""


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
    hits = lexicon_hits(passage.text)
    foreign = sum(hit.language != ENGLISH for hit in hits)
    return Window(reading.kind, passage, tuple(hit.rule for hit in hits), foreign)


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
            foreign,
            *(float(rule in window.rules) for rule in RULES),
            min(len(window.rules), 5),
            min(window.foreign_rules, 5),
            *(float(view in steps) for view in VIEWS),
            *(float(bool(pattern.search(text))) for pattern in (SHELL, ROLE, DAN, ORDER)),
        ]
    )


def _log_odds(score: float) -> float:
    bounded = min(max(score, SCORE_FLOOR), 1 - SCORE_FLOOR)
    return math.log(bounded / (1 - bounded))


def _foreign(text: str) -> tuple[float, float]:
    """Share of letters outside ASCII, and of function words that are not English ones, both in [0, 1].

    Paths, addresses and commands are written alike in every language and count for none.
    """
    lowered = ADDRESS.sub(" ", text.lower())
    letters = LETTER.findall(lowered)
    script = sum(not letter.isascii() for letter in letters) / max(len(letters), 1)
    foreign, english = (len(words.findall(lowered)) for words in (FOREIGN_WORD, ENGLISH_WORD))
    return script, foreign / max(foreign + english, 1)
