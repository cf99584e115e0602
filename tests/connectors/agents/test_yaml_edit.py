"""YAML text is edited in place: the lines of our key come and go, and nothing else moves."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.connectors.agents.data import EditRefused, placed
from pickysteve.connectors.agents.edit import connected, disconnected
from pickysteve.connectors.agents.table import Entry
from pickysteve.connectors.agents.yaml_edit import read_yaml

ENTRY = Entry(
    route=("extensions", "pickysteve"),
    value={"type": "stdio", "cmd": r"C:\bin\p.exe", "args": ["mcp"], "envs": {}, "enabled": True},
)
TOPS = (
    "# a comment: {",
    "GOOSE_MODEL: gpt # tail",
    "text: |\n  two\n   lines\n\n",
    "folded: >-\n  a\n  b",
    "list:\n- a\n-   b: 1\n    c: 2",
    "quoted: 'it''s'",
    "anchor: &a {x: 1}",
    "empty:",
)
CHILDREN = (
    "  # about dev\n  developer:\n    enabled: true\n    args:\n    - x\n    - y",
    "  memory: {enabled: false, name: 'm'}",
    "  note: >\n    folded\n    text\n",
    '  "quoted key": 1 # tail',
)


@st.composite
def configs(draw):
    """A config with or without extensions, in some order."""
    parts = draw(st.lists(st.sampled_from(TOPS), unique=True, max_size=4))
    children = draw(st.lists(st.sampled_from(CHILDREN), unique=True, max_size=3))
    if children:
        block = "\n".join([draw(st.sampled_from(["extensions:", "extensions: # mine"])), *children])
        parts.insert(draw(st.integers(0, len(parts))), block)
    return "".join(f"{part}\n" for part in parts).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def put(text):
    return connected(text.encode(), "yaml", (ENTRY,)).decode()


@settings(deadline=None, max_examples=50)
@given(configs())
def test_any_file_only_grows_and_shrinks_back(text):
    done = put(text)
    assert read_yaml(done) == placed(read_yaml(text), ENTRY)
    rest = iter(done.splitlines(keepends=True))
    assert all(line in rest for line in text.splitlines(keepends=True))
    assert put(done) == done
    assert disconnected(done.encode(), "yaml", (ENTRY,), read_yaml(text) or {}).decode() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "e:\n  p:\n    x: 1\n"),
        ("a: 1", "a: 1\ne:\n  p:\n    x: 1\n"),
        ("e: # mine\n    # q\n    q: 2\nz: 3\n", "e: # mine\n    p:\n      x: 1\n    # q\n    q: 2\nz: 3\n"),
        ("e: {}\n", 'e: {"p": {"x": 1}}\n'),
        ("e: {q: 2}\n", 'e: {"p": {"x": 1}, q: 2}\n'),
        ("e:\nz: 3\n", "e:\n  p:\n    x: 1\nz: 3\n"),
        ("e: ~\n", 'e: {"p": {"x": 1}}\n'),
        ('{"e": {"q": 2}}\n', '{"e": {"p": {"x": 1}, "q": 2}}\n'),
        ("---\na: 1\n", "---\na: 1\ne:\n  p:\n    x: 1\n"),
        ("e:\n  p:\n    x: 7 # seven\n    y: 8\n", "e:\n  p:\n    x: 1 # seven\n    y: 8\n"),
    ],
)
def test_a_new_key_takes_the_form_of_its_neighbours(before, after):
    entry = Entry(route=("e", "p"), value={"x": 1})
    assert connected(before.encode(), "yaml", (entry,)).decode() == after


def test_a_table_that_was_there_before_us_stays_when_it_is_empty():
    text = put("extensions: {}\nz: 1\n")
    assert disconnected(text.encode(), "yaml", (ENTRY,)).decode() == "extensions: {}\nz: 1\n"


@pytest.mark.parametrize("text", ["extensions:\nz: 1\n", "extensions: # none yet\n  # soon\nz: 1\n"])
def test_a_key_that_had_no_value_has_none_again(text):
    assert disconnected(put(text).encode(), "yaml", (ENTRY,), read_yaml(text)).decode() == text


def test_the_only_key_of_a_block_leaves_an_empty_table():
    text = put("extensions:\n  old: 1\n").replace("  old: 1\n", "")
    assert read_yaml(disconnected(text.encode(), "yaml", (ENTRY,)).decode()) == {"extensions": {}}


@pytest.mark.parametrize(
    "text",
    ["a: [1\n", "a: 1\na: 2\n", "- 1\n", "extensions: 3\n", "a: 1\n---\nb: 2\n", "\tx: 1\n", "a: 1\n...\n"],
)
def test_what_is_not_one_plain_document_of_keys_is_refused(text):
    with pytest.raises(EditRefused):
        put(text)
