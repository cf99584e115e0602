"""Gate: judge every text before a model reads it. A request is judged whole; a document by what it
tells the assistant to do.

On documents the classifier is triage: it scores ordinary skill files as high as poisoned ones. So a
high score alone puts a document on the review list; rules about what it orders refuse it, and a head
that weighs the softer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal, Protocol, TypeGuard

from pickysteve.registry.models import Finding, Unit, Verdict
from pickysteve.tasks.adjudicate import adjudicated, may_be_rescued
from pickysteve.tasks.audit import AUDITOR, unaudited, unread_note
from pickysteve.tasks.engines.channels import hidden_findings
from pickysteve.tasks.engines.defence import is_defence_question, unquoted
from pickysteve.tasks.engines.defender import BLOCK_THRESHOLD, Scan, unreadable
from pickysteve.tasks.engines.dossier import document_features, read_document
from pickysteve.tasks.engines.evidence import Window
from pickysteve.tasks.engines.guard import Guard, RequestReading, head_scores
from pickysteve.tasks.gate_config import GateConfig
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, OFF, Role
from pickysteve.tasks.stage import stage
from pickysteve.tasks.values import Candidate, Candidates, Request

__all__ = [
    "OPERATOR",
    "GateConfig",
    "VerdictIndex",
    "gate_documents",
    "gate_request",
    "judge_document",
    "judge_documents",
    "judge_note",
    "judge_request",
    "text_digest",
]


class VerdictIndex(Protocol):
    """What the document gate needs of the index."""

    @property
    def fingerprint(self) -> str:
        """Stands for the index in cache keys."""

    def unit(self, unit_id: str) -> Unit:
        """The unit as it would be delivered."""

    def verdict_of(self, unit_id: str) -> Verdict | None:
        """The authenticated verdict of ingest, if there is one."""


OPERATOR = "operator"
"""The rule that stands for a decision of the operator about this very text."""
# A single word, such as "uncensored" in an essay's subject, is a feature of the head and no verdict.
WEAK_PATTERNS = frozenset({"uncensored"})


def judge_request(text: str, defender: Guard, config: GateConfig, adjudicator: Role = OFF) -> Verdict:
    """Judge what somebody asked. A block is a result; only a missing scanner raises.

    Hidden channels, unread text and the scanner's plain patterns block by themselves; everything else
    is weighed in one calibrated score, and where that is just too high an adjudicator is asked.

    Raises:
        GateUnavailable: the scanner cannot run.
        CalibrationMismatch: gate.json was fitted for other models.
    """
    threshold = defender.heads.request.block if config.request_block is None else config.request_block
    certain = defender.heads.gray if config.adjudicate_below is None else config.adjudicate_below
    if reason := unreadable(text, config.max_request_characters):
        return _verdict(text, 0.0, [_not_covered(reason)], defender, config, adjudicator)
    reading = defender.read_request(text)
    if not reading.covered:
        return _verdict(text, 0.0, [_not_covered(reading.reason)], defender, config, adjudicator)
    findings = [*hidden_findings(text), *_plain_patterns(reading), *_scored(reading, threshold, "block")]
    if findings and is_defence_question(text, findings) and _rest_passes(text, defender, threshold):
        findings = [found.model_copy(update={"severity": "review"}) for found in findings]
    elif adjudicator.model and may_be_rescued(text, findings, reading, threshold, certain):
        findings = adjudicated(text, findings, adjudicator)
    if not findings:
        findings = list(_scored(reading, threshold * config.request_review, "review"))
    return _verdict(text, reading.score, findings, defender, config, adjudicator)


def _rest_passes(text: str, defender: Guard, threshold: float) -> bool:
    """Whether the text without its quotations is ordinary."""
    reading = defender.read_request(unquoted(text))
    return reading.covered and reading.score < threshold and not any(_plain_patterns(reading))


def _plain_patterns(reading: RequestReading) -> Iterator[Finding]:
    """The scanner's high patterns in any reading; they stand above the score."""
    for scored in reading.windows:
        passage = scored.window.passage
        names = dict.fromkeys(hit.pattern for hit in passage.hits)
        if passage.tier1_high and not (names and WEAK_PATTERNS.issuperset(names)):
            yield Finding(rule=", ".join(names) or "patterns", severity="block", passage=passage.text[:200])


def _scored(
    reading: RequestReading, threshold: float, severity: Literal["review", "block"]
) -> Iterator[Finding]:
    """The passages at or above the threshold, at most three, and what the highest of them is made of."""
    high = [scored.window for scored in reading.windows if scored.score >= threshold][:3]
    for window in high:
        yield Finding(rule="score", severity=severity, passage=window.passage.text[:200])
    if high:
        yield from _explained(high[0])


def _explained(window: Window) -> Iterator[Finding]:
    passage = window.passage.text[:200]
    if window.kind != "raw":
        yield Finding(rule=f"view:{window.kind}", severity="info", passage=passage)
    for rule in window.rules:
        yield Finding(rule=f"lexicon:{rule}", severity="info", passage=passage)
    if window.passage.score >= BLOCK_THRESHOLD:
        yield Finding(rule="classifier", severity="info", passage=passage)


def judge_document(text: str, defender: Guard, config: GateConfig) -> Verdict:
    """Judge a unit's whole text. A high score of the scanner alone is for review, never a block.

    Raises:
        GateUnavailable: the scanner cannot run.
        CalibrationMismatch: gate.json was fitted for other models.
    """
    return _judge_reference(text, defender, config, config.max_document_characters)


def judge_note(text: str, defender: Guard, config: GateConfig) -> Verdict:
    """Judge an example or a not-for note: the rules for documents, and a shorter cap."""
    return _judge_reference(text, defender, config, config.max_note_characters)


def _judge_reference(text: str, defender: Guard, config: GateConfig, longest: int) -> Verdict:
    if reason := unreadable(text, longest):
        return _verdict(text, 0.0, [_not_covered(reason)], defender, config)
    dossier = read_document(text, defender.defender)
    if dossier.unread:
        return _verdict(text, 0.0, [_not_covered(dossier.unread)], defender, config)
    head = defender.heads.document
    weighed = float(head_scores(head, document_features(dossier)[None])[0])
    threshold = head.block if config.document_block is None else config.document_block
    findings = list(dossier.findings)
    soft = next((found for found in findings if found.severity == "review"), None)
    # The scanner's scores add to what the auditor or the lexicon found; alone they refuse nothing.
    if weighed >= threshold and (dossier.strong or soft):
        passage = soft.passage if soft else _top(dossier.scans[0])
        findings.append(Finding(rule="weighed-findings", severity="block", passage=passage))
    review = head.review if config.review is None else config.review
    findings += _high(dossier.scans)
    if weighed < review:
        findings = [_noted(found) for found in findings]
    return _verdict(text, max(scan.score for scan in dossier.scans), findings, defender, config)


def _noted(finding: Finding) -> Finding:
    """A finding that is not worth an operator's look is kept for the reader of the verdict."""
    return finding.model_copy(update={"severity": "info"}) if finding.severity == "review" else finding


def _top(scan: Scan) -> str:
    return max(scan.passages, key=lambda p: p.score).text[:200] if scan.passages else ""


def _high(scans: tuple[Scan, ...]) -> Iterator[Finding]:
    """The three passages of any reading that score highest, at or above the scanner's threshold."""
    high = [passage for scan in scans for passage in scan.passages if passage.score >= BLOCK_THRESHOLD]
    for passage in sorted(high, key=lambda passage: -passage.score)[:3]:
        yield Finding(rule="classifier", severity="review", passage=passage.text[:200])


def _not_covered(reason: str) -> Finding:
    return Finding(rule="not-covered", severity="block", passage=reason)


SEVERITIES = ("block", "review", "info")


def _verdict(
    text: str,
    score: float,
    findings: Iterable[Finding],
    defender: Guard,
    config: GateConfig,
    adjudicator: Role = OFF,
) -> Verdict:
    # Blocks come first, so the cap never loses the reason for a refusal.
    ordered = sorted(dict.fromkeys(findings), key=lambda finding: SEVERITIES.index(finding.severity))
    kept = tuple(ordered[:20])
    severities = {finding.severity for finding in kept}
    blocked = "block" in severities
    return Verdict(
        allowed=not blocked,
        score=score,
        risk="block" if blocked else "review" if "review" in severities else "low",
        findings=kept,
        sha256=text_digest(text),
        fingerprint=gate_fingerprint(defender, config, adjudicator),
    )


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, also of one with lone surrogates, which the gate refuses."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def judge_documents(
    candidates: Candidates, index: VerdictIndex, defender: Guard, config: GateConfig, auditor: Role = OFF
) -> Candidates:
    """Keep the candidates whose text is allowed, by the verdict of ingest or by one made now.

    The policy "drop" leaves refused candidates out; "abort" hands on none at all. No model is asked.
    """
    current = gate_fingerprint(defender, config, auditor)

    def judged_now(candidate: Candidate) -> Verdict:
        text = index.unit(candidate.unit_id).text
        stored = index.verdict_of(candidate.unit_id)
        if _holds(stored, text, current):
            return stored
        verdict = judge_document(text, defender, config)
        return unaudited(verdict, "not-ingested", config.auditor_failure) if auditor.model else verdict

    judged = [c.model_copy(update={"verdict": judged_now(c)}) for c in candidates.candidates]
    allowed, refused = (tuple(c for c in judged if _is_allowed(c) is wanted) for wanted in (True, False))
    aborted = bool(refused) and config.policy == "abort"
    note = unread_note(candidate.verdict for candidate in judged)
    return Candidates(candidates=() if aborted else allowed, refused=refused, aborted=aborted, degraded=note)


def _is_allowed(candidate: Candidate) -> bool:
    return candidate.verdict is not None and candidate.verdict.allowed is True


def _holds(stored: Verdict | None, text: str, fingerprint: str) -> TypeGuard[Verdict]:
    """An allow of this very text by this very gate; blocks are judged again.

    What the operator or the auditor refused stays refused.
    """
    if stored is None or stored.sha256 != text_digest(text):
        return False
    return _refused_for_good(stored) or (stored.allowed and stored.fingerprint == fingerprint)


def _refused_for_good(verdict: Verdict) -> bool:
    rules = verdict.blocking_rules
    return not verdict.allowed and any(rule == OPERATOR or rule.startswith(AUDITOR) for rule in rules)


def _judge(request: Request, defender: Guard, adjudicator: Role, config: GateConfig) -> Verdict:
    return judge_request(request.text, defender, config, adjudicator)


def _judge_found(
    candidates: Candidates, index: VerdictIndex, defender: Guard, auditor: Role, config: GateConfig
) -> Candidates:
    return judge_documents(candidates, index, defender, config, auditor)


gate_request = stage("gate-request", _judge, cached=False, timeout_seconds=MODEL_STAGE_SECONDS)
gate_documents = stage("gate-documents", _judge_found, cached=False)
