"""Whatever a registry is, its files are found; a source that cannot be read hinders no other."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.errors import RegistryMissing, SourceInvalid
from pickysteve.registry.catalogue import build_catalogue
from pickysteve.registry.sources.git import fetch_repository, parse_repository
from pickysteve.registry.sources.kinds import FolderSource, McpSource
from pickysteve.registry.sources.reading import folder_source, read_registry
from pickysteve.registry.sources.sets import add_to_set
from pickysteve.registry.sources.tools import Snapshot, Tool, write_snapshot


def write(root: Path, path: str, text: str = "# A skill\n\nText.\n") -> Path:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def skill(name: str, body: str = "Body.") -> str:
    return f"---\nname: {name}\ndescription: Does things.\n---\n{body}\n"


def make_set(folder: Path, *sources) -> Path:
    path = folder / "registry.toml"
    add_to_set(path, sources)
    return path


def test_a_folder_a_vault_and_a_document_are_registries_by_themselves(tmp_path: Path) -> None:
    write(tmp_path, "skills/a/SKILL.md", skill("one"))
    write(tmp_path, "vault/Two.md")
    (tmp_path / "vault" / ".obsidian").mkdir()
    write(tmp_path, "AGENTS.md", "## Three\n\nText.\n")
    found = {
        name: build_catalogue(read_registry(tmp_path / name)) for name in ("skills", "vault", "AGENTS.md")
    }
    assert {name: list(catalogue.skills) for name, catalogue in found.items()} == {
        "skills": ["one"],
        "vault": ["two"],
        "AGENTS.md": ["agents-three"],
    }


def test_a_set_reads_every_source_under_its_name(tmp_path: Path, repository: Path) -> None:
    write(tmp_path, "skills/a/SKILL.md", skill("one"))
    write(tmp_path, "skills/a/examples.yaml", "examples: [do one]\n")
    write(tmp_path, "p/AGENTS.md", "## Three\n\nText.\n")
    team = parse_repository(f"{repository}#skills")
    fetch_repository(team)
    hub = McpSource(name="hub", command=("hub",))
    write_snapshot(hub.place(tmp_path), Snapshot(server="x", taken_at="", tools=(Tool(name="read_file"),)))
    sources = [folder_source(tmp_path / "skills"), folder_source(tmp_path / "p" / "AGENTS.md"), team, hub]
    catalogue = build_catalogue(read_registry(make_set(tmp_path, *sources)))
    assert {unit.unit_id: unit.source for unit in catalogue.units.values()} == {
        "one": f"{sources[0].name}/a/SKILL.md",
        "agents-three": "p/AGENTS.md#three",
        "ship-it": "team-skills/ship/SKILL.md",
        "hub-read-file": "hub/read-file",
    }
    assert all(
        Path(unit.file).is_absolute() and Path(unit.file).is_file() for unit in catalogue.units.values()
    )
    assert [example.text for example in catalogue.skills["one"].examples] == ["do one"]
    assert not catalogue.problems


def test_paths_of_a_set_may_be_relative_to_it_or_to_home(tmp_path: Path, monkeypatch) -> None:
    write(tmp_path, "near/a.md")
    write(tmp_path, "home/far/b.md")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    near = FolderSource(name="near", kind="skills", path="near")
    far = FolderSource(name="far", kind="skills", path="~/far")
    assert list(build_catalogue(read_registry(make_set(tmp_path, near, far))).skills) == ["a", "b"]


def test_a_copy_and_a_link_between_sources_are_named_once(tmp_path: Path) -> None:
    write(tmp_path, "shared/review/SKILL.md", skill("review"))
    write(tmp_path, "other/review/SKILL.md", skill("review"))
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "review").symlink_to(tmp_path / "shared" / "review", target_is_directory=True)
    sources = [folder_source(tmp_path / name) for name in ("agent", "shared", "other")]
    catalogue = build_catalogue(read_registry(make_set(tmp_path, *sources)))
    assert catalogue.units["review"].source == "shared/review/SKILL.md"
    assert [(problem.path, problem.fatal) for problem in catalogue.problems] == [
        ("agent/review", False),
        ("other/review/SKILL.md", True),
    ]


def test_sources_that_give_nothing_are_named_and_the_others_read(tmp_path: Path) -> None:
    write(tmp_path, "skills/a.md")
    sources = [
        folder_source(tmp_path / "skills"),
        FolderSource(name="gone", kind="skills", path="/nowhere"),
        FolderSource(name="paper", kind="document", path="/nowhere.md"),
        parse_repository("https://example.org/never.git"),
        McpSource(name="hub", command=("never-asked",)),
    ]
    path = make_set(tmp_path, *sources)
    catalogue = build_catalogue(read_registry(path))
    assert list(catalogue.skills) == ["a"]
    assert {problem.path: problem.reason for problem in catalogue.problems} == {
        "gone": 'is gone: there is no "/nowhere"',
        "paper": 'is gone: there is no "/nowhere.md"',
        "never": "was not fetched yet",
        "hub": "has no snapshot of its tools yet",
    }
    assert f"pickysteve ingest {path} --refresh" in catalogue.problems[-1].remedy


def test_reading_a_set_starts_no_command(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    server = McpSource(name="hub", command=("touch", str(trap)))
    read_registry(make_set(tmp_path, server))
    assert not trap.exists()


@pytest.mark.parametrize("name", ["nowhere", "nowhere.toml", "nowhere.md"])
def test_a_registry_that_is_not_there_is_an_error_with_the_remedy(tmp_path: Path, name: str) -> None:
    with pytest.raises(RegistryMissing, match=name):
        read_registry(tmp_path / name)


def test_a_set_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceInvalid):
        read_registry(write(tmp_path, "registry.toml", "name = 5"))


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("p/.claude/skills", "claude", "skills"),
        ("p/.cursor/rules", "cursor", "skills"),
        ("p/skills", "skills", "skills"),
        ("My Project/AGENTS.md", "my-project", "document"),
        ("Second Brain", "second-brain", "vault"),
        ("日本", "source", "skills"),
    ],
)
def test_a_source_is_named_for_the_folder_that_tells_what_it_is(
    tmp_path, path: str, name: str, kind: str
) -> None:
    place = tmp_path / path
    if path.endswith(".md"):
        write(tmp_path, path)
    else:
        (place / (".obsidian" if kind == "vault" else ".")).mkdir(parents=True)
    source = folder_source(place)
    assert (source.name, source.kind) == (name, kind)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["x/a", "x/b", "y/a", "y/SKILL", "z/a"]), unique=True), st.integers(0, 5))
def test_a_source_that_is_added_takes_no_name_from_those_before(tmp_path_factory, files, cut: int) -> None:
    root = tmp_path_factory.mktemp("sources")
    for name in ("zulu", "alpha"):
        (root / name).mkdir()
    for number, path in enumerate(files):
        write(
            root, f"{'zulu' if number < cut else 'alpha'}/{path}.md", skill("", f"Body of {path}, {number}.")
        )
    one = make_set(root, folder_source(root / "zulu"))
    before = build_catalogue(read_registry(one))
    after = build_catalogue(read_registry(make_set(root, folder_source(root / "alpha"))))
    kept = {unit_id: after.units[unit_id].source for unit_id in before.units}
    assert kept == {unit_id: unit.source for unit_id, unit in before.units.items()}
