"""Ingest from anywhere and export, as a user meets them: real processes, one sentence for a mistake."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "pickysteve")
RULE = "---\ndescription: Strict types: no any\nglobs: **/*.ts\n---\nNever use any in TypeScript code.\n"
SKILL = "---\nname: ship-it\ndescription: Ships a release to production on Fridays.\n---\nTag, build, ship.\n"


@pytest.fixture
def shell(tmp_path, small_settings):
    """Run the installed command in a project of a user whose home is empty."""
    project, home = tmp_path / "project", tmp_path / "user"
    (project / ".git").mkdir(parents=True)
    home.mkdir()

    def run(*words, **variables):
        environment = {
            **os.environ,
            "HOME": str(home),
            "PS_REGISTRY": str(small_settings.registry),
            "PS_INDEX_DIR": str(small_settings.index_dir),
            "PS_RUNS_DIR": str(tmp_path / "runs"),
            **{name: str(value) for name, value in variables.items()},
        }
        return subprocess.run(
            [COMMAND, *map(str, words)],
            env=environment,
            cwd=project,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def test_agents_folders_are_listed_and_chosen_ones_become_a_registry(engines, shell, tmp_path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    write(project, ".cursor/rules/types.mdc", RULE)
    write(project, "AGENTS.md", "## Build\n\nRun make.\n")
    write(user, ".claude/skills/ship-it/SKILL.md", SKILL)
    listed = shell("ingest", "--discover")
    assert listed.returncode == 0, listed.stderr
    assert all(name in listed.stdout for name in ("cursor-rules", "agents-md", "claude-home"))
    places = json.loads(shell("ingest", "--discover", "--json").stdout)
    assert [place["source"]["name"] for place in places] == ["cursor-rules", "agents-md", "claude-home"]
    assert not (tmp_path / "set.toml").exists()

    chosen = ("--only", "cursor-rules", "--only", "claude-home", "--set", tmp_path / "set.toml")
    done = shell("ingest", "--discover", *chosen, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["skills"], report["sources"]) == (2, {"claude-home": 1, "cursor-rules": 1})
    assert [problem["path"] for problem in report["problems"]] == ["cursor-rules/types.mdc"]
    picked = shell("pick", "ship the release to production", "--registry", tmp_path / "set.toml", "--json")
    answer = json.loads(picked.stdout)
    assert answer["picks"] == ["ship-it"]
    assert 'source="claude-home/ship-it/SKILL.md"' in answer["bundle"]
    assert 'stale="false"' in answer["bundle"]


def test_a_repository_and_a_server_become_a_registry(
    engines, shell, repository, tool_server, tmp_path
) -> None:
    words = (
        "--git",
        f"{repository}#skills",
        "--mcp",
        shlex.join(tool_server()),
        "--set",
        tmp_path / "set.toml",
    )
    done = shell("ingest", *words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fetched team-skills: commit ")
    assert lines[1:4] == ["fetched files-more: 3 tools", "files-more: 3 texts", "team-skills: 1 texts"]
    assert f"--registry {tmp_path / 'set.toml'}" in lines[-1]
    shown = json.loads(shell("skills", "list", "--registry", tmp_path / "set.toml", "--json").stdout)
    assert {skill["id"] for skill in shown} == {
        *("files-more-list-folder", "files-more-read-file", "files-more-write-file", "ship-it")
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ingest"], "name a folder"),
        (["ingest", "--all"], "--discover"),
        (["ingest", "--discover", "--all"], "No agent"),
        (["ingest", "--discover", "--only", "nowhere"], "--discover"),
        (["ingest", "nowhere.toml"], "nowhere.toml"),
        (["export", "obsidian", "--vault", "nowhere"], "nowhere"),
    ],
)
def test_a_mistake_gets_one_sentence(engines, shell, words: list[str], said: str) -> None:
    result = shell(*words)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert result.returncode == 2
    assert len(lines) == 1 and lines[0].startswith("pickysteve: ") and said in lines[0], result.stderr


def test_the_export_is_told_in_words_and_in_json(engines, shell, tmp_path) -> None:
    (tmp_path / "vault").mkdir()
    first = shell("export", "obsidian", "--vault", tmp_path / "vault")
    assert first.returncode == 0, first.stderr
    assert "8 notes" in first.stdout and "9 written, 0 marked gone" in first.stdout
    again = json.loads(shell("export", "obsidian", "--vault", tmp_path / "vault", "--json").stdout)
    assert (again["notes"], again["written"], again["gone"], again["problems"]) == (8, [], [], [])
