"""Read a skill file: YAML frontmatter, strictly first, leniently where people's files need it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pickysteve.errors import SkillFormatError

__all__ = [
    "ExamplesFile",
    "ParsedSkill",
    "clean_tags",
    "first_paragraph",
    "listed",
    "parse_examples",
    "parse_skill",
    "split_frontmatter",
]

MAX_FRONTMATTER = 64 * 1024
MAX_EXAMPLE = 1000
FRONTMATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
LENIENT_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*)$")
# which files a rule is for: in Cursor, Copilot and Claude Code
GLOBS = ("globs", "applyTo", "paths")
ALWAYS = "alwaysApply"
# Cursor writes a glob without quotes, which YAML takes for an alias or a mapping
BARE_GLOB = re.compile(
    rf"^((?:{'|'.join(GLOBS)}):[ \t]+(?![\s\"'\[|>#])|[ \t]*-[ \t]+(?=\*))(.*)$", re.MULTILINE
)
LISTS = {"tags", "aliases", *GLOBS}
# an entry of a list on one line; commas in braces part nothing
ENTRY = re.compile(r"(?:[^,{]+|\{[^{}]*\}|\{)+")
HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
# the reader of a SKILL.md file expects one paragraph, not a novel
MAX_DESCRIPTION = 2048

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class ParsedSkill:
    """The fields of one skill file that PickySteve uses."""

    id: str
    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    body: str
    remark: str = ""
    """Why the frontmatter had to be read leniently; empty when it is valid YAML."""
    not_for: str = ""
    notes: str | None = None
    """What a user wrote below an exported note; None for every other file."""


class ExamplesFile(BaseModel):
    """examples.yaml: requests that the skill is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    examples: list[str] = Field(max_length=500)
    not_for: str = Field("", max_length=2000)
    origin: str = Field("author", min_length=1, max_length=100)


def parse_skill(text: str) -> ParsedSkill:
    """Split a skill file into its fields; raises SkillFormatError when it holds no text."""
    fields, body, remark = split_frontmatter(text)
    description = _scalar(fields.get("description")) or first_paragraph(body)
    if not body.strip() and not description:
        raise SkillFormatError("has neither a body nor a description")
    name = _scalar(fields.get("name"))
    heading = HEADING.search(body)
    title = name or (_without_closing(heading.group(1)) if heading else "")
    return ParsedSkill(
        id=_scalar(fields.get("id")),
        name=name,
        title=title[:200],
        description=description[:MAX_DESCRIPTION],
        tags=_tags(fields),
        body=body,
        remark=remark,
    )


def split_frontmatter(text: str) -> tuple[dict[str, Any], str, str]:
    """Frontmatter, body, and why it had to be read leniently; raises SkillFormatError when it cannot be."""
    match = FRONTMATTER.match(text)
    if match is None:
        return {}, text.strip("\n"), ""
    fields, remark = _frontmatter(match.group(1))
    return fields, text[match.end() :].strip("\n"), remark


def parse_examples(text: str) -> ExamplesFile:
    """Read an examples.yaml file; raises SkillFormatError in words that name what is wrong."""
    try:
        parsed = ExamplesFile.model_validate(_load(text))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SkillFormatError(f"is not a valid examples file ({_first_line(error)})") from error
    if any(not example.strip() or len(example) > MAX_EXAMPLE for example in parsed.examples):
        raise SkillFormatError(f"has an example that is empty or over {MAX_EXAMPLE} characters")
    return parsed


def _load(text: str) -> Any:
    """Plain YAML: aliases are refused, as a few of them make a small file expand without end."""
    if "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_Loader)):
        raise yaml.YAMLError("aliases are not read")
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc']) or 'top level'}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _frontmatter(block: str) -> tuple[dict[str, Any], str]:
    if len(block) > MAX_FRONTMATTER:
        raise SkillFormatError("has frontmatter over 64 KiB")
    try:
        loaded = _load(BARE_GLOB.sub(_quoted, block))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        fields = _lenient(block)
        if not any(
            re.search(r"[\w*]", fields.get(key, "")) for key in ("name", "description", *GLOBS, ALWAYS)
        ):
            raise SkillFormatError(f"has broken YAML frontmatter ({_first_line(error)})") from error
        return fields, f"has broken YAML frontmatter, read leniently ({_first_line(error)})"
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, dict):
        raise SkillFormatError("has frontmatter that is not a mapping")
    return {str(key): value for key, value in loaded.items()}, ""


def _quoted(match: re.Match[str]) -> str:
    value = _without_comment(match[2]).replace("'", "''")
    return f"{match[1]}'{value}'"


def _without_comment(value: str) -> str:
    return value.partition(" #")[0].rstrip()


def _lenient(block: str) -> dict[str, Any]:
    """Top-level `key: rest of the line`; indented lines continue the value before them."""
    fields: dict[str, Any] = {}
    key = ""
    for line in block.splitlines():
        if match := LENIENT_LINE.match(line):
            key, value = match.groups()
            value = _without_comment(value) if key in LISTS else value
            fields[key] = "" if value in {">", "|", ">-", "|-"} else value.strip().strip("\"'")
        elif key and line[:1].isspace() and line.strip():
            item = key in LISTS and line.strip().startswith("- ")
            more = f", {line.strip()[2:]}" if item else f" {line.strip()}"
            fields[key] = f"{fields[key]}{more}".strip(" ,")
    return fields


def _scalar(value: Any) -> str:
    if not isinstance(value, str | int | float | date):
        return ""
    try:
        return " ".join(str(value).split())
    except ValueError as error:
        raise SkillFormatError("has a number of thousands of digits in its frontmatter") from error


def _tags(fields: dict[str, Any]) -> tuple[str, ...]:
    """Tags, and of a rule the files that it is for."""
    metadata = fields.get("metadata")
    nested = metadata.get("tags") if isinstance(metadata, dict) else None
    tags = [*listed(fields.get("tags")), *listed(nested)]
    tags += [glob for name in GLOBS for glob in listed(fields.get(name))]
    return clean_tags([*tags, *(["always-apply"] if _scalar(fields.get(ALWAYS)).lower() == "true" else [])])


def listed(value: Any) -> list[str]:
    """The entries of a list, or of a line with commas between them."""
    parts = value if isinstance(value, list) else ENTRY.findall(_scalar(value or "").strip("[]"))
    return [_scalar(part) for part in parts]


def clean_tags(tags: list[str]) -> tuple[str, ...]:
    """Each tag once, cut to 100 characters, at most 50."""
    return tuple(dict.fromkeys(tag[:100].strip("\"'") for tag in tags if tag.strip("\"'")))[:50]


def _without_closing(heading: str) -> str:
    """The text of a heading without the hashes that may close it."""
    return heading.rstrip().rstrip("#").rstrip()


def first_paragraph(body: str) -> str:
    """The first lines of prose, for files that carry no description."""
    for block in re.split(r"\n\s*\n", body):
        prose = " ".join(
            line for line in block.splitlines() if not line.startswith(("#", "```", "---", "===", "|"))
        )
        if prose.strip():
            return " ".join(prose.split())[:300]
    return ""
