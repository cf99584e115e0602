"""Picture: a run as the live page shows it, drawn from what the stages gave so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pickysteve.connectors.evidence import evidence_columns, evidence_of
from pickysteve.registry.models import Verdict
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration
from pickysteve.tasks.values import Candidate, Candidates, Compatibility, Pick, Pool, Trace

__all__ = ["Picture", "request_line"]

SHOWN_CHARACTERS = 300
EVIDENCE_ROWS = 5
"""As many as `pickysteve pick --explain` prints."""

Row = dict[str, Any]


def request_line(text: str) -> str:
    """The start of a request, for a list."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@dataclass
class Picture:
    """Takes each stage's output; gives the candidates as rows, and the outcome in words."""

    verdict: Verdict | None = None
    found: Candidates | None = None
    pool: Pool | None = None
    pick: Pick | None = None
    compatibility: Compatibility | None = None
    columns: tuple[str, ...] = ()
    _evidence: dict[str, dict[str, float]] = field(default_factory=dict)

    def take(self, output: object, using: tuple[object, ...]) -> None:
        """What a stage gave, and the heavy things that it used."""
        if isinstance(output, Pool) and self.found is not None:
            self._weigh(self.found, using)
        for name, kind in (
            ("verdict", Verdict),
            ("found", Candidates),
            ("pool", Pool),
            ("pick", Pick),
            ("compatibility", Compatibility),
        ):
            if isinstance(output, kind):
                setattr(self, name, output)

    def _weigh(self, ranked: Candidates, using: tuple[object, ...]) -> None:
        index = next(each for each in using if isinstance(each, SearchIndex))
        fitted = next(each for each in using if isinstance(each, Calibration)).fitted
        self.columns = evidence_columns(fitted)
        for candidate in ranked.candidates[:EVIDENCE_ROWS]:
            examples = bool(index.skills[candidate.skill_id].examples)
            parts = evidence_of(candidate, fitted, has_examples=examples)
            self._evidence[candidate.unit_id] = {name: round(part, 4) for name, part in parts.items()}

    def rows(self) -> list[Row]:
        """One row a candidate, best first; those that the gate refused stand at the end."""
        if self.found is None:
            return []
        best: dict[str, str] = {}
        for candidate in self.found.candidates:
            best.setdefault(candidate.skill_id, candidate.unit_id)
        kept = [self._row(each, self._fate(each, best[each.skill_id])) for each in self.found.candidates]
        return [*kept, *(self._row(each, ("refused", _refusal(each))) for each in self.found.refused)]

    def _row(self, candidate: Candidate, fate: tuple[str, str]) -> Row:
        return {
            "skill": candidate.skill_id,
            "unit": candidate.unit_id,
            "score": candidate.score,
            "bm25": candidate.bm25,
            "cosine": candidate.dense,
            "rank": candidate.fused_rank,
            "gate": candidate.verdict.risk if candidate.verdict else None,
            "fate": fate[0],
            "why": fate[1],
            "evidence": self._evidence.get(candidate.unit_id),
        }

    def _fate(self, candidate: Candidate, best_unit: str) -> tuple[str, str]:
        skill_id = candidate.skill_id
        if self.pool is None:
            return "open", ""
        if candidate.unit_id != best_unit:
            return "part", f"{best_unit} stands for this skill"
        if self.pick is not None and skill_id in self.pick.skills:
            return "picked", "for its part of the request" if len(self.pick.skills) > 1 else ""
        if skill_id in self.pool.dropped:
            return "dropped", self.pool.dropped[skill_id]
        return "kept", "over the floor" if self.pick is None else "over the floor, not picked"

    def outcome(self, trace: Trace) -> dict[str, Any]:
        """The decision, and why it is this one and not that one."""
        pick = trace.pick
        return {
            "status": pick.status,
            "headline": _headline(pick),
            "picks": list(pick.skills),
            "ambiguous": pick.ambiguous,
            "low_confidence": pick.low_confidence,
            "confidence": pick.confidence,
            "floor": self.pool.floor if self.pool else None,
            "rules": list(self.verdict.blocking_rules) if self.verdict else [],
            "reasons": list(pick.reasons),
            "against": self._against(pick),
            "question": pick.question,
            "shortlist": [{"skill": skill, "about": about} for skill, about in pick.shortlist.items()],
            "columns": list(self.columns),
            "compatibility": _compatibility(self.compatibility),
            "degraded": [each.model_dump() for each in trace.degraded],
            "characters": len(trace.bundle.text),
            "run_id": trace.run_id,
            "milliseconds": trace.milliseconds,
        }

    def _against(self, pick: Pick) -> list[str]:
        """The runner-up by name, and what set the two apart."""
        if self.found is None or self.pool is None:
            return []
        ranked, least = self.found.candidates, self.pool.floor
        chosen = next((each for each in ranked if each.skill_id in pick.skills[:1]), None)
        others = [each for each in ranked if each.skill_id not in pick.skills]
        if chosen is None:
            return [_under(others[0], least)] if others else []
        floor = f"The floor is {least:.2f}: what is under it is picked only as one of two jobs."
        if not others:
            return ["There is no runner-up: nothing else was found.", floor]
        second = others[0]
        fate, why = self._fate(second, second.unit_id)
        score = "" if fate == "dropped" else f" with {second.score or 0:.2f}"
        lines = [f"The runner-up is {second.skill_id}{score}: {why}."]
        parts = self._evidence.get(chosen.unit_id), self._evidence.get(second.unit_id)
        if parts[0] is not None and parts[1] is not None:
            lines.append(_difference(chosen.skill_id, second.skill_id, parts[0], parts[1]))
        return [*lines, floor]


def _under(best: Candidate, floor: float) -> str:
    score = best.score or 0.0
    if score >= floor:
        return f"The best, {best.skill_id}, has {score:.2f} and was not taken; the floor is {floor:.2f}."
    return f"The best, {best.skill_id}, has {score:.2f}; the floor is {floor:.2f}."


def _difference(first: str, second: str, mine: Mapping[str, float], others: Mapping[str, float]) -> str:
    """The evidence that speaks for each of two skills, largest first, in log-odds."""
    gaps = sorted(((mine[name] - others[name], name) for name in mine), key=lambda gap: -abs(gap[0]))
    sides = []
    for skill, sign in ((first, 1), (second, -1)):
        parts = [f"{name} +{abs(gap):.1f}" for gap, name in gaps if sign * gap >= 0.05]
        if parts:
            sides.append(f"{', '.join(parts)} for {skill}")
    return f"In log-odds: {'; '.join(sides)}." if sides else "The evidence for both is alike."


def _refusal(candidate: Candidate) -> str:
    rules = candidate.verdict.blocking_rules if candidate.verdict else ()
    return f"refused by the gate: {', '.join(rules[:3])}" if rules else "refused by the gate"


def _headline(pick: Pick) -> str:
    return {
        "ok": " + ".join(pick.skills),
        "no_confident_match": "No confident match",
        "blocked_request": "Blocked: the request reads like an injection",
        "blocked_retrieved": "Blocked: the gate refused what was found",
    }[pick.status]


def _compatibility(found: Compatibility | None) -> str:
    if found is None or found.state == "single":
        return ""
    return f"{found.state}: {found.reason}" if found.reason else found.state
