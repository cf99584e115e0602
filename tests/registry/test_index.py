"""The index on disk: what is read is what was written, by this account, or it is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import IndexCorrupt, IndexMissing
from pickysteve.registry.index import read_index, write_index
from pickysteve.registry.index_tables import TABLES, IndexData, Vector
from pickysteve.registry.models import Example, Finding, Problem, Skill, Unit, Verdict
from pickysteve.seal import Seal, operator_seal

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
counts = st.dictionaries(texts, st.integers(1, 2**31 - 1), max_size=4)


def example_data(body: str = "Body.") -> IndexData:
    """A small index with something in every table."""
    unit = Unit(
        unit_id="a/b",
        skill_id="a",
        title="A",
        description="Does “a”.",
        tags=("x", "y"),
        body=body,
        source="a/b.md",
        sha256="0" * 64,
        indexed_at="2026-11-30T00:00:00Z",
    )
    finding = Finding(rule="r", severity="info", passage="p")
    verdict = Verdict(
        allowed=True, score=0.1, risk="low", findings=(finding,), sha256="1" * 64, fingerprint="g"
    )
    examples = (Example(skill_id="a", text="one"), Example(skill_id="a", text="two", origin="user"))
    return IndexData(
        root="/skills",
        encoder="encoder-1",
        gate="gate-1",
        built_at="2026-11-30T00:00:00Z",
        skills={
            "a": Skill(
                skill_id="a", title="A", description="", unit_ids=("a/b",), not_for="n", examples=examples
            ),
            "empty": Skill(skill_id="empty", title="E", description="", unit_ids=()),
        },
        units={"a/b": unit},
        vectors=(Vector("text", "a/b", "2" * 64), Vector("example", "a", "3" * 64)),
        matrix=np.array([[0.6, 0.8], [1.0, 0.0]], np.float32),
        postings={"text": {"a/b": {"body": 1, "größe": 2}}, "examples": {"a": {}}},
        verdicts={verdict.sha256: verdict},
        problems=(Problem(path="x.md", reason="is not UTF-8", remedy="save it", fatal=False),),
    )


def as_dict(data: IndexData) -> dict[str, Any]:
    return {**vars(data), "matrix": data.matrix.tolist(), "dtype": str(data.matrix.dtype)}


def generations(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def put_manifest(folder: Path, manifest: dict[str, Any], seal: Seal) -> None:
    """A manifest as an account with this seal would write it."""
    manifest = {key: value for key, value in manifest.items() if key != "seal"}
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    manifest["seal"] = seal.sign("index", canonical)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    data = example_data()
    digest = write_index(tmp_path, data)
    found = read_index(tmp_path)
    assert as_dict(found) == as_dict(data)
    assert found.digest == data.digest == digest


def test_an_index_of_nothing_can_be_read(tmp_path: Path) -> None:
    data = IndexData(root="/x", encoder="e", gate="g", built_at="now")
    write_index(tmp_path, data)
    found = read_index(tmp_path)
    assert (found.skills, found.vectors, len(found.matrix)) == ({}, (), 0)


def test_a_matrix_without_rows_keeps_its_width(tmp_path: Path) -> None:
    data = replace(example_data(), vectors=(), matrix=np.zeros((0, 384), np.float32))
    write_index(tmp_path, data)
    assert read_index(tmp_path).matrix.shape == (0, 384)


@given(
    st.lists(texts, max_size=5, unique=True), st.dictionaries(texts, counts, max_size=3), st.integers(1, 5)
)
def test_any_text_and_any_size_survive_the_disk(tmp_path_factory, owners, postings, width) -> None:
    matrix = np.random.default_rng(0).normal(size=(len(owners), width)).astype(np.float32)
    vectors = tuple(Vector("text", owner, owner) for owner in owners)
    given_postings = {"text": postings} if postings else {}
    data = replace(example_data(), vectors=vectors, matrix=matrix, postings=given_postings)
    folder = tmp_path_factory.mktemp("index")
    write_index(folder, data)
    found = read_index(folder)
    assert (found.vectors, found.postings) == (data.vectors, data.postings)
    np.testing.assert_array_equal(found.matrix.reshape(matrix.shape), matrix)


def test_vectors_of_a_real_size_keep_every_bit(tmp_path: Path) -> None:
    matrix = np.random.default_rng(1).normal(size=(5000, 384)).astype(np.float32)
    vectors = tuple(Vector("text", str(row), "0" * 64) for row in range(5000))
    write_index(tmp_path, replace(example_data(), vectors=vectors, matrix=matrix))
    assert read_index(tmp_path).matrix.tobytes() == matrix.tobytes()


def test_the_digest_is_of_the_content_and_not_of_the_moment(tmp_path: Path) -> None:
    first = write_index(tmp_path / "one", example_data())
    assert write_index(tmp_path / "two", replace(example_data(), built_at="later")) == first
    assert write_index(tmp_path / "three", example_data("Another body.")) != first


def test_no_index_is_an_error_that_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing, match='run "pickysteve ingest DIR"'):
        read_index(tmp_path)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_edited_is_refused_by_name(tmp_path: Path, table: str) -> None:
    write_index(tmp_path, example_data())
    path = generations(tmp_path)[0] / f"{table}.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexCorrupt, match=rf"{table}.parquet is not the file.*ingest DIR --fresh"):
        read_index(tmp_path)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_missing_is_refused_by_name(tmp_path: Path, table: str) -> None:
    write_index(tmp_path, example_data())
    (generations(tmp_path)[0] / f"{table}.parquet").unlink()
    with pytest.raises(IndexCorrupt, match=rf"{table}.parquet"):
        read_index(tmp_path)


def test_a_table_of_another_generation_is_refused(tmp_path: Path) -> None:
    write_index(tmp_path / "a", example_data("One."))
    write_index(tmp_path / "b", example_data("Two."))
    theirs = generations(tmp_path / "b")[0] / "units.parquet"
    (generations(tmp_path / "a")[0] / "units.parquet").write_bytes(theirs.read_bytes())
    with pytest.raises(IndexCorrupt, match=r"units\.parquet"):
        read_index(tmp_path / "a")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "1",
        '"text"',
        "{}",
        "[" * 100_000,
        '{"seal": "\\ud800"}',
        '{"seal": null}',
        "\ufeff{}",
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    write_index(tmp_path, example_data())
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(IndexCorrupt, match=r"manifest\.json .*ingest DIR --fresh"):
        read_index(tmp_path)


@pytest.mark.parametrize("key", ["version", "generation", "root", "encoder", "gate", "built_at", "tables"])
def test_a_manifest_with_any_value_changed_is_refused(tmp_path: Path, key: str) -> None:
    write_index(tmp_path, example_data())
    manifest = manifest_of(tmp_path)
    manifest[key] = {} if key == "tables" else f"{manifest[key]}x"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(IndexCorrupt, match="not written by this account"):
        read_index(tmp_path)


def test_an_index_that_another_account_sealed_is_refused(tmp_path: Path) -> None:
    write_index(tmp_path, example_data())
    put_manifest(tmp_path, manifest_of(tmp_path), Seal(b"another key of thirty-two bytes!"))
    with pytest.raises(IndexCorrupt, match="not written by this account"):
        read_index(tmp_path)


def test_an_index_of_another_version_counts_as_missing(tmp_path: Path) -> None:
    write_index(tmp_path, example_data())
    put_manifest(tmp_path, manifest_of(tmp_path) | {"version": "0"}, operator_seal())
    with pytest.raises(IndexMissing, match="another version"):
        read_index(tmp_path)


def test_the_newest_generation_is_current_and_one_before_it_stays_for_readers(tmp_path: Path) -> None:
    for body in ("One.", "Two.", "Three."):
        write_index(tmp_path, example_data(body))
    assert read_index(tmp_path).units["a/b"].body == "Three."
    assert len(generations(tmp_path)) == 2


def test_nothing_but_the_manifest_and_generations_is_left(tmp_path: Path) -> None:
    write_index(tmp_path, example_data())
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()) == ["gen", "manifest.json"]


def test_a_writer_that_dies_before_the_manifest_leaves_the_old_index(tmp_path: Path) -> None:
    write_index(tmp_path, example_data("Old."))
    half = tmp_path / "gen-half"
    half.mkdir()
    (half / "units.parquet").write_bytes(b"half")
    assert read_index(tmp_path).units["a/b"].body == "Old."
