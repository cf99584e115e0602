"""Skill files: a skill as the SKILL.md that we hand to others, its body inside the boundary."""

from __future__ import annotations

import json
import re
from hashlib import sha256

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.asking import check_skill
from pickysteve.flows.dag import Engines
from pickysteve.registry.models import Value
from pickysteve.seal import operator_seal
from pickysteve.tasks.assemble import Section, attribute, render
from pickysteve.tasks.gate import GateConfig, judge_documents
from pickysteve.tasks.values import Candidate, Candidates

__all__ = ["SkillFile", "judged_units", "skill_file", "skill_lines"]

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NONCE_DIGITS = 16


class SkillFile(Value):
    """One file, and what verifies it."""

    skill: str
    frontmatter: dict[str, str]
    text: str
    sha256: str
    size: int
    """In bytes of UTF-8."""


def judged_units(skill_id: str, engines: Engines, config: GateConfig) -> Candidates:
    """The units of a skill, as the document gate lets them pass."""
    units = engines.index.data.skills[skill_id].unit_ids
    named = (Candidate(unit_id=u, skill_id=skill_id, bm25=0.0, dense=0.0, fused_rank=1) for u in units)
    found = Candidates(candidates=tuple(named))
    return judge_documents(found, engines.index, engines.defender, config, engines.roles.auditor)


def skill_file(skill_id: str, engines: Engines, config: GateConfig) -> SkillFile:
    """The file of one skill.

    Raises SettingsInvalid for a skill that is not there, that the gate refuses, or whose id is no name
    by the Agent Skills specification.
    """
    check_skill(skill_id, engines.index.skills)
    gated = judged_units(skill_id, engines, config)
    if gated.aborted or not gated.candidates or not NAME.fullmatch(skill_id):
        raise SettingsInvalid(f"The skill {skill_id} is not served as a file: load it with get_skill.")
    units = engines.index.units_of(skill_id)
    sections = [
        Section(skill_id, unit.body, unit.source, part=f"{number}/{len(units)}")
        for number, unit in enumerate(units, start=1)
    ]
    frontmatter = {"name": skill_id, "description": attribute(units[0].description, 1024) or skill_id}
    head = "".join(f"{name}: {json.dumps(value)}\n" for name, value in frontmatter.items())
    text = f"---\n{head}---\n\n{_bounded(sections)}"
    content = text.encode()
    return SkillFile(
        skill=skill_id,
        frontmatter=frontmatter,
        text=text,
        sha256=sha256(content).hexdigest(),
        size=len(content),
    )


def _bounded(sections: list[Section]) -> str:
    """With a nonce that nobody else can foresee, and that stays while the text stays."""
    data, salt = repr(sections), 0
    while True:
        nonce = operator_seal().sign("skill-file", f"{salt}\0{data}".encode())[:NONCE_DIGITS]
        if nonce not in data:
            return render(sections, nonce)
        salt += 1


def skill_lines(skill_ids: list[str], engines: Engines) -> str:
    """A line for each skill inside the boundary; a description that the gate refused is left out."""
    sections = []
    for skill_id in skill_ids:
        units = engines.index.units_of(skill_id)
        line = " ".join(units[0].description.split())[:300] if units else "refused by the gate"
        sections.append(Section(skill_id, line, option=True))
    return _bounded(sections) if sections else ""
