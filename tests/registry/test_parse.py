"""A skill file is read strictly, then leniently, and no file makes the reader hang or fall over."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import SkillFormatError
from pickysteve.registry.parse import ParsedSkill, parse_examples, parse_skill

FULL = """---
name: rust-review
id: rr-1
description: "Reviews Rust: ownership, errors, unsafe."
metadata:
  tags: rust, review
tags: [code, rust]
---
# Rust review

Read the diff first.
"""
texts = st.text(st.characters(exclude_categories=["Cs"]))
lines = st.lists(
    st.sampled_from(
        ["---", "name: a", "# Title", "text", "tags: [a, b", "- x", "  y: z", "*a", "&a b", "> ", ""]
    )
)


def front(block: str, body: str = "Body.") -> ParsedSkill:
    return parse_skill(f"---\n{block}\n---\n{body}\n")


def seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    with suppress(SkillFormatError):
        call()
    return time.process_time() - started


def test_a_whole_file_is_split_into_its_fields() -> None:
    skill = parse_skill(FULL)
    assert (skill.id, skill.name, skill.title) == ("rr-1", "rust-review", "rust-review")
    assert skill.description == "Reviews Rust: ownership, errors, unsafe."
    assert skill.tags == ("code", "rust", "review")
    assert skill.body == "# Rust review\n\nRead the diff first."
    assert skill.remark == ""


def test_without_frontmatter_the_heading_is_the_title_and_the_first_prose_the_description() -> None:
    skill = parse_skill("# Deploy guide #\n\n| a | b |\n\nShip it in\ntwo steps.\n\nMore.\n")
    assert (skill.name, skill.title, skill.description) == ("", "Deploy guide", "Ship it in two steps.")


@pytest.mark.parametrize(
    "text", ["", "\n\n  \n", "---\n---\n", "---\nname: a\n---\n\n", "---\ndescription: [a]\n---\n"]
)
def test_a_file_without_any_text_is_refused(text: str) -> None:
    with pytest.raises(SkillFormatError, match="neither a body nor a description"):
        parse_skill(text)


def test_a_description_alone_makes_a_skill() -> None:
    assert parse_skill("---\ndescription: Folds maps.\n---\n").description == "Folds maps."


def test_an_unquoted_colon_is_read_leniently_with_a_remark() -> None:
    skill = front("name: pdf-forms\ndescription: Use when: the user has a form\n  that spans lines")
    assert skill.name == "pdf-forms"
    assert skill.description == "Use when: the user has a form that spans lines"
    assert "read leniently" in skill.remark


def test_broken_yaml_without_a_name_is_refused_with_the_parsers_reason() -> None:
    with pytest.raises(SkillFormatError, match="has broken YAML frontmatter"):
        front("a: [b")


def test_frontmatter_that_is_a_list_is_refused() -> None:
    with pytest.raises(SkillFormatError, match="not a mapping"):
        front("- a\n- b")


def test_frontmatter_over_its_limit_is_refused() -> None:
    with pytest.raises(SkillFormatError, match="over 64 KiB"):
        front(f"name: {'a' * 70_000}")


def test_frontmatter_that_is_never_closed_is_body() -> None:
    assert parse_skill("---\nname: a\n\ntext\n").name == ""


def test_a_rule_further_down_is_not_the_end_of_anything() -> None:
    assert parse_skill("---\nname: a\n---\none\n\n---\n\ntwo\n").body == "one\n\n---\n\ntwo"


@pytest.mark.parametrize("value", ["[a, b]", "{a: b}", "null", "!!binary aGVsbG8="])
def test_a_name_that_is_no_text_is_no_name(value: str) -> None:
    assert front(f"name: {value}").name == ""


def test_a_name_over_several_lines_becomes_one_line() -> None:
    assert front("name: |\n  two\n  lines").name == "two lines"


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: a, b,, a", ("a", "b")),
        ("tags: [a, [b], {c: d}, 1]", ("a", "1")),
        ("tags: {a: b}", ()),
        ("tags:", ()),
        ("metadata: [tags]", ()),
        ("metadata: {tags: '[a, b]'}", ("a", "b")),
    ],
)
def test_tags_are_read_in_every_shape_that_people_write(block: str, tags: tuple[str, ...]) -> None:
    assert front(f"name: x\n{block}").tags == tags


@pytest.mark.parametrize(
    ("block", "tags", "is_strict"),
    [
        ("globs: **/*.ts", ("**/*.ts",), True),
        ("globs: *.ts, src/**/*.{js,ts}  # why", ("*.ts", "src/**/*.{js,ts}"), True),
        ("globs: {src,test}/**", ("{src,test}/**",), True),
        ("globs:\n  - **/*.ts\n  - 'it''s.py'", ("**/*.ts", "it's.py"), True),
        ("globs: ['a', \"b\"]", ("a", "b"), True),
        ("paths: it's/*.x", ("it's/*.x",), True),
        ("applyTo: '**/*.py,**/*.pyi'", ("**/*.py", "**/*.pyi"), True),
        ("globs:\nalwaysApply: false", (), True),
        ("alwaysApply: true", ("always-apply",), True),
        ("description: a: b\nglobs: *.ts # c\nalwaysApply: true", ("*.ts", "always-apply"), False),
        ("description: a: b\nglobs:\n  - **/*.ts\n  - '*.py'", ("**/*.ts", "*.py"), False),
        ("globs: [*.ts", ("*.ts",), False),
        ("globs: '*.ts", ("*.ts",), False),
    ],
)
def test_rules_are_read_as_editors_write_them(block: str, tags: tuple[str, ...], is_strict: bool) -> None:
    rule = front(block, "# Rules\n\nUse strict types.")
    assert rule.tags == tags
    assert rule.description == ("a: b" if "a: b" in block else "Use strict types.")
    assert (rule.remark == "") is is_strict


def test_what_is_kept_of_a_field_is_bounded() -> None:
    tags = ", ".join(f"t{number}" for number in range(99))
    skill = front(f"name: {'n' * 300}\ndescription: {'d' * 5000}\ntags: [{tags}]")
    assert (len(skill.title), len(skill.description), len(skill.tags)) == (200, 2048, 50)


@pytest.mark.parametrize(
    "heading", ["# Fold maps", "## Fold maps ##", "#\tFold maps   ", "###### Fold maps #"]
)
def test_headings_are_read_in_every_form(heading: str) -> None:
    assert parse_skill(f"{heading}\n\ntext\n").title == "Fold maps"


def test_seven_hashes_or_no_blank_are_no_heading() -> None:
    assert parse_skill("####### a\n#b\n\ntext\n").title == ""


def test_aliases_are_refused_so_that_no_file_expands_without_end() -> None:
    bomb = "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]\n" for n in range(1, 12))
    block = f"name: bomb\nk0: &k0 [x]\n{bomb}tags: {{t: *k11}}"
    assert seconds(lambda: front(block)) < 1
    assert "aliases are not read" in front(block).remark
    with pytest.raises(SkillFormatError, match="aliases are not read"):
        parse_examples(f"k0: &k0 [x]\n{bomb}examples: *k11\n")


def test_merge_keys_do_not_expand_without_end() -> None:
    bomb = "".join(f"k{n}: &k{n} {{<<: [{', '.join([f'*k{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
    assert seconds(lambda: front(f"name: bomb\nk0: &k0 {{x: y}}\n{bomb}")) < 1


def test_a_number_that_python_does_not_print_is_refused() -> None:
    with pytest.raises(SkillFormatError, match="number of thousands of digits"):
        front(f"name: 0x{'f' * 5000}")


@pytest.mark.parametrize(
    "text",
    [
        f"# a{' ' * 200_000}b\n",
        f"# {'#' * 200_000}b\n",
        "#\n" * 100_000,
        f"---\n{'-' * 60_000}\n{'a: ' * 1000}\n---\nbody",
        "---\n" + "--- x\n" * 50_000,
        "\n \n" * 100_000 + "a",
        f"---\nname: x\nk: {'[' * 60_000}\n---\nbody",
        f"---\nname: x\nk: {'{a: ' * 15_000}\n---\nbody",
        f"---\nname: x\nglobs: *{' ' * 60_000}b\n---\nbody",
        f"---\nname: x\nglobs: {'a,' * 30_000}\n---\nbody",
        f"---\nname: x\nglobs: {'{a,' * 20_000}\n---\nbody",
        f"---\nname: x\n{'  - *a' * 10_000}\n---\nbody",
    ],
    ids=[
        *["blanks", "hashes", "headings", "dashes", "fences", "newlines", "lists", "maps"],
        *["glob blanks", "glob commas", "glob braces", "glob items"],
    ],
)
def test_hostile_shapes_are_read_in_linear_time(text: str) -> None:
    assert seconds(lambda: parse_skill(text)) < 1


@given(st.one_of(texts, lines.map("\n".join), texts.map(lambda block: f"---\n{block}\n---\nbody")))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        skill = parse_skill(text)
    except SkillFormatError as error:
        assert "\n" not in str(error)
    else:
        assert skill.body or skill.description
        assert skill.body in text


@given(texts)
def test_no_line_of_the_body_is_lost(body: str) -> None:
    skill = parse_skill(f"---\nname: a\ndescription: b\n---\n{body}")
    assert skill.body == body.strip("\n")


def test_examples_are_read_with_their_notes() -> None:
    parsed = parse_examples("examples:\n  - one\n  - two\nnot_for: Other jobs.\norigin: author\n")
    assert (parsed.examples, parsed.not_for, parsed.origin) == (["one", "two"], "Other jobs.", "author")
    assert parse_examples("examples: []").origin == "author"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "top level"),
        ("- one\n", "top level"),
        ("examples: one\n", "examples: Input should be a valid list"),
        ("examples: [one, 404]\n", r"examples\.1"),
        ("examples: [a]\nnotfor: b\n", "notfor: Extra inputs"),
        ("examples: [a\n", "not a valid examples file"),
        ("examples: ['  ']\n", "empty or over 1000"),
        (f"examples: [{'a' * 1001}]\n", "empty or over 1000"),
        (f"examples: [{', '.join(['a'] * 501)}]\n", "at most 500"),
        (f"examples: {'[' * 100_000}", "not a valid examples file"),
        ("examples: [2001-99-99]\n", "not a valid examples file"),
    ],
)
def test_an_examples_file_that_is_none_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(SkillFormatError, match=reason):
        parse_examples(text)


@given(texts)
def test_any_examples_text_is_read_or_refused(text: str) -> None:
    try:
        parse_examples(text)
    except SkillFormatError as error:
        assert "\n" not in str(error)


def test_a_file_cannot_name_python_objects() -> None:
    code = "---\nname: x\nk: !!python/object/apply:os.system ['echo reached']\n---\nbody"
    script = f"from pickysteve.registry.parse import parse_skill; print(parse_skill({code!r}).remark)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "read leniently" in done.stdout
    assert "reached" not in done.stdout.splitlines()
