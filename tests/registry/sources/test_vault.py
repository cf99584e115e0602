"""A vault gives its notes: not its settings, its templates, its drawings, nor a copy of what we exported."""

import json
from pathlib import Path

import pytest

from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.notes import Note, marked_gone, render_index, render_note
from pickysteve.registry.sources.vault import is_vault, parse_note, read_vault


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / ".obsidian").mkdir()
    return tmp_path


def write(vault: Path, path: str, text: str = "A note with text.\n") -> None:
    target = vault / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def read(vault: Path) -> Catalogue:
    return build_catalogue(read_vault(vault))


def left_out(catalogue: Catalogue) -> dict[str, str]:
    return {problem.path: problem.reason for problem in catalogue.problems}


def test_a_note_is_called_by_its_file_and_keeps_its_links(vault: Path) -> None:
    write(
        vault,
        "Team/Ship It.md",
        "---\nid: 42\nname: other\n---\nSee [[Rollback|how]] and ![[diagram.png]].\n",
    )
    catalogue = read(vault)
    unit = catalogue.units["ship-it"]
    assert (unit.title, unit.body) == ("Ship It", "See [[Rollback|how]] and ![[diagram.png]].")
    assert unit.source == "Team/Ship It.md"
    assert not catalogue.problems


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: [rust, code/review]", ("rust", "code/review")),
        ("tags: '#rust #review'", ("rust", "review")),
        ("tags: rust, review", ("rust", "review")),
        ("tags:\n  - '#rust'\naliases:\n  - Ferris\n  - The crab", ("Ferris", "The crab", "rust")),
        ("aliases: Ferris", ("Ferris",)),
        ("tags:\naliases:", ()),
        ("tags: {a: b}\naliases: 5", ("5",)),
    ],
)
def test_tags_and_aliases_are_read_in_every_shape(block: str, tags: tuple[str, ...]) -> None:
    assert parse_note("Note", f"---\n{block}\n---\nText.").tags == tags


def test_settings_and_hidden_folders_are_not_searched(vault: Path) -> None:
    for path in (".obsidian/plugins/x/README.md", ".trash/old.md", "kept.md"):
        write(vault, path)
    assert list(read(vault).skills) == ["kept"]


@pytest.mark.parametrize(
    ("file", "settings", "folder"),
    [
        ("templates.json", {"folder": "Meta/Forms/"}, "Meta/Forms"),
        ("plugins/templater-obsidian/data.json", {"templates_folder": "Meta/Forms"}, "Meta/Forms"),
        ("templates.json", {"folder": ""}, "Templates"),
        ("templates.json", ["no", "mapping"], "Templates"),
        ("other.json", {}, "_templates"),
    ],
)
def test_the_folder_of_templates_is_passed_over_and_named(
    vault: Path, file: str, settings, folder: str
) -> None:
    write(vault, f".obsidian/{file}", json.dumps(settings))
    write(vault, f"{folder}/daily.md", "# {{title}}\n")
    write(vault, "kept.md")
    catalogue = read(vault)
    assert list(catalogue.skills) == ["kept"]
    assert left_out(catalogue) == {folder: "holds the vault's templates"}
    assert not catalogue.problems[0].fatal


def test_a_folder_called_templates_counts_where_the_vault_names_another(vault: Path) -> None:
    write(vault, ".obsidian/templates.json", '{"folder": "Forms"}')
    write(vault, "Templates/letter.md")
    assert list(read(vault).skills) == ["letter"]


def test_drawings_and_empty_notes_are_named(vault: Path) -> None:
    write(vault, "sketch.md", "---\nexcalidraw-plugin: parsed\n---\n# Text Elements\n")
    write(vault, "empty.md", "")
    catalogue = read(vault)
    assert not catalogue.skills
    assert left_out(catalogue) == {
        "sketch.md": "is a drawing",
        "empty.md": "has neither a body nor a description",
    }


def test_a_skill_folder_in_a_vault_is_a_skill(vault: Path) -> None:
    write(vault, "skills/ship/SKILL.md", "---\nname: ship-it\ndescription: Ships.\n---\nBody.\n")
    assert list(read(vault).skills) == ["ship-it"]


def test_exported_notes_are_read_as_skills_with_what_the_user_wrote(vault: Path) -> None:
    note = Note("rust-review", "Reviews Rust.", "", ("rust",), ("a.md",), ("0" * 64,), ("Body.",), ())
    write(vault, "PickySteve/rust-review.md", f"{render_note(note)}\nWe use tabs.\n")
    write(vault, "PickySteve/old.md", f"{marked_gone(render_note(note))}\nmine\n")
    write(vault, "PickySteve/_index.md", render_index(("rust-review",), ("old",)))
    write(vault, "PickySteve/own.md", "A note of mine.\n")
    catalogue = read(vault)
    assert list(catalogue.skills) == ["own", "rust-review"]
    assert catalogue.units["rust-review"].body == "Body.\n\nWe use tabs."
    assert left_out(catalogue) == {
        "PickySteve/_index.md": "is the index of exported notes",
        "PickySteve/old.md": "is about a skill that is no longer exported",
    }


def test_a_vault_is_what_obsidian_has_opened(vault: Path) -> None:
    assert is_vault(vault) and not is_vault(vault / ".obsidian") and not is_vault(vault / "nowhere")
