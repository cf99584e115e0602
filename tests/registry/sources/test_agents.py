"""Agents' own folders are found in the project and at home, counted, and a shared one is named once."""

import re
from pathlib import Path

import pytest

from pickysteve.registry.sources.agents import PLACES, find_places, project_root

SKILL = "---\nname: review\ndescription: Reviews things.\n---\nBody.\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project, home):
        folder.mkdir()
    return project, home


def write(root: Path, path: str, text: str = SKILL) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def test_places_are_found_with_their_counts_the_projects_first(folders) -> None:
    project, home = folders
    write(home, ".claude/skills/review/SKILL.md")
    write(home, ".config/opencode/skills/review/SKILL.md")
    write(project, ".cursor/rules/style.mdc", "---\nglobs: **/*.ts\n---\nUse types.\n")
    write(project, ".cursor/rules/broken.mdc", "")
    write(project, "AGENTS.md", "## Build\n\nRun make.\n")
    found = [
        (p.source.name, p.source.kind, p.scope, p.skills, p.left_out) for p in find_places(project, home, {})
    ]
    assert found == [
        ("cursor-rules", "skills", "project", 1, 1),
        ("agents-md", "document", "project", 1, 0),
        ("claude-home", "skills", "home", 1, 0),
        ("opencode-home", "skills", "home", 1, 0),
    ]


def test_variables_move_an_agents_home(folders, tmp_path: Path) -> None:
    project, home = folders
    write(tmp_path, "codex/skills/review/SKILL.md")
    write(home, ".codex/skills/review/SKILL.md")
    (place,) = find_places(project, home, {"CODEX_HOME": str(tmp_path / "codex")})
    assert place.source.path == str((tmp_path / "codex" / "skills").resolve())


def test_one_folder_under_two_names_is_marked(folders) -> None:
    project, home = folders
    write(project, ".agents/skills/review/SKILL.md")
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to(project / ".agents" / "skills", target_is_directory=True)
    write(project, "AGENTS.md", "## Build\n\nRun make.\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    same = {place.source.name: place.same_as for place in find_places(project, home, {})}
    assert same == {"agents": "", "claude": "agents", "agents-md": "", "claude-md": "agents-md"}


def test_skills_that_are_linked_from_another_place_are_not_left_out(folders) -> None:
    project, home = folders
    write(home, ".agents/skills/review/SKILL.md")
    (project / ".claude" / "skills").mkdir(parents=True)
    link = project / ".claude" / "skills" / "review"
    link.symlink_to(home / ".agents" / "skills" / "review", target_is_directory=True)
    counts = {place.source.name: (place.skills, place.left_out) for place in find_places(project, home, {})}
    assert counts == {"claude": (0, 0), "agents-home": (1, 0)}


def test_in_the_home_folder_itself_nothing_is_found_twice(folders) -> None:
    _, home = folders
    write(home, ".claude/skills/review/SKILL.md")
    assert [place.source.name for place in find_places(home, home, {})] == ["claude-home"]


def test_the_project_is_the_repository_around_the_folder(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "loose").mkdir()
    assert project_root(tmp_path / "repo" / "deep" / "er") == (tmp_path / "repo").resolve()
    assert project_root(tmp_path / "loose") == (tmp_path / "loose").resolve()


def test_the_table_names_each_place_once_and_inside_the_project_or_home() -> None:
    assert len({place.name for place in PLACES}) == len(PLACES)
    for place in PLACES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", place.name)
        assert place.project or place.home
        assert not any(path.startswith(("/", "~")) or ".." in path for path in (place.project, place.home))
        assert not place.variable or place.home
