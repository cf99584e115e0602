"""A note says what the skill says, nothing in it is live, and what the user wrote is theirs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pickysteve.errors import SkillFormatError
from pickysteve.registry.notes import (
    MARKER,
    Note,
    exported_status,
    marked_gone,
    parse_exported,
    render_index,
    render_note,
    split_at_marker,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
# what a hostile skill would put into a note, mixed with ordinary lines
HOSTILE = [
    *["```", "````", "~~~", "   ```", MARKER, f"{MARKER} ", "---", "# Text", "## Text", "status: current"],
    *["[[x]]", "![](http://x/y)", "```dataviewjs", "`$= 1`", "<img src=x>", "- a", "", "\r", "\u2028"],
]
hostile = st.lists(st.sampled_from(HOSTILE)).map("\n".join)


def note(body: str = "Body.", **fields: object) -> Note:
    given_fields = {
        "skill_id": "rust-review",
        "description": "Reviews Rust.",
        "not_for": "Not for Go.",
        "tags": ("rust", "code review", "2024"),
        "sources": ("rust-review/SKILL.md",),
        "digests": ("0" * 64,),
        "bodies": (body,),
        "neighbours": ("rust-build-errors",),
    }
    return Note(**{**given_fields, **fields})


def test_a_note_is_read_back_as_the_skill_with_the_users_notes() -> None:
    skill = parse_exported(f"{render_note(note())}\nWe use tabs.\n")
    assert (skill.id, skill.description, skill.not_for) == ("rust-review", "Reviews Rust.", "Not for Go.")
    assert (skill.body, skill.notes) == ("Body.\n\nWe use tabs.", "We use tabs.")
    assert skill.tags == ("rust", "code-review")
    assert skill.remark == ""


def test_every_part_of_a_skill_is_in_its_note() -> None:
    skill = parse_exported(render_note(note(bodies=("One.", "Two."))))
    assert skill.body == "One.\n\nTwo."
    assert skill.notes == ""


def test_links_lead_to_the_notes_of_confused_skills_alone() -> None:
    text = render_note(note("See [[Elsewhere]] and [[../../x|y]]."))
    outside = "".join(re.split(r"^```text\n.*?^```$", text, flags=re.DOTALL | re.MULTILINE))
    assert re.findall(r"\[\[.*?\]\]", outside) == ["[[PickySteve/rust-build-errors|rust-build-errors]]"]


@given(hostile, hostile)
def test_nothing_of_a_skill_stands_outside_a_block(body: str, description: str) -> None:
    text = render_note(note(body, description=description, not_for=body))
    tokens = MarkdownIt("commonmark").parse(text.partition("\n---\n")[2])
    seen = [token.content for token in tokens if token.type in {"inline", "html_block", "code_block"}]
    assert seen == [
        "rust-review",
        "[!info] A skill of the registry, exported by PickySteve.",
        "What it is for",
        *(["What it is not for"] if body else []),
        "Confused with",
        "[[PickySteve/rust-build-errors|rust-build-errors]]",
        "Text",
        MARKER,
    ]
    assert {token.info for token in tokens if token.type == "fence"} == {"text"}


@given(hostile, st.binary())
def test_the_first_marker_line_is_ours_whatever_the_skill_says(body: str, below: bytes) -> None:
    head = render_note(note(body, description=body)).encode()
    assert split_at_marker(head + below) == (head, below)


@given(texts.filter(lambda text: text.strip() and "\0" not in text))
def test_a_body_comes_back_but_for_its_line_ends(body: str) -> None:
    assert parse_exported(render_note(note(body))).body == "\n".join(body.splitlines()).strip("\n")


def test_a_file_name_cannot_write_frontmatter() -> None:
    text = render_note(note(sources=(f"a\n---\n{MARKER}\nid: evil\n.md",)))
    assert parse_exported(text).id == "rust-review"
    assert split_at_marker(text.encode()) == (text.encode(), b"")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (render_note(note()), "current"),
        (marked_gone(render_note(note())), "gone"),
        (render_index(("a",), ("b",)), "index"),
        (render_note(note()).replace(MARKER, ""), ""),
        (f"---\ntitle: mine\n---\npickysteve: skill\n{MARKER}\n", ""),
        (f"pickysteve: skill\n{MARKER}\n", ""),
        ("", ""),
    ],
)
def test_a_note_tells_what_it_is(text: str, status: str) -> None:
    assert exported_status(text) == status


def test_marking_a_note_as_gone_is_seen_and_done_once() -> None:
    gone = marked_gone(render_note(note()))
    assert "status: gone" in gone and "No longer in the registry" in gone
    assert marked_gone(gone) == gone


@pytest.mark.parametrize("lost", ["id: rust-review", "## Text"])
def test_a_note_that_lost_what_makes_it_one_is_refused(lost: str) -> None:
    with pytest.raises(SkillFormatError, match="lost its id or its text"):
        parse_exported(render_note(note()).replace(lost, ""))
