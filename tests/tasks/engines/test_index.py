from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.index import read_index, write_index
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.index import Ragged, SearchIndex, text_digest

shapes = st.lists(st.integers(0, 4), min_size=1, max_size=5)


def ragged(counts: list[int]) -> tuple[Ragged, list[np.ndarray]]:
    draw = np.random.default_rng(sum(counts) + len(counts))
    matrix = draw.normal(size=(sum(counts), 3)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    ends = np.cumsum(counts)
    rows = [list(range(end - count, end)) for end, count in zip(ends, counts, strict=True)]
    return Ragged(matrix, rows), [matrix[part] for part in rows]


@given(shapes, st.integers(1, 3))
def test_each_owner_is_scored_by_its_own_vectors(counts: list[int], queries: int) -> None:
    scored, parts = ragged(counts)
    asked = np.random.default_rng(7).normal(size=(queries, 3)).astype(np.float32)
    similarities = scored.similarities(asked)
    assert similarities.shape == (len(counts), max(*counts, 1), queries)
    for owner, vectors in enumerate(parts):
        np.testing.assert_allclose(similarities[owner, : len(vectors)], vectors @ asked.T, atol=1e-5)
        assert (similarities[owner, len(vectors) :] == -np.inf).all()
    assert scored.counts.tolist() == counts


@given(shapes)
def test_a_centroid_is_the_direction_of_the_mean(counts: list[int]) -> None:
    scored, parts = ragged(counts)
    for centroid, vectors in zip(scored.centroids, parts, strict=True):
        if len(vectors):
            mean = vectors.mean(axis=0)
            np.testing.assert_allclose(centroid, mean / np.linalg.norm(mean), atol=1e-4)
        else:
            assert not centroid.any()


def test_rows_may_lie_anywhere_in_the_matrix() -> None:
    matrix = np.eye(3, dtype=np.float32)
    similarities = Ragged(matrix, [[2], [], [0, 1]]).similarities(matrix[:1])[:, :, 0]
    assert similarities.tolist() == [[0.0, -np.inf], [-np.inf, -np.inf], [1.0, 0.0]]


def test_heads_and_texts_follow_the_units(sketch, index_of) -> None:
    index = index_of(sketch("b", {"b": (0, 1, 0)}), sketch("a", {"a": (1, 0, 0), "a/more": (0, 0, 1)}))
    assert index.unit_ids == ("a", "a/more", "b")
    np.testing.assert_array_equal(index.heads, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(index.texts, index.heads)
    assert index.skill_row.tolist() == [0, 0, 1]
    assert dict(index.skill_rows) == {"a": [0, 1], "b": [2]}
    assert index.passages.counts.tolist() == [2, 2, 2]


def test_a_skill_without_examples_has_none(sketch, index_of) -> None:
    index = index_of(
        sketch("a", {"a": (1, 0, 0)}), sketch("b", {"b": (0, 1, 0)}, examples={"cider please": (0, 1, 0)})
    )
    assert index.examples.counts.tolist() == [0, 1]
    assert not index.examples.centroids[0].any()
    coverage = index.examples_bm25.coverage(["cider"])
    assert coverage[0] == 0 < coverage[1]


def test_a_refused_unit_has_zero_vectors_and_is_not_handed_out(sketch, index_of) -> None:
    index = index_of(sketch("a", {"a": (1, 0, 0), "a/more": (1, 0, 0)}, refused=("a/more",)))
    assert not index.heads[1].any()
    assert not index.texts[1].any()
    assert index.allowed_units("a") == ("a",)
    assert [unit.unit_id for unit in index.units_of("a")] == ["a"]
    assert [unit.unit_id for unit in index.units_of("a", refused=True)] == ["a", "a/more"]


def test_a_unit_without_a_verdict_is_not_handed_out(sketch, index_of) -> None:
    index = index_of(sketch("a", {"a": (1, 0, 0)}))
    index.data.verdicts.clear()
    assert index.verdict_of("a") is None
    assert index.units_of("a") == ()


def test_an_index_of_refused_units_alone_can_be_read_and_searched(sketch, index_of, tmp_path: Path) -> None:
    drawn = index_of(sketch("bad", {"bad": (1, 0, 0)}, refused=("bad",)))
    write_index(tmp_path, drawn.data)
    index = SearchIndex(read_index(tmp_path))
    assert index.heads.shape == index.texts.shape == (1, 3)
    assert index.passages.similarities(np.ones((1, 3), np.float32)).tolist() == [[[-np.inf]]]
    assert not index.examples.centroids.any()


@pytest.fixture
def own_files(sketch, index_of, tmp_path: Path) -> SearchIndex:
    index = index_of(sketch("a", {"a": (1, 0, 0), "more": (0, 1, 0)}), root=str(tmp_path))
    for unit_id in index.unit_ids:
        (tmp_path / f"{unit_id}.md").write_text(f"# {unit_id}\n")
    digests = {u: sha256((tmp_path / f"{u}.md").read_bytes()).hexdigest() for u in index.unit_ids}
    units = {u: index.unit(u).model_copy(update={"sha256": digests[u]}) for u in index.unit_ids}
    index.data.units.update(units)
    return index


def stale(index: SearchIndex) -> dict[str, bool]:
    return {unit.unit_id: unit.stale for unit in index.units_of("a")}


def test_files_as_they_were_indexed_are_not_stale(own_files: SearchIndex) -> None:
    assert stale(own_files) == {"a": False, "more": False}


def test_a_file_that_changed_marks_its_unit_alone(own_files: SearchIndex, tmp_path: Path) -> None:
    (tmp_path / "more.md").write_text("# another text\n")
    assert stale(own_files) == {"a": False, "more": True}
    assert own_files.unit("more").stale is False


def test_a_file_that_vanished_marks_its_unit(own_files: SearchIndex, tmp_path: Path) -> None:
    (tmp_path / "a.md").unlink()
    assert stale(own_files) == {"a": True, "more": False}


def test_a_file_that_is_as_before_again_is_fresh_again(own_files: SearchIndex, tmp_path: Path) -> None:
    before = (tmp_path / "a.md").read_bytes()
    (tmp_path / "a.md").write_bytes(b"other")
    assert stale(own_files)["a"]
    (tmp_path / "a.md").write_bytes(before)
    assert not stale(own_files)["a"]


def test_the_main_unit_comes_first(small_index: SearchIndex) -> None:
    for skill_id, skill in small_index.skills.items():
        units = small_index.units_of(skill_id)
        assert units[0].unit_id == skill.unit_ids[0]
        assert not any(unit.stale for unit in units)


def test_our_own_skills_are_laid_out_unit_by_unit(small_index: SearchIndex) -> None:
    count = len(small_index.unit_ids)
    assert small_index.heads.shape == small_index.texts.shape == (count, 384)
    np.testing.assert_allclose(np.linalg.norm(small_index.texts, axis=1), 1.0, atol=1e-5)
    assert (small_index.passages.counts > 1).all()
    assert small_index.fingerprint == small_index.data.digest != ""
    assert all((v := small_index.verdict_of(u)) and v.allowed for u in small_index.unit_ids)


def test_a_digest_is_taken_of_any_text() -> None:
    assert text_digest("a") == sha256(b"a").hexdigest()
    assert text_digest("\ud800") != text_digest("\ud801")


def test_an_index_without_anything_is_no_error() -> None:
    index = SearchIndex(IndexData(root="", encoder="", gate="", built_at=""))
    assert index.unit_ids == ()
    assert index.heads.shape[0] == index.texts.shape[0] == 0
