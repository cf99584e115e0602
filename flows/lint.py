"""Lint: what makes skills of a registry hard to find, impossible to deliver, or superfluous."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from pickysteve.flows.dag import Engines
from pickysteve.flows.reach import Reach, skill_reach
from pickysteve.flows.settings import Settings
from pickysteve.registry.duplicates import families, near_duplicates
from pickysteve.registry.models import Skill, Value, Verdict
from pickysteve.tasks.engines.index import SearchIndex

__all__ = ["LintFinding", "lint_registry"]

SHORT_DESCRIPTION = 40
LONG_DESCRIPTION = 1024
COPY_JACCARD = 0.6
"""Share of common three-word shingles from which two texts are near copies."""
OVERLAP_COSINE = 0.9
"""Cosine of title, description and tags from which two skills promise the same."""
FEW = 3
"""Requests under which a skill that none of them finds is only a remark."""
Progress = Callable[[str, int, int], None]


class LintFinding(Value):
    """One thing to mend, or to know."""

    rule: str
    path: str
    """The file or the skill."""
    reason: str
    remedy: str
    fatal: bool = False
    """Must be mended; a remark otherwise."""
    related: tuple[str, ...] = ()
    """Other skills that it is about."""


def lint_registry(
    engines: Engines, settings: Settings, progress: Progress = lambda *_: None
) -> tuple[LintFinding, ...]:
    """All findings, what must be mended first; the index should be up to date."""
    index = engines.index
    copies, kin = _copies(index)
    found = [
        *_ingest_problems(index),
        *copies,
        *_reach_findings(skill_reach(engines, settings, progress), settings.floor.largest_set),
        *_overlaps(index, kin),
        *(finding for skill in index.skills.values() for finding in _skill_remarks(skill)),
        *_suspicions(index),
    ]
    return tuple(sorted(found, key=lambda finding: not finding.fatal))


def _ingest_problems(index: SearchIndex) -> Iterator[LintFinding]:
    refused = {
        unit.source for unit in index.data.units.values() if not _allowed(index.verdict_of(unit.unit_id))
    }
    for problem in index.data.problems:
        rule = "gate-block" if problem.path in refused else "left-out" if problem.fatal else "ingest"
        yield LintFinding(rule=rule, **problem.model_dump())


def _allowed(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.allowed is True


def _copies(index: SearchIndex) -> tuple[list[LintFinding], set[frozenset[str]]]:
    """A finding for each copy that could go, and the pairs of skills that are kin in this way."""
    bodies = {
        skill_id: "\n".join(unit.body for unit in index.units_of(skill_id)) for skill_id in index.skills
    }
    pairs = near_duplicates(
        {skill_id: body for skill_id, body in bodies.items() if body.strip()}, COPY_JACCARD
    )
    nearness = {frozenset((pair.first, pair.second)): pair.jaccard for pair in pairs}
    found = []
    for family in families([(pair.first, pair.second) for pair in pairs]):
        kept, why = _freshest([index.skills[skill_id] for skill_id in family], index)
        for skill_id in (name for name in family if name != kept):
            share = nearness.get(frozenset((kept, skill_id)))
            near = f"shares {share:.0%} of its phrases with" if share else "is, over others, a near copy of"
            found.append(
                LintFinding(
                    rule="near-duplicate",
                    path=skill_id,
                    reason=f"{near} {kept} (a family of {len(family)})",
                    remedy=f"keep {kept}, which {why}; merge what is new here into it, and remove this one",
                    fatal=True,
                    related=tuple(name for name in family if name != skill_id),
                )
            )
    return found, set(nearness)


def _freshest(skills: list[Skill], index: SearchIndex) -> tuple[str, str]:
    """The member of a family that is worth keeping, and why that one."""
    changed = {skill.skill_id: _changed_on(skill, index) for skill in skills}
    examples = {skill.skill_id: len(skill.examples) for skill in skills}
    words = {
        skill.skill_id: sum(len(unit.body.split()) for unit in index.units_of(skill.skill_id))
        for skill in skills
    }
    best = min(
        (skill.skill_id for skill in skills),
        key=lambda name: (-changed[name].toordinal(), -examples[name], -words[name], name),
    )
    others = [name for name in changed if name != best]
    if all(changed[best] > changed[name] for name in others):
        return best, f"changed last, on {changed[best]:%Y-%m-%d}"
    if all(examples[best] > examples[name] for name in others):
        return best, f"is as fresh and has the most examples ({examples[best]})"
    if all(words[best] > words[name] for name in others):
        return best, f"is as fresh and the longest ({words[best]} words)"
    return best, "is as fresh as the others and comes first by name"


def _changed_on(skill: Skill, index: SearchIndex) -> datetime:
    """The day on which a file of the skill changed last; files that are gone count as oldest."""
    paths = [Path(index.data.root) / index.unit(unit_id).source for unit_id in skill.unit_ids]
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    # by day: a checkout gives all files the same time but for moments
    return datetime.fromtimestamp(max(times, default=0), UTC).replace(
        hour=0, minute=0, second=0, microsecond=0
    )


def _reach_findings(reaches: tuple[Reach, ...], longest: int) -> Iterator[LintFinding]:
    for reach in reaches:
        if reach.asked and not reach.first:
            unreachable = not reach.shortlisted
            yield LintFinding(
                rule="unreachable" if unreachable else "never-wins",
                path=reach.skill_id,
                reason=_reach_reason(reach, longest),
                remedy=_reach_remedy(reach),
                fatal=unreachable and (reach.by_description or reach.asked >= FEW),
                related=tuple(reach.instead),
            )


def _reach_reason(reach: Reach, longest: int) -> str:
    instead = ", ".join(f"{name} {count}" for name, count in list(reach.instead.items())[:3])
    place = f"among the first {longest}" if not reach.shortlisted else "first"
    if reach.by_description:
        return f"is not {place} for its own description (first is {', '.join(reach.instead)})"
    return (
        f"is {place} for none of its {reach.asked} examples, each left out in turn (first instead: {instead})"
    )


def _reach_remedy(reach: Reach) -> str:
    if reach.by_description:
        return "say in the description what only this skill does, and write example requests"
    return "say in the description what only this skill does, or merge it with what is found instead"


def _overlaps(index: SearchIndex, kin: set[frozenset[str]]) -> Iterator[LintFinding]:
    """Each skill with the one whose promise is nearest, where that is too near; copies are told elsewhere."""
    ids = list(index.skills)
    heads = index.heads[[index.skill_rows[skill_id][0] for skill_id in ids]]
    nearness = heads @ heads.T
    np.fill_diagonal(nearness, -1.0)
    told: set[frozenset[str]] = set(kin)
    for row, other in enumerate(nearness.argmax(axis=1) if len(ids) > 1 else ()):
        pair = frozenset((ids[row], ids[other]))
        if nearness[row, other] >= OVERLAP_COSINE and pair not in told:
            told.add(pair)
            yield LintFinding(
                rule="overlapping-description",
                path=ids[row],
                reason=f"promises nearly the same as {ids[other]} (cosine {nearness[row, other]:.2f})",
                remedy="say in both what the other is for, or merge them",
                related=(ids[other],),
            )


def _skill_remarks(skill: Skill) -> Iterator[LintFinding]:
    length = len(skill.description)
    if length < SHORT_DESCRIPTION or length > LONG_DESCRIPTION:
        short = length < SHORT_DESCRIPTION
        yield LintFinding(
            rule="short-description" if short else "long-description",
            path=skill.skill_id,
            reason=f"has a description of {length:,} characters",
            remedy="say what it does and when to use it" if short else "keep it under 1,024",
        )
    if not skill.examples:
        yield LintFinding(
            rule="no-examples",
            path=skill.skill_id,
            reason="has no example requests",
            remedy="write ten into examples.yaml beside it: they are the strongest help there is",
        )


def _suspicions(index: SearchIndex) -> Iterator[LintFinding]:
    for unit_id in index.unit_ids:
        verdict = index.verdict_of(unit_id)
        if verdict is not None and verdict.risk == "review":
            rules = ", ".join(dict.fromkeys(finding.rule for finding in verdict.findings))
            yield LintFinding(
                rule="gate-review",
                path=unit_id,
                reason=f"looks suspicious to the gate ({rules}, score {verdict.score:.2f})",
                remedy="read the passage; it is delivered as data",
            )
