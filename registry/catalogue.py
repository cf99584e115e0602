"""From files to skills: which files form a skill, and what it is called."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pickysteve.errors import SkillFormatError
from pickysteve.registry.discover import Found, SourceFile
from pickysteve.registry.models import Example, Problem, Skill, Unit
from pickysteve.registry.parse import ExamplesFile, ParsedSkill, first_paragraph, parse_examples

__all__ = ["Catalogue", "build_catalogue"]

MARKDOWN = re.compile(r"\.mdc?$")
SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
NOT_SKILLS = {"readme", "license", "changelog", "contributing", "code_of_conduct", "security", "provenance"}
# what an agent is told about the folder that it works in; as a source of its own it is cut by heading
INSTRUCTIONS = {"AGENTS", "CLAUDE", "GEMINI"}


@dataclass
class Catalogue:
    """The skills of a registry with their units, sorted by id, and what was left out."""

    skills: dict[str, Skill] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    mirrors: list[str] = field(default_factory=list)
    """Exported notes of skills that are here; they add nothing to them."""


@dataclass(frozen=True)
class _Parsed:
    file: SourceFile
    skill: ParsedSkill
    home: str
    """The folder of the nearest SKILL.md above the file, or "" for a flat file."""

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.file.path)

    @property
    def is_main(self) -> bool:
        return self.path.name == "SKILL.md"


def build_catalogue(found: Found) -> Catalogue:
    """Group files into skills.

    A folder with a SKILL.md is one skill with every markdown file below it. Elsewhere each file is a
    skill, and files of one folder that carry the same `id` form one. A skill is called by its `id`,
    else by its `name` where that is a plain identifier, else by its folder or file.
    Notes that a user wrote on an exported skill are a further unit of it, where it is here.
    """
    catalogue = Catalogue(problems=list(found.problems))
    groups: dict[tuple[str, str], list[_Parsed]] = defaultdict(list)
    for parsed in _parse_all(found.markdown, catalogue.problems):
        groups[_group_of(parsed)].append(parsed)
    for (home, _), members in sorted(groups.items(), key=lambda item: _order(item[1][0])):
        _add_skill(catalogue, home, members)
    _add_examples(catalogue, found.examples)
    if catalogue.mirrors:
        reason = (
            f"{len(catalogue.mirrors)} exported notes are about skills that are here and add nothing to them"
        )
        path, remedy = (
            ", ".join(catalogue.mirrors),
            "nothing to do: write below a marker line to add something",
        )
        catalogue.problems.append(Problem(path=path, reason=reason, remedy=remedy, fatal=False))
    catalogue.skills = dict(sorted(catalogue.skills.items()))
    catalogue.units = dict(sorted(catalogue.units.items()))
    return catalogue


def _order(parsed: _Parsed) -> tuple[bool, int, str]:
    """Exported notes last, so that they find the skill that they are about."""
    return parsed.skill.notes is not None, parsed.file.rank, parsed.file.path


def _parse_all(files: list[SourceFile], problems: list[Problem]) -> list[_Parsed]:
    homes = {str(PurePosixPath(file.path).parent) for file in files if _name(file) == "SKILL.md"}
    kept = []
    for file in files:
        home = next((str(p) for p in PurePosixPath(file.path).parents if str(p) in homes), "")
        try:
            skill = file.parse(file.text)
        except SkillFormatError as error:
            problems.append(
                Problem(path=file.path, reason=str(error), remedy="give it valid frontmatter and text")
            )
            continue
        stem = PurePosixPath(file.path).stem
        if (stem.lower() in NOT_SKILLS or stem in INSTRUCTIONS) and not skill.name and not skill.id:
            reason = "looks like a document about the folder, not a skill"
            problems.append(Problem(path=file.path, reason=reason, remedy="give it a name: to ingest it"))
            continue
        if skill.remark:
            remedy = "quote values that contain a colon or a special character"
            problems.append(Problem(path=file.path, reason=skill.remark, remedy=remedy, fatal=False))
        kept.append(_Parsed(file, skill, home))
    return kept


def _name(file: SourceFile) -> str:
    return PurePosixPath(file.path).name


def _group_of(parsed: _Parsed) -> tuple[str, str]:
    if parsed.home and parsed.skill.notes is None:
        return (parsed.home, "")
    return (str(parsed.path.parent), parsed.skill.id or parsed.file.path)


def _skill_id(main: _Parsed) -> str:
    if main.skill.id:
        return _slug(main.skill.id)
    if SLUG.fullmatch(main.skill.name):
        return main.skill.name
    return _slug(main.path.parent.name if main.is_main and main.path.parent.name else main.path.stem)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:100] or "skill"


def _add_skill(catalogue: Catalogue, home: str, members: list[_Parsed]) -> None:
    members = sorted(members, key=lambda m: (not m.is_main, len(m.path.parts), m.file.path))
    main = members[0]
    if main.skill.notes is not None and _skill_id(main) in catalogue.skills:
        _add_notes(catalogue, main)
        return
    skill_id = _free_id(catalogue, main)
    if not skill_id:
        return
    units = [_unit(skill_id, member, home, alone=len(members) == 1) for member in members]
    catalogue.units.update((unit.unit_id, unit) for unit in units)
    catalogue.skills[skill_id] = Skill(
        skill_id=skill_id,
        title=main.skill.title or skill_id,
        description=main.skill.description,
        unit_ids=tuple(unit.unit_id for unit in units),
        not_for=main.skill.not_for,
    )


def _add_notes(catalogue: Catalogue, exported: _Parsed) -> None:
    """The user's part of an exported note; the rest of it is here already."""
    skill = catalogue.skills[_skill_id(exported)]
    unit_id, notes = f"{skill.skill_id}/vault-notes", exported.skill.notes or ""
    if not notes or unit_id in catalogue.units:
        catalogue.mirrors.append(exported.file.path)
        return
    catalogue.units[unit_id] = Unit(
        unit_id=unit_id,
        skill_id=skill.skill_id,
        title=f"Notes on {skill.title}"[:200],
        description=first_paragraph(notes),
        body=notes,
        source=exported.file.path,
        sha256=exported.file.sha256,
        file=exported.file.file,
    )
    unit_ids = (*skill.unit_ids, unit_id)
    catalogue.skills[skill.skill_id] = skill.model_copy(update={"unit_ids": unit_ids})


def _free_id(catalogue: Catalogue, main: _Parsed) -> str:
    """The skill's id; a taken one is an error when it was given as `id`, else it is qualified."""
    skill_id = _skill_id(main)
    if skill_id not in catalogue.skills:
        return skill_id
    first = catalogue.units[catalogue.skills[skill_id].unit_ids[0]]
    reason = f'has the id "{skill_id}" of {first.source}'
    place = main.path.parent if main.is_main else PurePosixPath(MARKDOWN.sub("", str(main.path)))
    qualified = _slug(str(place).replace("/", "."))
    if main.skill.id or first.sha256 == main.file.sha256 or qualified in catalogue.skills:
        remedy = "give one of them another id:" if main.skill.id else "remove one copy or rename it"
        catalogue.problems.append(Problem(path=main.file.path, reason=reason, remedy=remedy))
        return ""
    remedy = f'kept as "{qualified}": rename one of them to choose the id yourself'
    catalogue.problems.append(Problem(path=main.file.path, reason=reason, remedy=remedy, fatal=False))
    return qualified


def _unit(skill_id: str, parsed: _Parsed, home: str, *, alone: bool) -> Unit:
    base = PurePosixPath(home) if parsed.home else parsed.path.parent
    part = parsed.path.relative_to(base).with_suffix("").as_posix()
    return Unit(
        unit_id=skill_id if alone or parsed.is_main else f"{skill_id}/{part}",
        skill_id=skill_id,
        title=parsed.skill.title or parsed.path.stem,
        description=parsed.skill.description,
        tags=parsed.skill.tags,
        body=parsed.skill.body,
        source=parsed.file.path,
        sha256=parsed.file.sha256,
        file=parsed.file.file,
    )


def _add_examples(catalogue: Catalogue, files: list[SourceFile]) -> None:
    for file in files:
        try:
            parsed = parse_examples(file.text)
        except SkillFormatError as error:
            remedy = 'write it as "examples:" with a list of strings'
            catalogue.problems.append(Problem(path=file.path, reason=str(error), remedy=remedy))
            continue
        owners = _owners(catalogue, PurePosixPath(file.path))
        if len(owners) != 1:
            reason = f"belongs to {len(owners)} skills" if owners else "belongs to no skill"
            remedy = "put it into the skill's folder, or call it <file>.examples.yaml"
            catalogue.problems.append(Problem(path=file.path, reason=reason, remedy=remedy))
            continue
        _attach(catalogue, owners.pop(), parsed)


def _owners(catalogue: Catalogue, path: PurePosixPath) -> set[str]:
    """The skills that an examples file is about: those of its folder, or of the file that it names."""
    stem = path.name.removesuffix("examples.yaml").rstrip(".")
    beside = [unit for unit in catalogue.units.values() if PurePosixPath(unit.source).parent == path.parent]
    if stem:
        beside = [unit for unit in beside if PurePosixPath(unit.source).stem == stem]
    return {unit.skill_id for unit in beside}


def _attach(catalogue: Catalogue, skill_id: str, parsed: ExamplesFile) -> None:
    skill = catalogue.skills[skill_id]
    texts = dict.fromkeys(" ".join(text.split()) for text in parsed.examples)
    examples = tuple(Example(skill_id=skill_id, text=text, origin=parsed.origin) for text in texts)
    catalogue.skills[skill_id] = skill.model_copy(
        update={"examples": skill.examples + examples, "not_for": parsed.not_for or skill.not_for}
    )
