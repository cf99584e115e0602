"""Discovery reads the plain text files of a folder, never leaves it, and names what it left out."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import RegistryMissing
from pickysteve.registry.discover import MAX_FILE_BYTES, Found, discover
from pickysteve.registry.models import Problem


def write(root: Path, path: str, content: str | bytes = "# A skill\n\nText.\n") -> Path:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode() if isinstance(content, str) else content)
    return target


def paths(found: Found) -> list[str]:
    return [file.path for file in found.markdown]


def only_problem(found: Found) -> Problem:
    assert len(found.problems) == 1, found.problems
    return found.problems[0]


def test_a_missing_folder_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RegistryMissing, match="pass --registry"):
        discover(tmp_path / "nowhere")


def test_a_file_is_no_folder_of_skills(tmp_path: Path) -> None:
    with pytest.raises(RegistryMissing):
        discover(write(tmp_path, "a.md"))


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert discover(tmp_path) == Found()


def test_markdown_and_examples_are_told_apart_and_other_files_passed_over(tmp_path: Path) -> None:
    for name in ("a/SKILL.md", "a/examples.yaml", "b.md", "b.examples.yaml", "c.txt", "script.py", "x.yaml"):
        write(tmp_path, name)
    write(tmp_path, "rule.mdc")
    found = discover(tmp_path)
    assert sorted(paths(found)) == ["a/SKILL.md", "b.md", "rule.mdc"]
    assert sorted(file.path for file in found.examples) == ["a/examples.yaml", "b.examples.yaml"]
    assert not found.problems


def test_hidden_and_installed_folders_are_not_searched(tmp_path: Path) -> None:
    for folder in (".git", ".cursor", "node_modules", "__pycache__", "a/node_modules"):
        write(tmp_path, f"{folder}/SKILL.md")
    assert discover(tmp_path) == Found()


@given(st.permutations(["z.md", "a.md", "m/SKILL.md", "b/x.md", "b/SKILL.md"]))
def test_the_order_does_not_depend_on_which_file_was_written_first(tmp_path_factory, names) -> None:
    root = tmp_path_factory.mktemp("order")
    for name in names:
        write(root, name)
    assert paths(discover(root)) == ["a.md", "z.md", "b/SKILL.md", "b/x.md", "m/SKILL.md"]


def test_the_digest_is_of_the_bytes_and_the_text_without_mark_and_carriage_returns(tmp_path: Path) -> None:
    content = "\ufeff# Café\r\n\r\nText.\r\n".encode()
    write(tmp_path, "a.md", content)
    file = discover(tmp_path).markdown[0]
    assert file.text == "# Café\n\nText.\n"
    assert file.sha256 == sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"caf\xe9", "is not UTF-8"),
        ("a skill".encode("utf-16"), "is not UTF-8"),
        (b"text \0 text", "contains NUL bytes"),
        (b"x" * (MAX_FILE_BYTES + 1), "is over 2 MiB"),
    ],
)
def test_bytes_that_are_not_fit_are_named_and_not_read(tmp_path: Path, content: bytes, reason: str) -> None:
    write(tmp_path, "bad.md", content)
    write(tmp_path, "good.md")
    found = discover(tmp_path)
    problem = only_problem(found)
    assert (problem.path, problem.reason, problem.fatal) == ("bad.md", reason, True)
    assert problem.remedy
    assert paths(found) == ["good.md"]


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    write(tmp_path, "a.md", b"x" * MAX_FILE_BYTES)
    assert paths(discover(tmp_path)) == ["a.md"]


def test_a_symlink_that_leaves_the_folder_is_named_and_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path, "outside/secret.md", "the secret")
    root = tmp_path / "skills"
    root.mkdir()
    (root / "a.md").symlink_to(secret)
    found = discover(root)
    problem = only_problem(found)
    assert (problem.path, problem.fatal) == ("a.md", True)
    assert "leaves the folder" in problem.reason
    assert not found.markdown


def test_a_linked_folder_outside_is_named_and_not_entered(tmp_path: Path) -> None:
    write(tmp_path, "outside/SKILL.md", "the secret")
    root = tmp_path / "skills"
    root.mkdir()
    (root / "team").symlink_to(tmp_path / "outside", target_is_directory=True)
    found = discover(root)
    assert only_problem(found).path == "team"
    assert not found.markdown


def test_a_folder_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    write(tmp_path, "skills-private/secret.md")
    root = tmp_path / "skills"
    root.mkdir()
    (root / "a.md").symlink_to(tmp_path / "skills-private" / "secret.md")
    assert only_problem(discover(root)).fatal


def test_a_symlink_inside_the_folder_is_a_remark_and_its_target_is_read_once(tmp_path: Path) -> None:
    target = write(tmp_path, "real.md")
    (tmp_path / "alias.md").symlink_to(target)
    found = discover(tmp_path)
    assert paths(found) == ["real.md"]
    assert not only_problem(found).fatal


def test_a_symlink_into_another_source_is_a_remark_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, "shared/skills/a/SKILL.md")
    root = tmp_path / "agent"
    root.mkdir()
    (root / "a").symlink_to(tmp_path / "shared" / "skills" / "a", target_is_directory=True)
    problem = only_problem(discover(root, elsewhere={"shared": tmp_path / "shared"}))
    assert (problem.path, problem.reason, problem.fatal) == (
        "a",
        "is a symlink into the source shared",
        False,
    )
    assert only_problem(discover(root)).fatal


def test_skipped_folders_are_not_entered(tmp_path: Path) -> None:
    for name in ("a.md", "templates/b.md", "deep/templates/c.md"):
        write(tmp_path, name)
    assert paths(discover(tmp_path, skipped=frozenset({"templates"}))) == ["a.md", "deep/templates/c.md"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("b.md")
    (tmp_path / "b.md").symlink_to("a.md")
    (tmp_path / "self").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "loop").symlink_to("loop")
    found = discover(tmp_path)
    assert not found.markdown
    assert {"a.md", "b.md", "self"} <= {problem.path for problem in found.problems}


def test_a_registry_that_is_itself_a_link_is_read(tmp_path: Path) -> None:
    write(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert paths(discover(tmp_path / "link")) == ["a.md"]


def test_a_pipe_with_the_name_of_a_skill_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert only_problem(discover(tmp_path)).reason == "is not a regular file"


@pytest.mark.parametrize("name", ["caf\udce9.md", "caf\udce9/SKILL.md"])
def test_a_name_that_is_not_utf_8_is_told_in_text_that_can_be_stored(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    target.write_text("# A skill")
    found = discover(tmp_path)
    problem = only_problem(found)
    assert problem.reason == "has a name that is not UTF-8"
    assert problem.path.startswith("caf?")
    assert Problem.model_validate_json(problem.model_dump_json()) == problem
    assert not found.markdown


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, "closed.md").chmod(0)
    folder = write(tmp_path, "shut/SKILL.md").parent
    folder.chmod(0)
    try:
        found = discover(tmp_path)
    finally:
        folder.chmod(0o700)
    assert {problem.path for problem in found.problems} == {"closed.md", "shut"}
    assert not found.markdown
