"""A set is a file that people edit: what they wrote stays, and what does not fit is told with its place."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.errors import SourceInvalid
from pickysteve.registry.sources.kinds import FolderSource, GitSource, McpSource
from pickysteve.registry.sources.sets import add_to_set, read_set

GIT = GitSource(name="team", url="https://example.org/team.git", subfolder="skills")
MCP = McpSource(name="hub", command=("uvx", "hub", "--read only"), env=("HUB_TOKEN",))
HAND_WRITTEN = """\
# ours
[[source]]
name = "team" # who else
kind = "git"
url = "https://example.org/team.git"
subfolder = "skills"

# the rest
"""


def folder(name: str = "mine", path: str = "/srv/skills") -> FolderSource:
    return FolderSource(name=name, kind="skills", path=path)


def test_what_is_added_is_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "registry.toml"
    assert add_to_set(path, [folder(), GIT]) == (folder(), GIT)
    assert add_to_set(path, [MCP]) == (MCP,)
    assert read_set(path) == (folder(), GIT, MCP)
    assert [entry.name for entry in path.parent.iterdir()] == ["registry.toml"]


def test_adding_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "registry.toml"
    add_to_set(path, [folder(), GIT, MCP])
    before = path.read_bytes()
    assert add_to_set(path, [MCP, folder("other-name"), GIT]) == (MCP, folder(), GIT)
    assert path.read_bytes() == before


def test_what_a_person_wrote_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "registry.toml"
    path.write_text(HAND_WRITTEN)
    add_to_set(path, [folder()])
    assert path.read_text().startswith(HAND_WRITTEN.rstrip())
    assert read_set(path) == (GIT, folder())


def test_a_source_that_changed_is_replaced_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "registry.toml"
    add_to_set(path, [MCP, GIT])
    without = MCP.model_copy(update={"env": ()})
    assert add_to_set(path, [without]) == (without,)
    assert read_set(path) == (without, GIT)


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    path = tmp_path / "registry.toml"
    named = add_to_set(path, [folder(path="/a"), folder(path="/b"), folder(path="/c")])
    assert [source.name for source in named] == ["mine", "mine-2", "mine-3"]


def test_a_set_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text(HAND_WRITTEN)
    (tmp_path / "registry.toml").symlink_to("dotfiles.toml")
    add_to_set(tmp_path / "registry.toml", [folder()])
    assert (tmp_path / "registry.toml").is_symlink()
    assert read_set(tmp_path / "dotfiles.toml") == (GIT, folder())


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceInvalid, match="name another place"):
        add_to_set(tmp_path / "file" / "registry.toml", [folder()])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["/1", "/2", "/3"])), max_size=8))
def test_names_are_unique_and_the_first_keep_theirs(tmp_path_factory, given_sources) -> None:
    path = tmp_path_factory.mktemp("set") / "registry.toml"
    seen: dict[str, str] = {}
    for name, place in given_sources:
        (source,) = add_to_set(path, [folder(name, place)])
        assert seen.setdefault(place, source.name) == source.name
    assert len(set(seen.values())) == len(seen)
    assert {source.path: source.name for source in (read_set(path) if seen else ())} == seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[source]", "cannot be read"),
        ("sources = 5", "sources: Extra inputs"),
        ('[[source]]\nname = "a"\nkind = "ftp"', "does not fit"),
        ('[[source]]\nname = "A b"\nkind = "skills"\npath = "x"', "source.0.skills.name|name"),
        ('[[source]]\nname = "a"\nkind = "skills"\npath = "x"\nurl = "y"', "url"),
        ('[[source]]\nname = "a"\nkind = "git"\nurl = "ext::sh -c x"', "file, https, ssh"),
        ('[[source]]\nname = "a"\nkind = "git"\nurl = "/x"\nrev = "--upload-pack=x"', "no branch"),
        ('[[source]]\nname = "a"\nkind = "git"\nurl = "/x"\nsubfolder = "../y"', "leaves"),
        ('[[source]]\nname = "a"\nkind = "mcp"\ncommand = []', "command"),
        (2 * '[[source]]\nname = "a"\nkind = "skills"\npath = "x"\n', 'two sources are called "a"'),
        ('source = [{name = "a", kind = "skills", path = "x"}]', "write each as"),
    ],
)
def test_a_set_that_is_none_is_told_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "registry.toml"
    path.write_text(text)
    with pytest.raises(SourceInvalid, match=said) as caught:
        add_to_set(path, [folder()])
    assert "registry.toml" in str(caught.value)
    assert path.read_text() == text


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceInvalid, match="cannot be read"):
        read_set(tmp_path / "registry.toml")
