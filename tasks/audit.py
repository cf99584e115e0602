"""Audit: a model reads documents at ingest. It can only turn an allow into a block.

It answers with a rule of ours and the number of a line, never with words of its own, so that what is
shown of a document is always its own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Finding, Value, Verdict
from pickysteve.tasks.roles import Role

__all__ = ["AUDITOR", "UNAUDITED", "Audit", "DocumentAuditor", "audit_windows", "unaudited", "unread_note"]

AUDITOR = "auditor:"
"""Rules that stand for what the model found begin with this."""
UNAUDITED = "unaudited:"
"""Rules that stand for a document which the model did not read begin with this."""

WINDOW_CHARACTERS = 6_000
OVERLAP_CHARACTERS = 600
LINE_CHARACTERS = 400
"""A longer line is numbered in pieces."""
GIVE_UP_AFTER = 3
"""Faults of the host in a row after which the rest of an ingest is not asked for."""
ANSWERED = {"invalid-answer", "empty", "unfinished", "unread"}
"""Faults of one answer: the host itself is there."""


class Audit(Value):
    """What the model says of a window of a document."""

    behaviour: Literal[
        "none",
        "sends-data-out",
        "hides-from-the-user",
        "fires-later",
        "copies-itself",
        "disables-checks",
        "vouches-for-itself",
        "drops-instructions",
        "unsure",
    ]
    line: int = Field(ge=0)
    """Where it is said; 0 for "none"."""


@dataclass
class DocumentAuditor:
    """One ingest's auditor. It remembers when its host is gone, so that no ingest waits for it at length."""

    role: Role
    failure: Literal["review", "block"]
    """What happens to a document that it could not read."""
    faults: int = 0
    """Faults of the host in a row."""

    def audited(self, text: str, verdict: Verdict) -> Verdict:
        """The verdict of the deterministic gate, or a block where the model found a reason for one."""
        if not verdict.allowed or self.role.model is None:
            return verdict
        if self.faults >= GIVE_UP_AFTER:
            return unaudited(verdict, "given-up", self.failure)
        try:
            found = next(filter(None, (self._read(lines) for lines in audit_windows(text))), None)
        except ModelUnavailable as failed:
            self.faults = 0 if failed.fault in ANSWERED else self.faults + 1
            return unaudited(verdict, failed.fault, self.failure)
        self.faults = 0
        if found is None:
            return verdict
        if found.rule == f"{AUDITOR}unsure":
            return unaudited(verdict, "unsure", self.failure)
        return _with(verdict, found)

    def _read(self, lines: dict[int, str]) -> Finding | None:
        """What the model finds in some numbered lines; None when it finds nothing."""
        numbered = "\n".join(f"{number}: {line}" for number, line in lines.items())
        answer = self.role.ask({"document": numbered}, Audit, exact=True).answer
        if answer.behaviour == "none":
            return None
        passage = lines.get(answer.line, next(iter(lines.values())))
        return Finding(rule=f"{AUDITOR}{answer.behaviour}", severity="block", passage=passage[:200])


def audit_windows(text: str) -> Iterator[dict[int, str]]:
    """The lines of a text by number from 1 on, in windows that overlap and cover it to its end."""
    lines = [
        line[at : at + LINE_CHARACTERS]
        for line in text.splitlines()
        for at in range(0, max(len(line), 1), LINE_CHARACTERS)
    ]
    first = 0
    while first < len(lines):
        last = _reach(lines, first, WINDOW_CHARACTERS)
        yield {number + 1: lines[number] for number in range(first, last)}
        if last >= len(lines):
            return
        # step back over the end, and never to where this window began
        back = last
        while back > first + 1 and sum(map(len, lines[back - 1 : last])) <= OVERLAP_CHARACTERS:
            back -= 1
        first = back


def _reach(lines: list[str], first: int, room: int) -> int:
    """The line after the last one that fits."""
    last = first
    while last < len(lines) and (last == first or room >= len(lines[last])):
        room -= len(lines[last])
        last += 1
    return last


def unaudited(verdict: Verdict, reason: str, failure: Literal["review", "block"]) -> Verdict:
    """An allow that no model confirmed: for review, or blocked, as the policy says."""
    if not verdict.allowed:
        return verdict
    passage = 'the auditor did not read it, so it was judged offline; run "pickysteve ingest" again'
    return _with(verdict, Finding(rule=f"{UNAUDITED}{reason}", severity=failure, passage=passage))


def _with(verdict: Verdict, finding: Finding) -> Verdict:
    """The verdict with one more finding of severity block or review, the gravest first."""
    changes = {"risk": finding.severity, "findings": (finding, *verdict.findings)}
    return verdict.model_copy(update=changes | ({"allowed": False} if finding.severity == "block" else {}))


def unread_note(verdicts: Iterable[Verdict | None]) -> str:
    """What the record of a run says when some of its documents were not read by the auditor."""
    unread = [v for v in verdicts if v and any(f.rule.startswith(UNAUDITED) for f in v.findings)]
    return f"the auditor did not read {len(unread)} of the candidates" if unread else ""
