"""Dossier: what is known of a document, as findings and as features of the fitted head."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pickysteve.registry.models import Finding
from pickysteve.tasks.engines.auditor import CODE_RULES, RULES, audit_document, is_reported, sentences
from pickysteve.tasks.engines.channels import hidden_findings
from pickysteve.tasks.engines.defender import BLOCK_THRESHOLD, Defender, Scan
from pickysteve.tasks.engines.lexicon import lexicon_hits
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
ENCODED = ("hidden", "decoded", "deciphered", "folded", "spaced")
SOFT = tuple(dict.fromkeys(rule.name for rule in (*RULES, *CODE_RULES) if rule.severity == "review"))
DOCUMENT_FEATURES = (
    "scanner.highest",
    "scanner.third",
    "scanner.aux",
    "scanner.share",
    "view.scanner",
    "view.strong",
    *(f"audit.{name}" for name in SOFT),
    "audit.kinds",
    *(f"lexicon.{rule}" for rule in STRONG),
)
HTML_COMMENT = re.compile(r"<!--(.{0,4000}?)-->", re.DOTALL)
HIDDEN_MARKDOWN = (
    HTML_COMMENT,
    re.compile(r"!\[([^\]\n]{8,400})\]\("),
    re.compile(r"\]\([^)\s]{1,400}\s+[\"']([^\"'\n]{8,400})[\"']\)"),
    re.compile(r"^\[[^\]\n]{1,80}\]:\s+\S{1,400}\s+[\"'(]([^\n]{8,400})[\"')]\s*$", re.MULTILINE),
    re.compile(
        r"<(?:div|span|p)[^>]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0)[^>]{0,200}>([^<]{8,4000})",
        re.I,
    ),
    re.compile(r"<details>(.{8,4000}?)</details>", re.DOTALL),
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
        findings += _of_reading(reading, scan)
    strong = {rule for sentence in sentences(raw) for rule in _strong(sentence)}
    return Dossier(
        tuple(dict.fromkeys(findings)), scans, Views(readings, views.complete), tuple(sorted(strong))
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


def _of_reading(reading: Reading, scan: Scan) -> Iterator[Finding]:
    """A reading that was hidden or encoded is refused for what a plain text may still say."""
    steps = reading.kind.split(">")
    hidden = reading.kind == "markdown" or any(step in ENCODED for step in steps)
    audited = [found for found in audit_document(reading.text) if found.severity == "block"]
    injected = list(_injections(scan, reading.text))
    strong = [sentence for sentence in sentences(reading.text) if any(_strong(sentence))] if hidden else []
    for found in (*audited, *injected):
        yield found.model_copy(update={"rule": f"{reading.kind}:{found.rule}"})
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
            *(float(name in rules) for name in SOFT),
            min(len(rules), 5),
            *(float(rule in dossier.strong) for rule in STRONG),
        ]
    )


def _log_odds(score: float) -> float:
    bounded = min(max(score, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))
