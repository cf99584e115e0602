"""Which files form a skill, what it is called, and what is said of the files that were left out."""

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.discover import Found, SourceFile
from pickysteve.registry.models import Problem
from pickysteve.registry.parse import ParsedSkill

names = st.lists(st.sampled_from(["a", "b", "c/a", "c/b", "c/SKILL", "d/SKILL", "d/e/SKILL"]), unique=True)


def source(path: str, text: str) -> SourceFile:
    return SourceFile(path, text, sha256(text.encode()).hexdigest())


def build(files: dict[str, str], problems: tuple[Problem, ...] = ()) -> Catalogue:
    """The catalogue of a folder with these files."""
    sources = [source(path, text) for path, text in files.items()]
    examples = [file for file in sources if file.path.endswith("examples.yaml")]
    markdown = [file for file in sources if file not in examples]
    return build_catalogue(Found(markdown, examples, list(problems)))


def skill(name: str = "", body: str = "Body.", **fields: str) -> str:
    given_fields = {"name": name, "description": "Does things.", **fields}
    block = "".join(f"{key}: {value}\n" for key, value in given_fields.items() if value)
    return f"---\n{block}---\n{body}\n"


def units_of(catalogue: Catalogue, skill_id: str) -> tuple[str, ...]:
    return catalogue.skills[skill_id].unit_ids


def test_a_folder_with_a_skill_file_is_one_skill_with_every_file_below_it() -> None:
    files = {
        "review/SKILL.md": skill("review"),
        "review/forms.md": skill(),
        "review/deep/er.md": skill(),
    }
    catalogue = build(files)
    assert units_of(catalogue, "review") == ("review", "review/forms", "review/deep/er")
    assert catalogue.units["review/deep/er"].source == "review/deep/er.md"
    assert not catalogue.problems


def test_a_skill_inside_a_skills_folder_is_one_of_its_own() -> None:
    files = {"a/SKILL.md": skill("a"), "a/b/SKILL.md": skill("b"), "a/b/more.md": skill()}
    catalogue = build(files)
    assert units_of(catalogue, "a") == ("a",)
    assert units_of(catalogue, "b") == ("b", "b/more")


def test_a_skill_file_at_the_root_holds_the_loose_files() -> None:
    catalogue = build({"SKILL.md": skill("top"), "notes.md": skill(), "x/SKILL.md": skill("x")})
    assert units_of(catalogue, "top") == ("top", "top/notes")
    assert units_of(catalogue, "x") == ("x",)


def test_elsewhere_each_file_is_a_skill() -> None:
    assert sorted(build({"team/a.md": skill(), "team/b.md": skill(), "c.md": skill()}).skills) == [
        "a",
        "b",
        "c",
    ]


def test_files_of_one_folder_with_the_same_id_are_one_skill() -> None:
    files = {"t/a.md": skill(id="shared"), "t/b.md": skill(id="shared"), "t/c.md": skill()}
    catalogue = build(files)
    assert units_of(catalogue, "shared") == ("shared/a", "shared/b")
    assert sorted(catalogue.skills) == ["c", "shared"]


@pytest.mark.parametrize(
    ("path", "text", "skill_id"),
    [
        ("x/SKILL.md", skill("by-name", id="by-id"), "by-id"),
        ("x/SKILL.md", skill("by-name"), "by-name"),
        ("by-folder/SKILL.md", skill("A title, not an id"), "by-folder"),
        ("x/by-file.md", skill("A title, not an id"), "by-file"),
        ("Größe & Form/SKILL.md", skill(), "gr-e-form"),
        ("日本/SKILL.md", skill(), "skill"),
        ("x/a.md", skill(id="../../etc/passwd"), "etc-passwd"),
    ],
)
def test_a_skill_is_called_by_id_then_name_then_place(path: str, text: str, skill_id: str) -> None:
    assert list(build({path: text}).skills) == [skill_id]


def test_a_name_that_is_no_identifier_stays_the_title() -> None:
    assert build({"x/SKILL.md": skill("Rust Review")}).skills["x"].title == "Rust Review"


def test_two_skills_of_one_name_are_both_kept_and_the_second_is_qualified() -> None:
    catalogue = build({"a/review.md": skill("review", "One."), "b/review.md": skill("review", "Two.")})
    assert sorted(catalogue.skills) == ["b.review", "review"]
    problem = catalogue.problems[0]
    assert (problem.path, problem.fatal) == ("b/review.md", False)
    assert 'the id "review" of a/review.md' in problem.reason
    assert 'kept as "b.review"' in problem.remedy


def test_two_skills_of_one_id_are_an_error_for_the_second() -> None:
    catalogue = build({"a/x.md": skill(id="review", body="One."), "b/y.md": skill(id="review", body="Two.")})
    assert list(catalogue.skills) == ["review"]
    assert catalogue.problems[0].fatal
    assert catalogue.problems[0].path == "b/y.md"


def test_a_copy_of_a_file_is_left_out_and_named() -> None:
    catalogue = build({"a/review.md": skill("review"), "b/review.md": skill("review")})
    assert list(catalogue.skills) == ["review"]
    assert catalogue.problems[0].remedy == "remove one copy or rename it"


@pytest.mark.parametrize("name", ["README", "license", "CHANGELOG", "docs/Contributing", "PROVENANCE"])
def test_documents_about_the_folder_are_no_skills(name: str) -> None:
    catalogue = build({f"{name}.md": "# About\n\nText."})
    assert not catalogue.skills
    assert "give it a name" in catalogue.problems[0].remedy


@pytest.mark.parametrize("name", ["AGENTS", "CLAUDE", "docs/GEMINI"])
def test_instructions_for_agents_are_no_skills_of_the_folder(name: str) -> None:
    assert not build({f"{name}.md": "# About\n\nText."}).skills
    assert list(build({f"{name.lower()}.md": "# About\n\nText."}).skills)


def test_an_earlier_source_keeps_a_contested_name_whatever_the_sources_are_called() -> None:
    first = replace(source("z/review.md", skill(body="One.")), rank=0)
    second = replace(source("a/review.md", skill(body="Two.")), rank=1)
    catalogue = build_catalogue(Found([second, first]))
    assert {unit.unit_id: unit.source for unit in catalogue.units.values()} == {
        "review": "z/review.md",
        "a.review": "a/review.md",
    }


def test_a_second_skill_file_of_one_name_is_called_by_its_folder() -> None:
    catalogue = build({"a/x/SKILL.md": skill("x", "One."), "b/x/SKILL.md": skill("x", "Two.")})
    assert sorted(catalogue.skills) == ["b.x", "x"]


def exported(skill_id: str, notes: str, path: str = "PickySteve/note.md") -> SourceFile:
    parsed = ParsedSkill(skill_id, "", skill_id, "Does things.", (), f"Body.\n\n{notes}", notes=notes)
    return replace(source(path, notes), parse=lambda _: parsed)


def test_notes_of_a_user_are_a_further_unit_of_the_skill_that_they_are_about() -> None:
    found = Found([exported("review", "We use tabs."), source("z/review.md", skill("review"))])
    catalogue = build_catalogue(found)
    assert units_of(catalogue, "review") == ("review", "review/vault-notes")
    assert catalogue.units["review/vault-notes"].body == "We use tabs."
    assert not catalogue.problems


def test_an_exported_note_of_a_skill_that_is_elsewhere_no_more_is_the_skill() -> None:
    catalogue = build_catalogue(Found([exported("review", "We use tabs.")]))
    assert catalogue.units["review"].body == "Body.\n\nWe use tabs."


def test_exported_notes_that_add_nothing_are_named_in_one_remark() -> None:
    files = [exported("review", "", "PickySteve/review.md"), exported("ship", "", "PickySteve/ship.md")]
    catalogue = build_catalogue(
        Found([*files, source("r.md", skill("review")), source("s.md", skill("ship"))])
    )
    (problem,) = catalogue.problems
    assert problem.path == "PickySteve/review.md, PickySteve/ship.md" and not problem.fatal
    assert sorted(catalogue.units) == ["review", "ship"]


def test_a_readme_that_calls_itself_a_skill_is_one() -> None:
    assert list(build({"README.md": skill("readme-writing")}).skills) == ["readme-writing"]


def test_a_file_that_cannot_be_read_does_not_hinder_the_others() -> None:
    catalogue = build({"a/SKILL.md": "---\nx: [\n---\n", "b/SKILL.md": skill("b")})
    assert list(catalogue.skills) == ["b"]
    assert (catalogue.problems[0].path, catalogue.problems[0].fatal) == ("a/SKILL.md", True)


def test_lenient_reading_is_a_remark_on_a_file_that_is_kept() -> None:
    catalogue = build({"a.md": "---\nname: a\ndescription: Use: when\n---\nBody."})
    assert list(catalogue.skills) == ["a"]
    assert not catalogue.problems[0].fatal


def test_what_discovery_left_out_stays_named() -> None:
    problem = Problem(path="x.md", reason="is not UTF-8", remedy="save it as UTF-8")
    assert build({"a.md": skill()}, (problem,)).problems == [problem]


def test_examples_beside_a_skill_belong_to_it() -> None:
    text = "examples: [' one  request ', two, two]\nnot_for: Other jobs.\norigin: someone\n"
    catalogue = build({"a/SKILL.md": skill("a"), "a/examples.yaml": text})
    found = catalogue.skills["a"]
    assert [(e.skill_id, e.text, e.origin) for e in found.examples] == [
        ("a", "one request", "someone"),
        ("a", "two", "someone"),
    ]
    assert found.not_for == "Other jobs."


def test_a_flat_file_names_its_examples_after_itself() -> None:
    files = {"a.md": skill(), "b.md": skill(), "b.examples.yaml": "examples: [for b]"}
    catalogue = build(files)
    assert [e.text for e in catalogue.skills["b"].examples] == ["for b"]
    assert not catalogue.skills["a"].examples


@pytest.mark.parametrize(
    ("path", "reason"),
    [("t/examples.yaml", "belongs to 2 skills"), ("u/examples.yaml", "belongs to no skill")],
)
def test_examples_of_no_one_skill_are_named(path: str, reason: str) -> None:
    catalogue = build({"t/a.md": skill(), "t/b.md": skill(), path: "examples: [x]"})
    assert [(p.path, p.reason) for p in catalogue.problems] == [(path, reason)]
    assert not any(found.examples for found in catalogue.skills.values())


def test_examples_that_cannot_be_read_are_named_and_the_skill_is_kept() -> None:
    catalogue = build({"a/SKILL.md": skill("a"), "a/examples.yaml": "examples: no"})
    assert list(catalogue.skills) == ["a"]
    assert "list of strings" in catalogue.problems[0].remedy


@given(names, st.randoms(use_true_random=False))
def test_a_catalogue_holds_together_whatever_the_folder(paths: list[str], random) -> None:
    files = {f"{path}.md": skill(body=f"Body of {path}.") for path in paths}
    catalogue = build(files)
    assert list(catalogue.skills) == sorted(catalogue.skills)
    assert list(catalogue.units) == sorted(catalogue.units)
    listed = [unit_id for found in catalogue.skills.values() for unit_id in found.unit_ids]
    assert sorted(listed) == list(catalogue.units)
    assert all(catalogue.units[unit_id].unit_id == unit_id for unit_id in listed)
    assert all(unit.skill_id in catalogue.skills for unit in catalogue.units.values())
    left_out = {problem.path for problem in catalogue.problems if problem.fatal}
    assert {unit.source for unit in catalogue.units.values()} | left_out == set(files)
    # the order in which a file system lists does not decide what a skill is called
    shuffled = random.sample(list(files), len(files))
    assert build({path: files[path] for path in shuffled}).skills == catalogue.skills
