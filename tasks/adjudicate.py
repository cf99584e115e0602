"""Adjudicate: a model decides on requests just above the gate's threshold. It can only rescue.

Blocked unasked are near-certain attacks, whatever is hidden or encoded, and what is too long to be
read. A model that fails, doubts or contradicts itself leaves the block as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import UNADJUDICATED, Finding, Value
from pickysteve.tasks.engines.guard import RequestReading
from pickysteve.tasks.roles import Role

__all__ = ["ADJUDICATED_CHARACTERS", "Adjudication", "adjudicated", "may_be_rescued"]

ADJUDICATED_CHARACTERS = 8_000
"""Longer requests stay blocked: a long text is where a payload hides from a model."""
UNREADABLE_VIEWS = frozenset({"hidden", "decoded", "deciphered", "reordered"})
"""Readings that stand in the text only in another form: a model that reads the text would miss them."""
HARMLESS = frozenset({"ordinary-work", "question-about-attacks"})


class Adjudication(Value):
    """What the model says of a request: words of ours only, so nothing of the request comes back."""

    asks_for: Literal[
        "ordinary-work",
        "question-about-attacks",
        "drop-its-instructions",
        "reveal-its-instructions-or-secrets",
        "play-a-part-without-limits",
        "harm",
        "cannot-tell",
    ]
    verdict: Literal["ordinary", "attack", "unsure"]


def may_be_rescued(
    text: str, findings: Sequence[Finding], reading: RequestReading, threshold: float, certain: float
) -> bool:
    """Whether a block rests on nothing but a score from `threshold` up to `certain`, of readable text."""
    over = [scored.window for scored in reading.windows if scored.score >= threshold]
    return (
        threshold <= reading.score < certain
        and all(finding.rule == "score" for finding in findings if finding.severity == "block")
        and not any(UNREADABLE_VIEWS.intersection(window.kind.split(">")) for window in over)
        and len(text) <= ADJUDICATED_CHARACTERS
    )


def adjudicated(text: str, findings: Sequence[Finding], adjudicator: Role) -> list[Finding]:
    """The findings of a block as the model leaves them: for review when it rescues the request.

    A model that fails is no error here: it is one more finding, and the block stands.
    """
    try:
        answer = adjudicator.ask({"request": text}, Adjudication, exact=True).answer
    except ModelUnavailable as failed:
        return [
            *findings,
            Finding(rule=f"{UNADJUDICATED}{failed.fault}", severity="block", passage=str(failed)[:200]),
        ]
    if answer.verdict == "ordinary" and answer.asks_for in HARMLESS:
        rescued = [found.model_copy(update={"severity": "review"}) for found in findings if _blocks(found)]
        rest = [found for found in findings if not _blocks(found)]
        return [*rescued, *rest, _said(answer.verdict, answer, "info")]
    # "ordinary" beside an attack's purpose is no answer to lean on
    rule = "ambiguous" if answer.verdict == "ordinary" else answer.verdict
    return [*findings, _said(rule, answer, "block")]


def _blocks(finding: Finding) -> bool:
    return finding.severity == "block"


def _said(rule: str, answer: Adjudication, severity: Literal["info", "block"]) -> Finding:
    passage = f"the model says {answer.verdict}, asking for {answer.asks_for}"
    return Finding(rule=f"adjudicator:{rule}", severity=severity, passage=passage)
