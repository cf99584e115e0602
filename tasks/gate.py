"""Gate: judge every text before a model reads it. A request is judged whole; a document by what it
tells the assistant to do.

On documents the classifier is triage: it scores ordinary skill files as high as poisoned ones. So a
high score alone puts a document on the review list, and only the rules below refuse it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from pydantic import Field

from pickysteve.registry.models import Finding, Unit, Verdict
from pickysteve.tasks.engines.defender import BLOCK_THRESHOLD, Defender, Scan, prepare
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Candidate, Candidates, Request

__all__ = [
    "GateConfig",
    "VerdictIndex",
    "behaviour_findings",
    "gate_documents",
    "gate_fingerprint",
    "gate_request",
    "hidden_findings",
    "judge_document",
    "judge_documents",
    "judge_note",
    "judge_request",
    "text_digest",
]


class GateConfig(StageConfig):
    """Thresholds and caps of the gate."""

    request_block: float = Field(0.8, ge=BLOCK_THRESHOLD, le=1, description="score that blocks a request")
    review: float = Field(BLOCK_THRESHOLD, gt=0, le=1, description="score that asks for a review")
    max_request_characters: int = Field(100_000, gt=0, description="longest request that is read")
    max_document_characters: int = Field(2_200_000, gt=0, description="longest document that is read")
    max_note_characters: int = Field(10_000, gt=0, description="longest example or not-for note")
    policy: Literal["drop", "abort"] = Field("drop", description="what a refused document does")


class VerdictIndex(Protocol):
    """What the document gate needs of the index."""

    @property
    def fingerprint(self) -> str:
        """Stands for the index in cache keys."""

    def unit(self, unit_id: str) -> Unit:
        """The unit as it would be delivered."""

    def verdict_of(self, unit_id: str) -> Verdict | None:
        """The authenticated verdict of ingest, if there is one."""


# Hidden channels: text that a reader cannot see and a model can.

TAGS = re.compile("[\U000e0020-\U000e007e]+")
FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
SELECTOR_RUN = re.compile(f"{SELECTORS.pattern}{{2,}}|[\U000e0100-\U000e01ef]")
ZERO_WIDTH = re.compile("[\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
OVERRIDDEN = re.compile("\u202e([^\u202c\u2069\n]{4,})")
WORDS = re.compile(r"[A-Za-z]{4,}|[A-Za-z]{2,}\W+[A-Za-z]{2,}")


def hidden_findings(text: str) -> tuple[Finding, ...]:
    """A block for each hidden channel of the original text that decodes to words."""
    channels = {
        "hidden-tags": [_tag_block(text)],
        "hidden-selectors": [_selector_bytes(text)],
        "hidden-zero-width": _zero_width_bits(text),
        "bidi-override": [run[1] for run in OVERRIDDEN.finditer(text)],
    }
    return tuple(
        Finding(rule=rule, severity="block", passage=decoded[0][:200])
        for rule, views in channels.items()
        if (decoded := [view for view in views if WORDS.search(view)])
    )


def _tag_block(text: str) -> str:
    """The tag characters as the ASCII they mirror; flags of regions are not a message."""
    runs = TAGS.findall(FLAG.sub("", text))
    return "".join(chr(ord(character) - 0xE0000) for run in runs for character in run)


def _selector_bytes(text: str) -> str:
    """Variation selectors 1-256 as bytes; a lone one of the first 16 styles an emoji."""
    points = (ord(c) for run in SELECTOR_RUN.findall(text) for c in run)
    data = bytes(point - 0xFE00 if point < 0xFE10 else point - 0xE0100 + 16 for point in points)
    return data.decode("utf-8", "ignore")


def _zero_width_bits(text: str) -> list[str]:
    """Two kinds of zero-width characters as bits, read both ways, eight and seven to a character."""
    marks = ZERO_WIDTH.findall(text)
    common = sorted(set(marks), key=marks.count, reverse=True)[:2]
    if len(common) < 2:
        return []
    bits = "".join(str(common.index(mark)) for mark in marks if mark in common)
    flipped = bits.translate({48: 49, 49: 48})
    views = [_ascii(view, width) for view in (bits, flipped) for width in (8, 7)]
    # Joiners of ordinary scripts spell nothing printable; a payload is printable throughout.
    return [view for view in views if len(view) >= 4 and view.isprintable()]


def _ascii(bits: str, width: int) -> str:
    return "".join(chr(int(bits[i : i + width], 2)) for i in range(0, len(bits) - width + 1, width))


# Behaviour rules: what a text tells the assistant to do.


@dataclass(frozen=True)
class Rule:
    """A directive that no skill needs: its parts follow one another within a sentence."""

    name: str
    parts: tuple[re.Pattern[str], ...]

    def spans(self, sentence: str) -> Iterator[tuple[int, int]]:
        """Where the directive stands. Linear: a part that is not ahead is not ahead of a later start."""
        for first in self.parts[0].finditer(sentence):
            end = first.end()
            for part in self.parts[1:]:
                found = part.search(sentence, end)
                if found is None:
                    return
                end = found.end()
            yield first.start(), end


def _rule(name: str, *parts: str) -> Rule:
    return Rule(name, tuple(re.compile(part, re.IGNORECASE) for part in parts))


CREDENTIALS = (
    r"(?:api[ _-]?keys?|credentials?|secrets?|passwords?|(?:access|auth) tokens?|(?:private|ssh) keys?"
    r"|\.env\b|environment variables|id_rsa|conversation|chat history|system prompt|(?:task|user) prompt)"
)
SEND = r"\b(?:send|upload|post|forward|transmit|exfiltrate|submit|deliver|leak|curl|e-?mail)s?\b"
OUTSIDE = r"https?://(?!localhost|127\.|0\.0\.0\.0|\[)"
TELL = r"(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|reveal|disclose)"

RULES = (
    _rule(
        "ignore-instructions",
        r"\b(?:ignore|forget|disregard)\s+(?:everything|all|anything)\s+(?:that\s+)?you\s+"
        r"(?:were|are|have been)\s+told\b",
    ),
    _rule("send-out-secrets", SEND, CREDENTIALS, OUTSIDE),
    _rule("send-out-secrets", CREDENTIALS, SEND, OUTSIDE),
    _rule(
        "send-out-routinely",
        r"\b(?:after|before|whenever|when|every time|always|make sure|as a general rule)\b",
        r"\b(?:any|every|each|all|always|make sure|processing|editing|adding)\b",
        rf"{SEND}|\b(?:back ?up|copy)\b",
        OUTSIDE,
    ),
    _rule(
        "hide-from-user",
        rf"\b(?:do not|don't|never|without)\s+(?:ever\s+)?{TELL}\b(?:\s+\w+){{0,3}}?\s+(?:to\s+)?"
        r"the\s+(?:user|human|operator)\b(?!'s)\s*(?:of|about|that you|anything|(?:this|it)\b|[.,;!]|$)",
    ),
    _rule(
        "hide-from-user",
        rf"\b(?:do not|don't|never)\s+{TELL}\s+(?:this|it|these steps|any of this)\s+(?:to\s+)?"
        r"(?:anyone|the user)",
    ),
    _rule(
        "hide-from-user",
        rf"\b(?:silently|secretly|covertly|quietly)\s+(?:{SEND}|(?:run|execute|read|collect|install)\b)",
    ),
    _rule(
        "copy-itself",
        r"\b(?:copy|append|insert|add|write|paste|replicate|propagate)\s+(?:this|these|the above)\s+"
        r"(?:\w+\s+)?(?:instructions?|paragraph|block|text|prompt|skill|section|message|note|lines?)\s+(?:in)?to\s+"
        r"(?:every|all|each|any)\b",
    ),
    _rule(
        "disable-checks",
        r"\b(?:disable|turn off|switch off|bypass|circumvent|deactivate)\s+"
        r"(?:(?:all|any|every|your|the)\s+){0,2}(?:security|safety|permission|approval|sandbox|injection|content|malware|virus)\s+"
        r"(?:checks?|scan(?:ning|ner|s)?|filters?|prompts?|warnings?|guardrails?)\b",
    ),
    _rule(
        "disable-checks",
        r"\b(?:ignore|disregard|override)\s+your\s+(?:safety|security|system|ethical)\s+\w+",
    ),
)
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
NEGATED = re.compile(
    r"\b(?:never|not|don't|avoid|cannot|can't|refuse|without|no|nor|to detect|if)\b(?:\W+\w+){0,4}\W*$", re.I
)
DESCRIBED = re.compile(
    r"\b(?:attack\w*|adversar\w+|inject(?:ion|ions|ed|ing)|malicious\w*|jailbreak\w*|phish\w*|exploit\w*"
    r"|vulnerab\w+|threats?|detect\w*|flag(?:s|ged)?|block(?:s|ed)|prevent\w*|reject\w*|refus\w+|red flags?"
    r"|anti-?patterns?|examples?|e\.g\.|such as|for instance|attempts?|tries|trying|untrusted|suspicious"
    r"|risk\w*|defen[cs]e|mitigat\w+)",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\S*://\S*")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def behaviour_findings(prepared: str) -> tuple[Finding, ...]:
    """A block for each sentence that tells the assistant to do what no skill needs."""
    return tuple(
        Finding(rule=rule.name, severity="block", passage=sentence[:200])
        for sentence in _sentences(prepared)
        for rule in RULES
        if any(not _reported(sentence, start, end) for start, end in rule.spans(sentence))
    )


def _sentences(prepared: str) -> Iterator[str]:
    """Sentences and lines; a very long one comes in overlapping pieces, so that matching stays linear."""
    for sentence in SENTENCE_END.split(prepared):
        for start in range(0, max(len(sentence) - 500, 1), 1_500):
            yield sentence[start : start + 2_000]


def _reported(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence quotes, forbids or describes the directive instead of giving it."""
    before, after = sentence[:start], sentence[end:]
    quoted = any(before.count(mark) % 2 for mark in '"`') or before.count("“") > before.count("”")
    if quoted or before.lstrip().startswith(">"):
        return True
    # The host of an address, such as evil.example, describes nothing.
    rest = ADDRESS.sub(" ", f"{before} {after}")
    return bool(NEGATED.search(before) or DESCRIBED.search(rest))


def _injection_findings(scan: Scan, prepared: str) -> Iterator[Finding]:
    """The scanner's high patterns that address the assistant and are neither quoted nor described."""
    hits = {
        hit.matched: hit for passage in scan.passages for hit in passage.hits if hit.pattern in INJECTIONS
    }
    for matched, hit in hits.items():
        # A window may begin inside a quotation, so the whole sentence decides where it is found.
        for sentence in [s for s in _sentences(prepared) if matched in s] or [hit.line]:
            start = max(sentence.find(matched), 0)
            if not _reported(sentence, start, start + len(matched)):
                yield Finding(rule=hit.pattern, severity="block", passage=sentence[:200])


# Verdicts.


def judge_request(text: str, defender: Defender, config: GateConfig) -> Verdict:
    """Judge what somebody asked. A block is a result; only a missing scanner raises.

    Raises:
        GateUnavailable: the scanner cannot run.
    """
    scan = defender.scan(text, config.max_request_characters)
    findings = [*_unread(scan), *_above(scan, config.request_block, "block"), *_hidden(text, scan)]
    for passage in scan.passages:
        if passage.tier1_high:
            names = ", ".join(dict.fromkeys(hit.pattern for hit in passage.hits)) or "patterns"
            findings.append(Finding(rule=names, severity="block", passage=passage.text[:200]))
    return _verdict(text, scan, findings or [*_above(scan, config.review, "review")], defender, config)


def judge_document(text: str, defender: Defender, config: GateConfig) -> Verdict:
    """Judge a unit's whole text. A high score alone is for review, never a block.

    Raises:
        GateUnavailable: the scanner cannot run.
    """
    return _judge_reference(text, defender, config, config.max_document_characters)


def judge_note(text: str, defender: Defender, config: GateConfig) -> Verdict:
    """Judge an example or a not-for note: the rules for documents, and a shorter cap."""
    return _judge_reference(text, defender, config, config.max_note_characters)


def _judge_reference(text: str, defender: Defender, config: GateConfig, longest: int) -> Verdict:
    scan = defender.scan(text, longest)
    findings = [*_unread(scan), *_hidden(text, scan)]
    if scan.covered:
        prepared = prepare(text)
        findings += [*_injection_findings(scan, prepared), *behaviour_findings(prepared)]
    findings += _above(scan, config.review, "review")
    return _verdict(text, scan, findings, defender, config)


def _unread(scan: Scan) -> Iterator[Finding]:
    if not scan.covered:
        yield Finding(rule="not-covered", severity="block", passage=scan.reason)


def _hidden(text: str, scan: Scan) -> tuple[Finding, ...]:
    return hidden_findings(text) if scan.covered else ()


def _above(scan: Scan, threshold: float, severity: Literal["review", "block"]) -> Iterator[Finding]:
    """The three passages that score highest, at or above the threshold."""
    high = [passage for passage in scan.passages if passage.score >= threshold]
    for passage in sorted(high, key=lambda passage: -passage.score)[:3]:
        yield Finding(rule="classifier", severity=severity, passage=passage.text[:200])


def _verdict(
    text: str, scan: Scan, findings: Iterable[Finding], defender: Defender, config: GateConfig
) -> Verdict:
    # Blocks come first, so the cap never loses the reason for a refusal.
    kept = tuple(dict.fromkeys(findings))[:20]
    severities = {finding.severity for finding in kept}
    blocked = "block" in severities
    return Verdict(
        allowed=not blocked,
        score=scan.score,
        risk="block" if blocked else "review" if "review" in severities else "low",
        findings=kept,
        sha256=text_digest(text),
        fingerprint=gate_fingerprint(defender, config),
    )


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, also of one with lone surrogates, which the gate refuses."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def gate_fingerprint(defender: Defender, config: GateConfig) -> str:
    """SHA-256 over all that decides a verdict: scanner, rules and thresholds; not the policy."""
    rules = [[rule.name, *(part.pattern for part in rule.parts)] for rule in RULES]
    parts = {
        "defender": defender.fingerprint,
        "rules": [rules, sorted(INJECTIONS), NEGATED.pattern, DESCRIBED.pattern, SENTENCE_END.pattern],
        "config": config.model_dump(mode="json", exclude={"policy"}),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def judge_documents(
    candidates: Candidates, index: VerdictIndex, defender: Defender, config: GateConfig
) -> Candidates:
    """Keep the candidates whose text is allowed, by the verdict of ingest or by one made now.

    The policy "drop" leaves refused candidates out; "abort" hands on none at all.
    """
    judged = [
        candidate.model_copy(update={"verdict": _current_verdict(candidate, index, defender, config)})
        for candidate in candidates.candidates
    ]
    allowed = tuple(c for c in judged if c.verdict is not None and c.verdict.allowed is True)
    refused = tuple(c for c in judged if c not in allowed)
    aborted = bool(refused) and config.policy == "abort"
    return Candidates(candidates=() if aborted else allowed, refused=refused, aborted=aborted)


def _current_verdict(
    candidate: Candidate, index: VerdictIndex, defender: Defender, config: GateConfig
) -> Verdict:
    """A stored allow of this very text by this very gate, else a new verdict: blocks are judged again."""
    text = index.unit(candidate.unit_id).text
    stored = index.verdict_of(candidate.unit_id)
    if (
        stored is not None
        and stored.allowed
        and stored.sha256 == text_digest(text)
        and stored.fingerprint == gate_fingerprint(defender, config)
    ):
        return stored
    return judge_document(text, defender, config)


def _judge(request: Request, defender: Defender, config: GateConfig) -> Verdict:
    return judge_request(request.text, defender, config)


gate_request = stage("gate-request", _judge, cached=False)
gate_documents = stage("gate-documents", judge_documents, cached=False)
