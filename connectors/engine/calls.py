"""Calls: what a client may ask of the engine, as plain data in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pickysteve.connectors.render import pick_json
from pickysteve.errors import RequestInvalid
from pickysteve.flows.service import PAGE, PickService

__all__ = ["CALLS", "answer", "read_call"]

Progress = Callable[[str, int, int], None]


class _Call(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PickContext(_Call):
    """Pick the context for one request."""

    text: str
    exclude: tuple[str, ...] = ()

    def __call__(self, service: PickService) -> dict[str, Any]:
        """The stable form of a pick for programs."""
        return pick_json(service.pick(self.text, self.exclude))


class ListSkills(_Call):
    """A page of the registry."""

    cursor: int = Field(0, ge=0)
    limit: int = Field(PAGE, ge=1, le=200)
    bare: bool = False

    def __call__(self, service: PickService) -> dict[str, Any]:
        """Ids, a bounded line for each, total and next cursor."""
        return service.skills(self.cursor, self.limit, bare=self.bare).model_dump(mode="json")


class SkillLines(_Call):
    """A line for each of some skills."""

    skills: tuple[str, ...] = Field(max_length=20)

    def __call__(self, service: PickService) -> dict[str, Any]:
        """The lines, bounded."""
        return {"context": service.lines(self.skills)}


class ListSkillFiles(_Call):
    """A page of the skills as files."""

    cursor: int = Field(0, ge=0)

    def __call__(self, service: PickService) -> dict[str, Any]:
        """Files and next cursor."""
        return service.skill_files(self.cursor).model_dump(mode="json")


class GetSkillFile(_Call):
    """One skill as a file."""

    skill: str

    def __call__(self, service: PickService) -> dict[str, Any]:
        """Frontmatter, text, digest and size."""
        return service.skill_file(self.skill).model_dump(mode="json")


class GetSkill(_Call):
    """One skill, judged and bounded; with a run, the caller's choice from its shortlist."""

    skill: str
    run_id: str = ""

    def __call__(self, service: PickService) -> dict[str, Any]:
        """The same form as a pick."""
        return pick_json(service.skill(self.skill, self.run_id))


class AddExamples(_Call):
    """Keep requests that a caller wrote as examples of a skill."""

    skill: str
    texts: tuple[str, ...] = Field(min_length=1, max_length=20)
    origin: str = Field(max_length=80)

    def __call__(self, service: PickService) -> dict[str, Any]:
        """How many were kept, and which the gate refused."""
        refused = service.add_examples(self.skill, self.texts, self.origin)
        return {"kept": len(self.texts) - len(refused), "refused": list(refused)}


CALLS: dict[str, type[_Call]] = {
    "lines": SkillLines,
    "pick": PickContext,
    "skills": ListSkills,
    "skill": GetSkill,
    "skill_file": GetSkillFile,
    "skill_files": ListSkillFiles,
    "add_examples": AddExamples,
}


def read_call(name: str, arguments: dict[str, Any]) -> _Call:
    """The call with its arguments. Raises RequestInvalid where it does not exist or they do not fit."""
    kind = CALLS.get(name)
    if kind is None:
        raise RequestInvalid(f"There is no call {name!r}: use one of {', '.join(CALLS)}.")
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RequestInvalid(f"The argument {place} does not fit ({first['msg']}): correct it.") from error


def answer(service: PickService, message: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run one call. Raises RequestInvalid for a call that does not exist or does not fit."""
    call: Any = read_call(str(message.get("call")), message.get("arguments", {}))
    with service.reporting(progress):
        return dict(call(service))
