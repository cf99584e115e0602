"""Documents such as AGENTS.md or CLAUDE.md: cut at their headings, one skill a section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from pickysteve.errors import RegistryMissing, SkillFormatError
from pickysteve.registry.discover import Found, SourceFile, read_text_file
from pickysteve.registry.models import Problem
from pickysteve.registry.parse import ParsedSkill, first_paragraph, split_frontmatter
from pickysteve.registry.slugs import free_slug, plain_slug

__all__ = ["Section", "cut_sections", "read_document"]

# a section with less text than this says too little to be picked by itself
TINY_CHARACTERS = 200
DEEPEST = 2
MARKUP = re.compile(r"[`*_]+")


@dataclass(frozen=True)
class Section:
    """Consecutive lines of a document under one heading."""

    heading: str
    """Empty for what stands before the first heading."""
    parent: str
    """The heading of level 1 above it, or its own."""
    text: str
    """Begins with the line of the heading."""

    @property
    def is_tiny(self) -> bool:
        """Whether it says too little to stand alone; the heading does not count."""
        return len(self.text.strip()) - len(self.heading) < TINY_CHARACTERS


def read_document(path: Path) -> Found:
    """The sections of one markdown file, each as a skill; raises RegistryMissing when there is none."""
    if not path.is_file():
        raise RegistryMissing(f'There is no file "{path}": name the document that holds your instructions.')
    read = read_text_file(path, path.parent)
    if isinstance(read, Problem):
        return Found(problems=[read])
    try:
        _, body, _ = split_frontmatter(read.text)
    except SkillFormatError as error:
        remedy = "correct its frontmatter, or take it away"
        return Found(problems=[Problem(path=read.path, reason=str(error), remedy=remedy)])
    sections = cut_sections(body)
    if not sections:
        return Found(problems=[Problem(path=read.path, reason="holds no text", remedy="write into it")])
    if all(line.startswith("@") for line in body.split()):
        reason, remedy = "only names other files", "nothing to do, or ingest the files that it names"
        return Found(problems=[Problem(path=read.path, reason=reason, remedy=remedy, fatal=False)])
    return Found(markdown=list(_files(replace(read, file=str(path.resolve())), sections)))


def _files(whole: SourceFile, sections: list[Section]) -> Iterator[SourceFile]:
    name = Path(whole.path).stem
    taken: set[str] = set()
    for section in sections:
        # what stands under the document's own title is called like the document
        is_opening = section is sections[0] and section.heading == section.parent
        slug = "" if is_opening else free_slug(_slug(section.heading), taken)
        parsed = ParsedSkill(
            id="",
            name=f"{_slug(name)}-{slug}" if slug else _slug(name),
            title=_title(section, name)[:200],
            description=_description(section),
            tags=(),
            body=section.text,
        )
        place = f"{whole.path}#{slug}" if slug else whole.path
        yield replace(whole, path=place, text=section.text, parse=partial(_as_parsed, parsed))


def _description(section: Section) -> str:
    below = section.text.partition("\n")[2] if section.heading else section.text
    return first_paragraph(below) or section.heading


def _as_parsed(parsed: ParsedSkill, _text: str) -> ParsedSkill:
    return parsed


def _title(section: Section, name: str) -> str:
    if not section.heading or section.heading == section.parent:
        return section.heading or name
    return f"{section.parent or name}: {section.heading}"


def _slug(text: str) -> str:
    return plain_slug(text, otherwise="section")


def cut_sections(body: str) -> list[Section]:
    """Cut at headings of level 1 and 2; tiny sections are folded into a neighbour, so no line is lost."""
    folded: list[Section] = []
    ahead: list[Section] = []
    for piece in _pieces(body):
        if not piece.is_tiny:
            folded.append(_joined([*ahead, piece], heir=piece))
            ahead = []
        elif folded and not ahead and folded[-1].parent == piece.parent:
            folded[-1] = _joined([folded[-1], piece], heir=folded[-1])
        else:
            ahead.append(piece)
    if ahead:
        before = folded[-1:]
        folded[len(folded) - len(before) :] = [_joined([*before, *ahead], heir=(before or ahead)[0])]
    return folded


def _joined(parts: list[Section], heir: Section) -> Section:
    return replace(heir, text="\n".join(part.text for part in parts))


def _pieces(body: str) -> Iterator[Section]:
    body = body.replace("\r", "\n")
    lines = body.split("\n")
    starts = list(_headings(body))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, 0, ""))
    parent = ""
    for (line, level, heading), (end, *_) in zip(starts, [*starts[1:], (len(lines), 0, "")], strict=True):
        parent = heading if level == 1 else parent
        if "".join(lines[line:end]).strip():
            yield Section(heading, parent, "\n".join(lines[line:end]))


def _headings(body: str) -> Iterator[tuple[int, int, str]]:
    """(line, level, text) of the headings that cut; those in code, quotes or lists do not."""
    tokens = MarkdownIt("commonmark").disable("inline").parse(body)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            level = int(opening.tag[1:])
            if level <= DEEPEST:
                yield opening.map[0], level, MARKUP.sub("", inline.content).strip()
