"""Judge texts outside a request: files, corpora of lines, the red team."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pickysteve.errors import SuiteInvalid
from pickysteve.registry.models import Verdict
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, gate_fingerprint, judge_document, judge_request

__all__ = ["GateJudge", "Surface", "gate_judge", "judge_lines", "verdict_record"]

Surface = Literal["request", "document"]


@dataclass(frozen=True)
class GateJudge:
    """The gate without a flow around it."""

    guard: Guard
    config: GateConfig

    @cached_property
    def fingerprint(self) -> str:
        """Of the gate that judges."""
        return gate_fingerprint(self.guard, self.config)

    def judge(self, text: str, surface: str) -> Verdict:
        """Judge a text as what somebody asked, or as a document."""
        judge = judge_request if surface == "request" else judge_document
        return judge(text, self.guard, self.config)


def gate_judge(config: GateConfig) -> GateJudge:
    """A judge with the models of the embedded profile; nothing loads before the first text."""
    return GateJudge(Guard(), config)


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

    Raises SuiteInvalid, naming the line, for a line that is no such object.
    """
    for number, line in enumerate(lines, start=1):
        text, surface = _text_and_surface(line, number)
        yield json.dumps(verdict_record(judging.judge(text, surface)))


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
