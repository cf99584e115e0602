"""Judge texts outside a request: files, corpora of lines, the red team."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pickysteve.errors import SuiteInvalid
from pickysteve.registry.models import Verdict
from pickysteve.tasks.audit import DocumentAuditor
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.gate import GateConfig, judge_document, judge_request
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.roles import Roles, open_roles

__all__ = ["GateJudge", "Surface", "gate_judge", "judge_lines", "verdict_record"]

Surface = Literal["request", "document"]


@dataclass(frozen=True)
class GateJudge:
    """The gate without a flow around it: it judges requests as a pick does, and documents as ingest does."""

    guard: Guard
    config: GateConfig
    roles: Roles = field(default_factory=Roles)

    @cached_property
    def fingerprint(self) -> str:
        """Of the gate that judges: its adjudicator's and its auditor's, where it has them."""
        both = (self.roles.adjudicator, self.roles.auditor)
        prints = [gate_fingerprint(self.guard, self.config, role) for role in both]
        return prints[0] if prints[0] == prints[1] else " ".join(prints)

    @cached_property
    def _audit(self) -> DocumentAuditor:
        return DocumentAuditor(self.roles.auditor, self.config.auditor_failure)

    def judge(self, text: str, surface: str) -> Verdict:
        """Judge a text as what somebody asked, or as a document."""
        if surface == "request":
            return judge_request(text, self.guard, self.config, self.roles.adjudicator)
        return self._audit.audited(text, judge_document(text, self.guard, self.config))


def gate_judge(config: GateConfig, llm: LlmConfig) -> GateJudge:
    """A judge with the models of the settings; nothing loads before the first text."""
    return GateJudge(Guard(), config, open_roles(llm))


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """What a program needs of a verdict."""
    return {
        "allowed": verdict.allowed,
        "risk": verdict.risk,
        "score": round(verdict.score, 6),
        "findings": [finding.model_dump(mode="json") for finding in verdict.findings],
    }


def judge_lines(lines: Iterable[str], judging: GateJudge) -> Iterator[str]:
    """One JSON line for each line of `{"text", "surface"}`, in order.

    All lines are checked before the first is judged, so that a bad one costs no work. Raises SuiteInvalid,
    naming the line, for a line that is no such object.
    """
    rows = [_text_and_surface(line, number) for number, line in enumerate(lines, start=1)]
    return (json.dumps(verdict_record(judging.judge(text, surface))) for text, surface in rows)


def _text_and_surface(line: str, number: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
        text, surface = row["text"], row.get("surface", "request")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _no_row(number) from error
    if not isinstance(text, str) or surface not in ("request", "document"):
        raise _no_row(number)
    return text, surface


def _no_row(number: int) -> SuiteInvalid:
    return SuiteInvalid(
        f'Line {number} is not {{"text": "...", "surface": "request" or "document"}}: correct it.'
    )
