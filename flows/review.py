"""Review: documents that the gate doubts or refuses, and what the operator decided about them.

A decision is about a text, by its hash: an edited document has to be decided again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_data_path

from pickysteve.errors import SettingsInvalid
from pickysteve.registry.index import IndexData
from pickysteve.registry.models import Finding, Value, Verdict
from pickysteve.seal import operator_seal
from pickysteve.tasks.gate import OPERATOR, text_digest

__all__ = [
    "Decision",
    "ReviewItem",
    "decide",
    "decided",
    "decisions_file",
    "read_decisions",
    "review_list",
]

Decision = Literal["allow", "refuse"]


class ReviewItem(Value):
    """A document for the operator's eyes."""

    unit_id: str
    source: str
    sha256: str
    """Of the scanned text: what a decision names."""
    risk: Literal["review", "block"]
    allowed: bool
    rules: tuple[str, ...]
    passage: str
    """Of the gravest finding."""
    decision: Decision | None = None


def decisions_file() -> Path:
    """Where the decisions are kept: in the operator's data folder."""
    return user_data_path("pickysteve") / "review.json"


def review_list(data: IndexData, decisions: Mapping[str, Decision]) -> tuple[ReviewItem, ...]:
    """Refused documents first, then the doubtful ones, each with the passage that was found."""
    items = []
    for unit in data.units.values():
        digest = text_digest(unit.text)
        verdict = data.verdicts.get(digest)
        if verdict is not None and (verdict.risk != "low" or digest in decisions):
            items.append(_item(unit.unit_id, unit.source, verdict, decisions.get(digest)))
    return tuple(sorted(items, key=lambda item: (item.allowed, item.unit_id)))


def _item(unit_id: str, source: str, verdict: Verdict, decision: Decision | None) -> ReviewItem:
    grave = [finding for finding in verdict.findings if finding.severity != "info"]
    return ReviewItem(
        unit_id=unit_id,
        source=source,
        sha256=verdict.sha256,
        risk="review" if verdict.risk == "low" else verdict.risk,
        allowed=verdict.allowed,
        rules=tuple(dict.fromkeys(finding.rule for finding in grave)),
        passage=grave[0].passage if grave else "",
        decision=decision,
    )


def read_decisions(path: Path | None = None) -> dict[str, Decision]:
    """The operator's decisions by content hash.

    Raises SettingsInvalid when the file was not written by this account, or was changed since.
    """
    file = path or decisions_file()
    if not file.is_file():
        return {}
    try:
        stored: dict[str, Any] = json.loads(file.read_bytes())
        decisions, seal = stored["decisions"], str(stored["seal"])
        genuine = operator_seal().verifies("review", _canonical(decisions), seal)
    except (ValueError, KeyError, TypeError, OSError):
        genuine = False
    if not genuine:
        raise SettingsInvalid(f'"{file}" is not what this account wrote: delete it and decide again.')
    return dict(decisions)


def decide(sha256: str, decision: Decision | None, path: Path | None = None) -> None:
    """Keep a decision about a text, or with None forget it; it counts from the next ingest on."""
    file = path or decisions_file()
    decisions = read_decisions(file)
    if decision is None:
        decisions.pop(sha256, None)
    else:
        decisions[sha256] = decision
    content = {
        "decisions": decisions,
        "seal": operator_seal().sign("review", _canonical(decisions)),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
    draft.replace(file)


def _canonical(decisions: Mapping[str, str]) -> bytes:
    return json.dumps(decisions, sort_keys=True).encode()


def decided(verdict: Verdict, decisions: Mapping[str, Decision]) -> Verdict:
    """The verdict as the operator's decision about its text makes it."""
    decision = decisions.get(verdict.sha256)
    if decision is None:
        return verdict
    allowed = decision == "allow"
    note = Finding(
        rule=OPERATOR, severity="info" if allowed else "block", passage=f"the operator said {decision}"
    )
    return verdict.model_copy(
        update={
            "allowed": allowed,
            "risk": "review" if allowed else "block",
            "findings": (note, *verdict.findings),
        }
    )
