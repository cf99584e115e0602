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
from pickysteve.registry.index_tables import IndexData
from pickysteve.registry.models import Finding, Unit, Value, Verdict
from pickysteve.seal import operator_seal
from pickysteve.tasks.gate import OPERATOR, text_digest

__all__ = [
    "SHOWN_DIGITS",
    "Decision",
    "ReviewItem",
    "decide",
    "decided",
    "decisions_file",
    "find_text",
    "follows",
    "read_decisions",
    "review_list",
]

Decision = Literal["allow", "refuse"]
SHORTEST_PREFIX = 4
SHOWN_DIGITS = 12
"""How much of a hash the list shows; enough to be unique."""


class ReviewItem(Value):
    """A text for the operator's eyes."""

    unit_id: str
    """Empty for an example or a not-for note."""
    skill_id: str
    source: str
    sha256: str
    """Of the scanned text: what a decision names."""
    risk: Literal["review", "block"]
    allowed: bool
    score: float
    rules: tuple[str, ...]
    passage: str
    """Of the gravest finding."""
    decision: Decision | None = None

    @property
    def kind(self) -> Literal["refused", "doubtful", "decided"]:
        """What the operator has to do with it: mend or allow it, look at it, or nothing."""
        return "decided" if self.decision else "doubtful" if self.allowed else "refused"


def decisions_file() -> Path:
    """Where the decisions are kept: in the operator's data folder."""
    return user_data_path("pickysteve") / "review.json"


def review_list(data: IndexData, decisions: Mapping[str, Decision]) -> tuple[ReviewItem, ...]:
    """Refused texts first, then the doubtful ones, the gravest first; what was decided comes last."""
    units = {text_digest(unit.text): unit for unit in data.units.values()}
    items = [
        _item(units.get(digest), verdict, decisions.get(digest))
        for digest, verdict in data.verdicts.items()
        if not verdict.allowed or digest in decisions or (verdict.risk != "low" and digest in units)
    ]
    return tuple(sorted(items, key=_order))


def _order(item: ReviewItem) -> tuple[object, ...]:
    """The scanner scores ordinary files high too, so what another rule found weighs more than its score."""
    found = [rule for rule in item.rules if rule != "classifier"]
    kinds = ("refused", "doubtful", "decided")
    return kinds.index(item.kind), -len(found), -item.score, item.unit_id, item.sha256


def _item(unit: Unit | None, verdict: Verdict, decision: Decision | None) -> ReviewItem:
    grave = [found for found in verdict.findings if found.severity != "info" and found.rule != OPERATOR]
    return ReviewItem(
        unit_id=unit.unit_id if unit else "",
        skill_id=unit.skill_id if unit else "",
        source=unit.source if unit else "an example or not-for note",
        sha256=verdict.sha256,
        risk="review" if verdict.risk == "low" else verdict.risk,
        allowed=verdict.allowed,
        score=verdict.score,
        rules=tuple(dict.fromkeys(finding.rule for finding in grave)),
        passage=grave[0].passage if grave else "",
        decision=decision,
    )


def find_text(target: str, data: IndexData, decisions: Mapping[str, Decision], *, decided: bool) -> str:
    """The hash of the one text that a skill's id, a unit's id, or the start of a hash names.

    With `decided`, of those that there is a decision about, in whichever registry. Raises
    SettingsInvalid when there is none or more than one.
    """
    listed = {item.sha256 for item in review_list(data, decisions)}
    of_skill = {text_digest(u.text): u.unit_id for u in data.units.values() if u.skill_id == target}
    # of a skill of many files those on the list are meant, where there are any
    found = set(of_skill) & listed or set(of_skill)
    found |= {text_digest(u.text) for u in data.units.values() if u.unit_id == target}
    known = set(decisions) if decided else set(data.verdicts)
    if len(target) >= SHORTEST_PREFIX:
        found |= {digest for digest in known if digest.startswith(target.lower())}
    found &= known
    if len(found) == 1:
        return found.pop()
    if not found:
        what = "decision about" if decided else "text in the registry that is"
        raise SettingsInvalid(f'There is no {what} "{target}": see "pickysteve skills review --all".')
    some = ", ".join(sorted(digest[:SHOWN_DIGITS] for digest in found)[:5])
    raise SettingsInvalid(f'"{target}" names {len(found)} texts: give more of the hash of one ({some}).')


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
    """Keep a decision about a text, or with None forget it; an index follows at its next ingest."""
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


def follows(verdicts: Mapping[str, Verdict], decisions: Mapping[str, Decision]) -> bool:
    """Whether the verdicts of an index are what the decisions of now make of them.

    One that was made before a decision, or put back in its place, does not.
    """
    return all(
        [found.rule for found in verdict.findings].count(OPERATOR) == (digest in decisions)
        and (digest not in decisions or verdict.allowed is (decisions[digest] == "allow"))
        for digest, verdict in verdicts.items()
    )
