"""Dossier: what is known of a document, as findings and as features of the fitted head."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickysteve.registry.models import Finding
from pickysteve.tasks.engines.auditor import SAYS, audit_document, soft_rules
from pickysteve.tasks.engines.channels import hidden_findings
from pickysteve.tasks.engines.defender import BLOCK_THRESHOLD, Defender, Scan
from pickysteve.tasks.engines.lexicon import lexicon_hits
from pickysteve.tasks.engines.reported import is_reported, sentences
from pickysteve.tasks.engines.views import Reading, Views, read_views

__all__ = ["DOCUMENT_FEATURES", "INJECTIONS", "Dossier", "document_features", "read_document"]

# The scanner's patterns that no ordinary document matches by accident; the others are for review.
INJECTIONS = frozenset(
    {
        "disregard_previous",
        "forget_previous",
        "html_comment_injection",
        "ignore_previous",
        "ignore_safety",
        "markdown_hidden_instruction",
        "new_instructions",
        "override_instructions",
        "reveal_system_prompt",
        "role_system_xml",
        "updated_instructions",
        "you_are_now",
    }
)
# What the lexicon finds and an ordinary document does not say of the assistant.
STRONG = (
    "override-prior-rules",
    "override-told",
    "reveal-prompt",
    "persona-unlimited",
    "send-secret",
    "untold",
    "mode",
    "conceal",
)
# Of these one is enough where it is said plainly.
PLAIN = frozenset({"override-prior-rules", "override-told", "untold", "persona-unlimited"})
WORD = re.compile(r"[^\W\d_]+")
ENGLISH = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "before",
        "but",
        "by",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "must",
        "never",
        "not",
        "of",
        "on",
        "or",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "they",
        "this",
        "to",
        "until",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "you",
        "your",
        "all",
        "any",
        "each",
    ]
)
ENCODED = ("hidden", "decoded", "deciphered", "folded", "spaced")
SOFT = soft_rules()
DOCUMENT_FEATURES = (
    "scanner.highest",
    "scanner.third",
    "scanner.aux",
    "scanner.share",
    "view.scanner",
    "view.strong",
    "audit.scored",
    *(f"audit.{name}" for name in SOFT),
    "audit.kinds",
    *(f"lexicon.{rule}" for rule in STRONG),
)
# Review findings that an ordinary comment also gives: a hidden text is not refused for them.
UNSEEN = frozenset({"markdown", "hidden", "decoded", "deciphered", "spaced"})
COMMONPLACE = frozenset(
    {"skip-checks", "important", "collect-private", "code-injected-comment", "addresses-model"}
)
# From the last opening: one that never closes costs no second look.
HTML_COMMENT = re.compile(r"<!--((?:(?!<!--).){0,4000}?)-->", re.DOTALL)
HIDDEN_MARKDOWN = (
    HTML_COMMENT,
    re.compile(r"!\[([^\]\n]{8,400})\]\("),
    re.compile(r"\]\([^)\s]{1,400}\s+[\"']([^\"'\n]{8,400})[\"']\)"),
    re.compile(r"^\[[^\]\n]{1,80}\]:\s+\S{1,400}\s+[\"'(]([^\n]{8,400})[\"')]\s*$", re.MULTILINE),
    re.compile(
        r"<(?:div|span|p)[^>]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0)[^>]{0,200}>([^<]{8,4000})",
        re.I,
    ),
    re.compile(r"<details>((?:(?!<details>).){8,4000}?)</details>", re.DOTALL),
    re.compile(r"\b(?:alt|title|aria-label|data-[a-z]{1,20})=\"([^\"\n]{8,400})\""),
)


@dataclass(frozen=True)
class Dossier:
    """The findings of a document, and what the scanner says of its readings."""

    findings: tuple[Finding, ...]
    scans: tuple[Scan, ...]
    views: Views
    strong: tuple[str, ...]
    """Strong rules of the lexicon that a sentence of the raw text meets and does not report."""

    @property
    def unread(self) -> str:
        """Why some of the document went unread; empty when all was read."""
        if not self.views.complete:
            return "the text has more readings than may be read"
        return next((scan.reason for scan in self.scans if not scan.covered), "")


def read_document(text: str, defender: Defender) -> Dossier:
    """Read a document that `unreadable` has let through: raw, hidden in markdown, and decoded."""
    views = read_views(text)
    readings = (*views.readings, *_hidden_markdown(views.readings[0].text))
    scans = tuple(defender.scan_prepared([reading.text for reading in readings]))
    raw = readings[0].text
    findings = [*hidden_findings(text), *_injections(scans[0], raw), *audit_document(raw)]
    for reading, scan in zip(readings[1:], scans[1:], strict=True):
        findings += _of_reading(reading, scan, raw)
    every = dict.fromkeys(sentence for sentence in sentences(raw) if SAYS.search(sentence))
    said = {sentence: strong for sentence in every if (strong := tuple(_strong(sentence)))}
    findings += _injected(said, scans[0])
    return Dossier(
        tuple(dict.fromkeys(findings)),
        scans,
        Views(readings, views.complete),
        tuple(sorted({rule for strong in said.values() for rule in strong})),
    )


def _hidden_markdown(raw: str) -> Iterator[Reading]:
    """What a rendered document does not show, all of it in one reading."""
    shown = [match[1] for pattern in HIDDEN_MARKDOWN for match in pattern.finditer(raw)]
    if shown:
        yield Reading("markdown", "\n\n".join(dict.fromkeys(shown)))


def _strong(sentence: str) -> Iterator[str]:
    """The lexicon's strong rules that the sentence gives and neither quotes nor describes."""
    for hit in lexicon_hits(sentence):
        # A label before a quotation may hold the first of the words, and the quotation the others.
        reported = any(is_reported(sentence, at, hit.end) for at in (hit.start, hit.end))
        if hit.rule in STRONG and not reported:
            yield hit.rule


def _injected(said: dict[str, tuple[str, ...]], scan: Scan) -> Iterator[Finding]:
    """Sentences that say what injections say, where another sign agrees: a second rule, or the scanner.

    In other languages than English the auditor knows nothing, so there one rule is enough.
    """
    for sentence, strong in said.items():
        plain = PLAIN.intersection(strong)
        if (len(strong) >= 2 and (plain or is_foreign(sentence))) or (
            plain and (is_foreign(sentence) or _scored_high(sentence, scan))
        ):
            yield Finding(rule=f"lexicon:{strong[0]}", severity="block", passage=sentence[:200])


def _scored_high(sentence: str, scan: Scan) -> bool:
    start = sentence[:60]
    return any(passage.score >= BLOCK_THRESHOLD and start in passage.text for passage in scan.passages)


def is_foreign(sentence: str) -> bool:
    """Whether a sentence is not English: hardly any of its words are."""
    words = WORD.findall(sentence.lower())
    return sum(word in ENGLISH for word in words) * 8 < len(words) or not words


def _injections(scan: Scan, prepared: str) -> Iterator[Finding]:
    """The scanner's high patterns that address the assistant and are neither quoted nor described."""
    hits = {
        hit.matched: hit for passage in scan.passages for hit in passage.hits if hit.pattern in INJECTIONS
    }
    if not hits:
        return
    every = list(sentences(prepared))
    for matched, hit in hits.items():
        # A window may begin inside a quotation, so the whole sentence decides where it is found.
        for sentence in [s for s in every if matched in s] or [hit.line]:
            start = max(sentence.find(matched), 0)
            if not is_reported(sentence, start, start + len(matched)):
                yield Finding(rule=hit.pattern, severity="block", passage=sentence[:200])


def _of_reading(reading: Reading, scan: Scan, raw: str) -> Iterator[Finding]:
    """A reading that was hidden or encoded is refused for what a plain text may still say."""
    steps = reading.kind.split(">")
    hidden = reading.kind == "markdown" or any(step in ENCODED for step in steps)
    unseen = all(step in UNSEEN for step in steps)
    audited = [
        found
        for found in audit_document(reading.text)
        if found.severity == "block"
        or (unseen and found.rule not in COMMONPLACE and found.passage not in raw)
    ]
    injected = list(_injections(scan, reading.text))
    strong = [sentence for sentence in sentences(reading.text) if any(_strong(sentence))] if hidden else []
    for found in (*audited, *injected):
        yield found.model_copy(update={"rule": f"{reading.kind}:{found.rule}", "severity": "block"})
    if strong and scan.score >= BLOCK_THRESHOLD:
        yield Finding(rule=f"{reading.kind}:lexicon", severity="block", passage=strong[0][:200])


def document_features(dossier: Dossier) -> NDArray[np.float64]:
    """One number a name in DOCUMENT_FEATURES."""
    scores = sorted((p.score for p in dossier.scans[0].passages), reverse=True) or [0.0]
    aux = max((p.aux for p in dossier.scans[0].passages), default=0.0)
    hidden = max((scan.score for scan in dossier.scans[1:]), default=0.0)
    rules = {found.rule for found in dossier.findings if found.severity == "review"}
    return np.array(
        [
            _log_odds(scores[0]),
            _log_odds(scores[min(2, len(scores) - 1)]),
            _log_odds(aux),
            sum(score >= BLOCK_THRESHOLD for score in scores) / len(scores),
            hidden,
            float(any(found.rule.endswith(":lexicon") for found in dossier.findings)),
            _scored(dossier),
            *(float(name in rules) for name in SOFT),
            min(len(rules), 5),
            *(float(rule in dossier.strong) for rule in STRONG),
        ]
    )


def _scored(dossier: Dossier) -> float:
    """The scanner's highest score of a window in which the auditor found something."""
    starts = [found.passage[:60] for found in dossier.findings if found.severity == "review"]
    passages = dossier.scans[0].passages
    return max((p.score for p in passages if any(start in p.text for start in starts)), default=0.0)


def _log_odds(score: float) -> float:
    bounded = min(max(score, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))
