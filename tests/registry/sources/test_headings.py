"""A document is cut where its readers see headings, no line is lost, and names hold."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.errors import RegistryMissing
from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.sources.headings import cut_sections, read_document

PROSE = "Run the linter before each commit and read what it says. " * 6
lines = st.lists(
    st.sampled_from(
        ["# One", "## Two", "## Two", "### Deep", "```", "> ## Quoted", "", PROSE, "short", "Two\n---"]
    )
)


def read(folder: Path, text: str, name: str = "AGENTS.md") -> Catalogue:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return build_catalogue(read_document(folder / name))


def titles(catalogue: Catalogue) -> dict[str, str]:
    return {skill_id: skill.title for skill_id, skill in catalogue.skills.items()}


def test_each_section_is_a_skill_called_by_document_and_heading(tmp_path: Path) -> None:
    text = f"# My project\n\n{PROSE}\n\n## Build & test\n\n{PROSE}\n\n## `Style` guide ##\n\n{PROSE}\n"
    catalogue = read(tmp_path, text)
    assert titles(catalogue) == {
        "agents": "My project",
        "agents-build-test": "My project: Build & test",
        "agents-style-guide": "My project: Style guide",
    }
    unit = catalogue.units["agents-build-test"]
    assert (unit.source, unit.file) == ("AGENTS.md#build-test", str((tmp_path / "AGENTS.md").resolve()))
    assert unit.description.startswith("Run the linter")
    assert unit.body == f"## Build & test\n\n{PROSE}\n"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (PROSE, ["agents"]),
        (f"## Only\n{PROSE}", ["agents-only"]),
        (f"# Title\nshort\n## Build\n{PROSE}", ["agents-build"]),
        (f"## Build\n{PROSE}\n## Tiny\nshort", ["agents-build"]),
        ("# Title\n## A\nshort\n## B\nshort", ["agents"]),
        (f"## Same\n{PROSE}\n## Same\n{PROSE}", ["agents-same", "agents-same-2"]),
        (f"# One\n{PROSE}\n# Two\n{PROSE}\n## Same\n{PROSE}", ["agents", "agents-same", "agents-two"]),
        (f"Setext\n------\n{PROSE}", ["agents-setext"]),
        (f"## Build\n{PROSE}\n```\n## code\n```\n{PROSE}", ["agents-build"]),
        (f"## Build\n{PROSE}\n> ## quoted\n\n- ## listed\n{PROSE}", ["agents-build"]),
        (f"## Build\n{PROSE}\n### Deep\n{PROSE}", ["agents-build"]),
        (f"## 日本\n{PROSE}\n## 中文\n{PROSE}", ["agents-section", "agents-section-2"]),
        (f"---\nx: y\n---\n## Build\n{PROSE}", ["agents-build"]),
        (f"## Build\r\n{PROSE}\r## Mac\r{PROSE}", ["agents-build", "agents-mac"]),
    ],
)
def test_documents_are_cut_as_people_write_them(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert sorted(read(tmp_path, text).skills) == ids


def test_a_tiny_section_is_folded_into_one_under_the_same_heading(tmp_path: Path) -> None:
    text = f"# One\n## A\n{PROSE}\n## Tiny\nshort\n# Two\n## Tiny too\nshort\n## B\n{PROSE}\n"
    catalogue = read(tmp_path, text)
    assert "## Tiny\nshort" in catalogue.units["agents-a"].body
    assert catalogue.units["agents-b"].body.startswith("# Two\n## Tiny too\nshort\n## B")


@given(lines)
def test_no_line_is_lost_or_moved(parts: list[str]) -> None:
    body = "\n".join(parts)
    joined = "\n".join(section.text for section in cut_sections(body))
    assert [line for line in joined.split("\n") if line] == [line for line in body.split("\n") if line]


@settings(deadline=None)
@given(lines, lines)
def test_what_is_added_below_changes_no_name_above(
    tmp_path_factory, parts: list[str], more: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("document")
    head = f"# Title\n{PROSE}\n" + "\n".join(parts).replace("```", "") + f"\n\n## Last\n{PROSE}\n"
    before = read(folder, head)
    after = read(folder, head + "\n## More\n" + "\n".join(more))
    assert list(before.skills) == [skill for skill in after.skills if skill in before.skills]
    assert {unit.source for unit in before.units.values()} <= {unit.source for unit in after.units.values()}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "holds no text"), (b"\xff", "is not UTF-8"), (b"---\na: [b\n---\ntext", "broken YAML")],
)
def test_a_document_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "CLAUDE.md").write_bytes(content)
    found = read_document(tmp_path / "CLAUDE.md")
    (problem,) = found.problems
    assert problem.path == "CLAUDE.md" and reason in problem.reason and not found.markdown


def test_a_document_that_only_names_others_is_a_remark(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n\n@docs/style.md\n")
    found = read_document(tmp_path / "CLAUDE.md")
    assert not found.markdown and not found.problems[0].fatal


def test_a_missing_document_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RegistryMissing, match="name the document"):
        read_document(tmp_path / "AGENTS.md")


@pytest.mark.parametrize(
    "body",
    [
        ">" * 100_000,
        "# a\n" * 20_000,
        "[" * 100_000,
        "- " * 50_000,
        "`" * 100_000,
        "\n" * 200_000,
        "*a " * 50_000,
    ],
    ids=["quotes", "headings", "brackets", "lists", "ticks", "newlines", "stars"],
)
def test_hostile_shapes_are_cut_in_linear_time(body: str) -> None:
    started = time.process_time()
    cut_sections(body)
    assert time.process_time() - started < 5
