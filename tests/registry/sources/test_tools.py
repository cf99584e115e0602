"""A tool's schema becomes text that says what it takes, whatever the schema is, and ids hold."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.catalogue import build_catalogue
from pickysteve.registry.sources.tools import Snapshot, Tool, read_tools, tool_files, write_snapshot

TAKEN = "2026-11-30T00:00:00+00:00"
names = st.lists(
    st.sampled_from(["create_issue", "create-issue", "Create Issue", "x", "日本", ""]), max_size=6
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "$ref", "enum", "anyOf", "description", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def body_of(**fields: Any) -> str:
    snapshot = Snapshot(server="hub", taken_at=TAKEN, tools=(Tool(**{"name": "t", **fields}),))
    (file,) = tool_files(snapshot, "hub", "/x.json", "0" * 64)
    return file.parse(file.text).body


def arguments(schema: dict[str, Any]) -> list[str]:
    return [line for line in body_of(input_schema=schema).splitlines() if line.startswith("- ")]


def test_a_tool_is_a_skill_with_its_title_description_and_arguments(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What it is\nabout."},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"]},
        },
        "required": ["title"],
    }
    tool = Tool(
        name="create_issue", title="Create an issue", description="Opens one.\n\nMore.", input_schema=schema
    )
    path = tmp_path / "snapshot.json"
    write_snapshot(path, Snapshot(server="GitHub", taken_at=TAKEN, tools=(tool,)))
    catalogue = build_catalogue(read_tools(path, "github", "again"))
    unit = catalogue.units["github-create-issue"]
    assert (unit.title, unit.description, unit.source) == ("Create an issue", "Opens one.", "create-issue")
    assert unit.file == str(path.resolve())
    assert unit.body.splitlines() == [
        "The tool `create_issue` of the MCP server `github`.",
        "",
        "Opens one.",
        "",
        "More.",
        "",
        "Arguments:",
        "- `title` (string, required): What it is about.",
        "- `labels` (array)",
        "- `state` (one of open, closed)",
    ]


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({}, []),
        ({"properties": []}, []),
        ({"properties": {"a": True}}, ["- `a`"]),
        ({"properties": {"a": {"type": ["string", "null"]}}}, ["- `a` (string)"]),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, ["- `a` (integer)"]),
        ({"properties": {"a": {"anyOf": 5, "type": {}}}}, ["- `a`"]),
        (
            {
                "properties": {
                    "a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
                }
            },
            ["- `a` (object)", "- `a.b` (string, required)"],
        ),
        (
            {
                "properties": {"a": {"items": {"$ref": "#/$defs/B"}}},
                "$defs": {"B": {"properties": {"c": {}}}},
            },
            ["- `a`", "- `a.c`"],
        ),
        ({"properties": {"a": {"$ref": "#/nowhere"}, "b\nc": {"$ref": 5}}}, ["- `a`", "- `b c`"]),
    ],
)
def test_schemas_are_read_in_every_shape(schema: dict[str, Any], lines: list[str]) -> None:
    assert arguments(schema) == lines


def test_a_schema_that_holds_itself_ends() -> None:
    loop = {"$ref": "#"}
    lines = arguments({"properties": {f"a{n}": loop for n in range(50)}})
    assert len(lines) == 201 and lines[-1].endswith("more")


@given(json_values)
def test_any_schema_is_text(schema: Any) -> None:
    assert body_of(input_schema={"properties": {"x": schema}}).startswith("The tool `t`")


@given(names, st.randoms(use_true_random=False))
def test_ids_are_unique_and_do_not_depend_on_the_servers_order(tools: list[str], random) -> None:
    def ids(ordered: list[str]) -> list[tuple[str, str]]:
        listed = tuple(Tool(name=name) for name in ordered)
        files = tool_files(Snapshot(server="hub", taken_at=TAKEN, tools=listed), "hub", "/x", "0" * 64)
        return [(file.parse(file.text).name, file.text) for file in files]

    found = ids(tools)
    assert len({name for name, _ in found}) == len(tools)
    assert found == ids(random.sample(tools, len(tools)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "has no snapshot"),
        ("{", "has a damaged snapshot"),
        ('{"server": "x", "taken_at": "", "tools": [{"name": 5}]}', "has a damaged snapshot"),
        ('{"server": "x", "taken_at": "", "tools": []}', "offers no tools"),
    ],
)
def test_a_snapshot_that_gives_nothing_is_named(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "s.json").write_text(content)
    (problem,) = read_tools(tmp_path / "s.json", "hub", "again").problems
    assert reason in problem.reason and problem.remedy
