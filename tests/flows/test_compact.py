"""Compaction: every run is readable exactly once, whatever happens and whenever it stops."""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

from pickysteve.errors import RunsUnwritable
from pickysteve.flows.compact import compact
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.tasks.compact import CompactConfig, compact_partition, compact_runs
from pickysteve.tasks.log import LogConfig, list_traces, read_trace, write_trace
from pickysteve.tasks.values import Pick, Request, StageRecord, Trace

CRASHED = 77


def make_trace(run_id: str, flow: str = "request", text: str = "why is the query slow") -> Trace:
    return Trace(
        run_id=run_id,
        flow=flow,
        started_at="2026-01-02T03:04:05+00:00",
        request=Request(text=text),
        registry="registry",
        fingerprints={},
        pick=Pick(status="ok"),
        stages=(StageRecord(stage="route", milliseconds=1.0, output={"query": run_id}),),
    )


def write(runs_dir: Path, *run_ids: str, flow: str = "request") -> Path:
    """Write a run for each id; returns their partition."""
    paths = [Path(write_trace(make_trace(i, flow), LogConfig(runs_dir=runs_dir)).path) for i in run_ids]
    return paths[0].parent


def assert_readable_once(runs_dir: Path, *run_ids: str) -> None:
    listed = list_traces(runs_dir, 1000)
    assert sorted(run.run_id for run in listed.runs) == sorted(run_ids)
    assert listed.warnings == ()
    for run_id in run_ids:
        assert read_trace(runs_dir, run_id) == make_trace(run_id)


def names(folder: Path, pattern: str = "*.parquet") -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


@contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def test_small_files_become_one_and_every_run_stays(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b", "c")
    done = compact_partition(folder, minimum_files=3)
    assert (done.runs, done.files, done.warnings) == (3, 3, ())
    assert names(folder) == [Path(done.part).name]
    assert names(folder, "part-*") == names(folder)
    assert_readable_once(tmp_path, "a", "b", "c")


def test_few_files_are_left_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    assert compact_partition(folder, minimum_files=3).part == ""
    assert names(folder) == ["a.parquet", "b.parquet"]


def test_an_earlier_merged_file_is_merged_too(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "c")
    compact_partition(folder, minimum_files=2)
    write(tmp_path, "b", "d")
    done = compact_partition(folder, minimum_files=2)
    assert (done.runs, done.files) == (4, 3)
    assert names(folder) == [Path(done.part).name]
    assert_readable_once(tmp_path, "a", "b", "c", "d")


def test_prefixes_and_limits_work_on_merged_files(tmp_path: Path) -> None:
    folder = write(tmp_path, "aa", "ab", "b")
    compact_partition(folder, minimum_files=2)
    write(tmp_path, "ac")
    assert read_trace(tmp_path, "ab").run_id == "ab"
    assert [run.run_id for run in list_traces(tmp_path, 2).runs] == ["b", "ac"]


def test_leftovers_of_a_merged_file_are_deleted_without_it(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    saved = {path: path.read_bytes() for path in folder.iterdir()}
    part = compact_partition(folder, minimum_files=2).part
    for path, content in saved.items():
        path.write_bytes(content)
    assert_readable_once(tmp_path, "a", "b")
    assert [run.run_id for run in list_traces(tmp_path, 2).runs] == ["b", "a"]
    assert compact_partition(folder, minimum_files=2).part == part
    assert names(folder) == [Path(part).name]
    assert_readable_once(tmp_path, "a", "b")


def test_a_loose_copy_takes_precedence_over_a_merged_one(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    compact_partition(folder, minimum_files=2)
    newer = make_trace("a", text="asked again")
    write_trace(newer, LogConfig(runs_dir=tmp_path))
    write(tmp_path, "c")
    assert read_trace(tmp_path, "a") == newer
    compact_partition(folder, minimum_files=2)
    assert read_trace(tmp_path, "a") == newer
    assert len(list_traces(tmp_path).runs) == 3


def test_a_damaged_loose_file_does_not_hide_the_merged_copy(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    compact_partition(folder, minimum_files=2)
    (folder / "a.parquet").write_bytes(b"torn")
    assert read_trace(tmp_path, "a") == make_trace("a")
    listed = list_traces(tmp_path)
    assert [run.run_id for run in listed.runs] == ["b", "a"]
    assert [warning.path for warning in listed.warnings] == [str(folder / "a.parquet")]


def test_what_cannot_be_read_stays_and_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b", "c")
    (folder / "torn.parquet").write_bytes((folder / "a.parquet").read_bytes()[:100])
    (folder / "notes.txt").write_text("mine")
    shutil.copy(folder / "a.parquet", folder / "renamed.parquet")
    done = compact_partition(folder, minimum_files=2)
    assert {Path(warning.path).name for warning in done.warnings} == {
        "torn.parquet",
        "notes.txt",
        "renamed.parquet",
    }
    assert names(folder, "[!p]*") == ["notes.txt", "renamed.parquet", "torn.parquet"]
    assert read_trace(tmp_path, "a") == make_trace("a")


def test_a_partition_of_damaged_files_only_is_left_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    for path in folder.iterdir():
        path.write_bytes(b"torn")
    assert compact_partition(folder, minimum_files=2).part == ""
    assert names(folder) == ["a.parquet", "b.parquet"]


def test_abandoned_temporary_files_go_after_a_day(tmp_path: Path) -> None:
    folder = write(tmp_path, "a")
    for name, age in ((".old.tmp", 2 * 24 * 3600), (".new.tmp", 60)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    compact_partition(folder, minimum_files=2)
    assert names(folder, ".*") == [".new.tmp"]


def test_each_partition_is_merged_for_itself(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    write(tmp_path, "c", "d", flow="ingest")
    (tmp_path / "stray").mkdir()
    done = compact_runs(CompactConfig(runs_dir=tmp_path, minimum_files=2))
    assert sorted(one.runs for one in done) == [0, 2, 2]
    assert [warning.path for one in done for warning in one.warnings] == [str(tmp_path / "stray")]


@pytest.mark.server
def test_the_flow_merges_what_the_function_merges_and_says_so(on_server, tmp_path: Path) -> None:
    write(tmp_path, "a", "b", "c")
    with orchestrated_session() as client:
        state = compact(str(tmp_path), minimum_files=2, return_state=True)
        artifacts = client.read_artifacts(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[state.state_details.flow_run_id]))
        )
    assert (state.name, state.message) == ("Compacted", "3 files became 1")
    assert [artifact.key for artifact in artifacts] == ["compacted"]
    assert_readable_once(tmp_path, "a", "b", "c")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    folder = write(tmp_path, "a", "b", "c")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(RunsUnwritable, match="free space"):
            compact_partition(folder, minimum_files=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(folder, "*") == ["a.parquet", "b.parquet", "c.parquet"]
    assert_readable_once(tmp_path, "a", "b", "c")


def in_child(work: Callable[[], Any], at_event: Callable[[str, tuple[Any, ...]], None]) -> int:
    """Do the work in a child process that tells of each change before it makes it; its exit code."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        sys.addaudithook(at_event)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def crash_at(event_number: int, work: Callable[[], Any]) -> bool:
    """Do the work in a child that dies before its nth change to the disk; whether it died."""
    seen = 0

    def die(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        if opens or event in ("os.rename", "os.remove"):
            seen += 1
            if seen == event_number:
                os._exit(CRASHED)

    return in_child(work, die) == CRASHED


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_run_that_is_written_again_meanwhile_is_not_deleted(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", "b")
    newer = make_trace("a", text="asked again")
    replacement = tmp_path / "newer"
    write_trace(newer, LogConfig(runs_dir=replacement))
    (source,) = replacement.rglob("a.parquet")

    def write_again(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and "part-" in str(arguments[1]) and source.exists():
            source.replace(folder / "a.parquet")

    assert in_child(lambda: compact_partition(folder, minimum_files=2), write_again) == 0
    shutil.rmtree(replacement)
    assert "a.parquet" in names(folder)
    assert read_trace(tmp_path, "a") == newer


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_crash_before_any_change_to_the_disk_loses_nothing(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    compact_partition(write(origin, "a", "b"), minimum_files=2)
    write(origin, "c", "d", "e")
    crashes = 0
    for event_number in range(1, 50):
        runs_dir = tmp_path / str(event_number)
        folder = runs_dir / "flow=request" / "date=2026-01-02"
        shutil.copytree(origin, runs_dir)
        crashed = crash_at(event_number, lambda folder=folder: compact_partition(folder, minimum_files=2))  # type: ignore[misc]
        assert_readable_once(runs_dir, *"abcde")
        write(runs_dir, "f", "g")
        compact_partition(folder, minimum_files=2)
        assert_readable_once(runs_dir, *"abcdefg")
        assert len(names(folder)) == 1
        crashes += crashed
        if not crashed:
            break
    # a temporary file, its rename, and the removal of each of the four sources
    assert crashes >= 6
    assert not crashed


def test_writers_and_readers_beside_a_compaction_lose_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path, "seed")
    written = ["seed"]
    faults: list[str] = []
    finished = threading.Event()

    def keep_compacting() -> None:
        while not finished.is_set():
            compact_partition(folder, minimum_files=2)

    def keep_reading() -> None:
        while not finished.is_set():
            known = set(written)
            found = [run.run_id for run in list_traces(tmp_path, 1000).runs]
            if not known <= set(found) or len(found) != len(set(found)):
                faults.append(f"{known} against {found}")

    threads = [threading.Thread(target=work) for work in (keep_compacting, keep_compacting, keep_reading)]
    for thread in threads:
        thread.start()
    for number in range(20):
        write(tmp_path, f"run-{number:03}")
        written.append(f"run-{number:03}")
    finished.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert_readable_once(tmp_path, *written)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abcdef")),
        st.tuples(st.just("compact"), st.integers(2, 3)),
        st.tuples(st.just("restore"), st.integers(0, 5)),
    ),
    max_size=12,
)


@settings(max_examples=20, deadline=None)
@given(steps)
def test_any_order_of_writes_compactions_and_undeleted_files_keeps_every_run_once(
    sequence: list[tuple[str, Any]],
) -> None:
    with scratch() as runs_dir:
        folder = runs_dir / "flow=request" / "date=2026-01-02"
        deleted: dict[Path, bytes] = {}
        written: set[str] = set()
        for action, argument in sequence:
            if action == "write":
                write(runs_dir, argument)
                written.add(argument)
            elif action == "compact" and written:
                before = {path: path.read_bytes() for path in folder.iterdir()}
                compact_partition(folder, minimum_files=argument)
                deleted |= {path: content for path, content in before.items() if not path.exists()}
            elif action == "restore":
                for path in list(deleted)[argument:]:
                    path.write_bytes(deleted[path])
        assert_readable_once(runs_dir, *written)


def test_a_merged_file_is_sorted_parquet_with_the_columns_of_a_run(tmp_path: Path) -> None:
    folder = write(tmp_path, "b", "a")
    single = parquet.read_schema(folder / "a.parquet")
    part = compact_partition(folder, minimum_files=2).part
    assert parquet.read_schema(part).equals(single)
    assert parquet.ParquetFile(part).read().column("run_id").to_pylist() == ["a", "a", "b", "b"]
