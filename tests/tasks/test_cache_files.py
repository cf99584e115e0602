"""The files of cached results: only ours are listed and removed, and never beyond their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import SettingsInvalid
from pickysteve.tasks.cache_files import CacheFile, list_results, remove_results

KEY = "a" * 64


def put(folder: Path, name: str, content: bytes = b"12345", written: float = 1000.0) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (written, written))
    return path


def test_each_result_has_its_stage_its_size_and_its_time_and_the_oldest_comes_first(tmp_path: Path) -> None:
    later = put(tmp_path, f"gate-documents-{KEY}", b"123", 2000.0)
    earlier = put(tmp_path, f"route-{KEY}")
    assert list_results(tmp_path) == (
        CacheFile(earlier, "route", 5, 1000.0),
        CacheFile(later, "gate-documents", 3, 2000.0),
    )


def test_results_of_an_older_version_and_drafts_of_a_stopped_run_are_ours_too(tmp_path: Path) -> None:
    put(tmp_path, KEY)
    put(tmp_path, f".route-{KEY}.0123abcd")
    assert [file.stage for file in list_results(tmp_path)] == ["route", ""]


@pytest.mark.parametrize(
    "name",
    ["notes.txt", f"route-{KEY}.bak", f"Route-{KEY}", f"route-{KEY[1:]}", f"-{KEY}", f"..-{KEY}", ".keep"],
)
def test_what_is_not_ours_is_neither_listed_nor_removed(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name)
    assert remove_results(list_results(tmp_path)) == ()
    assert path.exists()


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_no_other_name_is_taken_for_a_result(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("names")
    try:
        put(folder, name)
    except (OSError, ValueError):
        return
    assert list_results(folder) == ()


def test_a_link_is_left_alone_and_so_is_what_it_leads_to(tmp_path: Path) -> None:
    precious = put(tmp_path / "elsewhere", f"route-{KEY}")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / f"judge-{KEY}").symlink_to(precious)
    (folder / f"floor-{KEY}").symlink_to(precious.parent, target_is_directory=True)
    (folder / f"rerank-{KEY}").mkdir()
    put(folder / f"rerank-{KEY}", f"route-{KEY}")
    assert remove_results(list_results(folder)) == ()
    assert precious.exists() and len(list(folder.iterdir())) == 3


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    precious = put(tmp_path / "elsewhere", f"route-{KEY}")
    (tmp_path / "results").symlink_to(precious.parent, target_is_directory=True)
    with pytest.raises(SettingsInvalid, match="is a symbolic link"):
        list_results(tmp_path / "results")
    assert precious.exists()


def test_a_folder_that_was_never_made_is_empty(tmp_path: Path) -> None:
    assert list_results(tmp_path / "results") == ()


def test_what_somebody_else_removed_meanwhile_does_not_count(tmp_path: Path) -> None:
    kept, gone = put(tmp_path, f"route-{KEY}"), put(tmp_path, f"judge-{KEY}")
    files = list_results(tmp_path)
    gone.unlink()
    assert [file.path for file in remove_results(files)] == [kept]
    assert list_results(tmp_path) == ()
