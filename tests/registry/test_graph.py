"""The graph file: what people write, what is refused, and edits that leave the rest of it alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import SettingsInvalid, SkillFormatError
from pickysteve.registry.graph import Edge, edit_graph, graph_file, pair_of, read_graph

FILE = """# ours
confused_with:
  - skills: [rust-review, rust-build-errors]   # often
    distinguisher: Whether the code
      compiles.
    signals:
      rust-review: idiomatic
not_confused:
  - [zebra, apples]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return graph_file(tmp_path)


def test_the_file_stands_in_the_folder_or_beside_the_set(tmp_path: Path) -> None:
    assert graph_file(tmp_path) == tmp_path / "confusions.yaml"
    assert graph_file(tmp_path / "team.toml") == tmp_path / "team.confusions.yaml"


def test_edges_are_read_in_order_with_what_people_struck_out(path: Path) -> None:
    path.write_text(FILE)
    struck, joined = read_graph(path)
    assert (struck.pair, struck.origin) == (("apples", "zebra"), "rejected")
    assert joined == Edge(
        first="rust-build-errors",
        second="rust-review",
        distinguisher="Whether the code compiles.",
        second_signal="idiomatic",
    )
    assert joined.signal_of("rust-review") == "idiomatic"
    assert joined.other_than("rust-review") == "rust-build-errors"


def test_without_a_file_nothing_is_said(path: Path) -> None:
    assert read_graph(path) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("confused_with: [", "no readable YAML"),
        ("confused: []", "Extra inputs"),
        ("confused_with:\n - skills: [a]", "skills"),
        ("confused_with:\n - skills: [a, a]", "not confused with itself"),
        ("confused_with:\n - skills: [a, b]\n   signals: {c: x}", "signals has c, which is neither"),
        (f"confused_with:\n - skills: [a, b]\n   distinguisher: {'x' * 301}", "distinguisher"),
        ("not_confused:\n - [a, a]", "two skills"),
        ("!!python/object/apply:os.system ['true']", "no readable YAML"),
    ],
)
def test_a_file_that_says_something_else_is_refused_with_the_place(path: Path, text: str, said: str) -> None:
    path.write_text(text)
    with pytest.raises(SkillFormatError, match=said):
        read_graph(path)


def test_an_edit_replaces_its_pair_and_keeps_comments_and_all_else(path: Path) -> None:
    path.write_text(FILE)
    edit_graph(path, ("a", "b"), Edge(first="a", second="b", second_signal="of b"))
    edit_graph(path, ("apples", "zebra"), Edge(first="apples", second="zebra"))
    assert [edge.pair for edge in read_graph(path)] == [
        ("a", "b"),
        ("apples", "zebra"),
        ("rust-build-errors", "rust-review"),
    ]
    assert {edge.origin for edge in read_graph(path)} == {"registry"}
    assert "# ours" in path.read_text() and "# often" in path.read_text()
    edit_graph(path, ("rust-build-errors", "rust-review"), None)
    assert read_graph(path)[2].origin == "rejected"


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="copy the registry"):
        edit_graph(tmp_path / "nowhere" / "confusions.yaml", ("a", "b"), None)


ids = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
notes = st.text(max_size=60).map(lambda text: " ".join(text.split()))


@given(st.lists(st.tuples(ids, ids, notes, notes).filter(lambda row: row[0] != row[1]), max_size=5))
def test_what_is_written_is_read_again(rows: list[tuple[str, str, str, str]]) -> None:
    from tempfile import TemporaryDirectory

    edges = {}
    with TemporaryDirectory() as folder:
        path = graph_file(Path(folder))
        for one, other, note, signal in rows:
            pair = pair_of(one, other)
            edges[pair] = Edge(first=pair[0], second=pair[1], distinguisher=note, second_signal=signal)
            edit_graph(path, pair, edges[pair])
        assert read_graph(path) == tuple(edges[pair] for pair in sorted(edges))
