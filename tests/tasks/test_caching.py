from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prefect.cache_policies import NO_CACHE
from prefect.results import ResultRecord, ResultRecordMetadata, ResultStore

import pickysteve.registry
from pickysteve.registry.models import Skill, Verdict
from pickysteve.seal import Seal
from pickysteve.tasks.cache_files import cache_folder
from pickysteve.tasks.caching import SealedStorage, ValueSerializer, make_task
from pickysteve.tasks.values import Clause, Pick, Request, Route

ROOT = Path(pickysteve.registry.__file__).resolve().parent.parent
PICK = Pick(status="ok", skills=("a",), shortlist={"a": "what — it does"})
VERDICT = Verdict(allowed=True, score=0.1, risk="low", sha256="0" * 64, fingerprint="gate")


@pytest.fixture
def storage(tmp_path: Path) -> SealedStorage:
    return SealedStorage(basepath=str(tmp_path / "results"))


@pytest.fixture
def store(storage: SealedStorage) -> ResultStore:
    return ResultStore(result_storage=storage, serializer=ValueSerializer())


def place(storage: SealedStorage, key: str) -> Path:
    return Path(storage.basepath) / key


def test_what_was_written_is_read_again(storage: SealedStorage) -> None:
    storage.write_path("key", b"content")
    assert storage.read_path("key") == b"content"


def test_a_later_result_replaces_the_earlier_one_and_leaves_no_draft(storage: SealedStorage) -> None:
    for content in (b"one", b"two"):
        storage.write_path("key", content)
    assert storage.read_path("key") == b"two"
    assert [path.name for path in Path(storage.basepath).iterdir()] == ["key"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=40), st.data())
def test_a_file_with_one_changed_byte_is_refused(storage: SealedStorage, content: bytes, data) -> None:
    storage.write_path("key", content)
    sealed = bytearray(place(storage, "key").read_bytes())
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    place(storage, "key").write_bytes(bytes(sealed))
    with pytest.raises(ValueError, match="was not written by this account"):
        storage.read_path("key")


@pytest.mark.parametrize("length", [0, 10, 64, 66])
def test_a_file_that_was_cut_short_is_refused(storage: SealedStorage, length: int) -> None:
    storage.write_path("key", b"content")
    place(storage, "key").write_bytes(place(storage, "key").read_bytes()[:length])
    with pytest.raises(ValueError, match="was not written by this account"):
        storage.read_path("key")


def test_a_file_under_the_key_of_another_is_refused(storage: SealedStorage) -> None:
    storage.write_path("allowed", b"allow")
    storage.write_path("blocked", b"block")
    place(storage, "allowed").replace(place(storage, "blocked"))
    with pytest.raises(ValueError, match="was not written by this account"):
        storage.read_path("blocked")


def test_a_file_sealed_with_another_key_is_refused(storage: SealedStorage) -> None:
    Path(storage.basepath).mkdir()
    foreign = Seal(b"another account").sign("result:key", b"content")
    place(storage, "key").write_bytes(foreign.encode() + b"content")
    with pytest.raises(ValueError, match="was not written by this account"):
        storage.read_path("key")


def test_a_key_cannot_leave_the_folder(storage: SealedStorage, tmp_path: Path) -> None:
    written = storage.write_path("../../outside", b"content")
    assert Path(written) == tmp_path / "results" / "outside"


def test_prefect_finds_what_it_wrote(store: ResultStore) -> None:
    store.write(PICK, key="key")
    assert store.exists("key")
    assert store.read("key").result == PICK


@pytest.mark.parametrize("damage", ["edited", "swapped", "foreign", "missing"])
def test_prefect_takes_a_damaged_file_for_a_miss(
    store: ResultStore, storage: SealedStorage, damage: str
) -> None:
    store.write(PICK, key="key")
    store.write(PICK.model_copy(update={"skills": ("b",)}), key="other")
    target = place(storage, "key")
    if damage == "edited":
        target.write_bytes(target.read_bytes().replace(b'\\"a\\"', b'\\"b\\"'))
    elif damage == "swapped":
        place(storage, "other").replace(target)
    elif damage == "foreign":
        content = target.read_bytes()[64:]
        target.write_bytes(Seal(b"another account").sign("result:key", content).encode() + content)
    else:
        target.unlink()
    assert not ResultStore(result_storage=storage, serializer=ValueSerializer()).exists("key")


def test_a_result_that_expired_is_a_miss(store: ResultStore) -> None:
    for key, hours in (("past", -1), ("future", 1)):
        store.write(PICK, key=key, expiration=datetime.now(UTC) + timedelta(hours=hours))
    assert not store.exists("past")
    assert store.exists("future")


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_planted_file_that_names_pickle_is_a_miss_and_runs_nothing(
    storage: SealedStorage, tmp_path: Path
) -> None:
    sprung = tmp_path / "sprung"
    record = ResultRecord(
        result=Trap(sprung),
        metadata=ResultRecordMetadata(storage_key="key", serializer={"type": "pickle"}),
    )
    planted = record.serialize()
    assert b"pickle" in planted
    Path(storage.basepath).mkdir()
    place(storage, "key").write_bytes(planted)
    assert not ResultStore(result_storage=storage, serializer=ValueSerializer()).exists("key")
    assert not sprung.exists()


@pytest.mark.parametrize(
    "value",
    [PICK, VERDICT, Request(text="ü\n"), Route(query="q", clauses=(Clause(text="c", role="ask"),))],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back_with_its_type(value) -> None:
    blob = ValueSerializer().dumps(value)
    assert ValueSerializer().loads(blob) == value
    assert json.loads(blob)["type"] == type(value).__name__


class Foreign(Request):
    """A value that the flow does not know, and one that takes the name of a known one."""


SKILL = Skill(skill_id="a", title="a", description="", unit_ids=("a",))


@pytest.mark.parametrize(
    "thing",
    [
        None,
        {"status": "ok"},
        "text",
        1,
        (PICK,),
        SKILL,
        Foreign(text="x"),
        type("Pick", (Foreign,), {})(text="x"),
    ],
    ids=str,
)
def test_what_is_no_value_of_the_flow_is_not_written(thing) -> None:
    with pytest.raises(TypeError, match="no value of the flow"):
        ValueSerializer().dumps(thing)


@pytest.mark.parametrize("name", ["Skill", "Any", "Field", "dict", "os.system", "", None, ["Pick"], "Status"])
def test_a_type_that_is_not_on_the_list_is_not_read(name) -> None:
    with pytest.raises(ValueError, match="no value of the flow"):
        ValueSerializer().loads(json.dumps({"type": name, "value": {}}).encode())


@pytest.mark.parametrize("blob", [b"", b"{", b"\x80\x04.", pickle.dumps(1)])
def test_what_is_no_json_is_not_read(blob: bytes) -> None:
    with pytest.raises(ValueError):
        ValueSerializer().loads(blob)


def test_a_value_with_other_fields_is_not_read() -> None:
    with pytest.raises(ValueError):
        ValueSerializer().loads(b'{"type": "Pick", "value": {"status": "ok", "extra": 1}}')


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_source_of_ours_imports_or_names_pickle() -> None:
    sources = [
        path
        for folder in ("core", "registry", "calibration", "tasks", "flows", "connectors")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(sources) > 30
    unsafe = ("pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib")
    found = [
        path.name for path in sources if any(name.split(".")[0] in unsafe for name in imported_names(path))
    ]
    assert found == []


def test_the_task_of_a_cached_stage_keeps_sealed_typed_results_for_a_day() -> None:
    task = make_task("route", lambda values, call: None, cached=True, timeout_seconds=5)
    assert (task.name, task.timeout_seconds, task.persist_result) == ("route", 5, True)
    assert task.cache_expiration == timedelta(days=1)
    assert isinstance(task.result_serializer, ValueSerializer)
    assert isinstance(task.result_storage, SealedStorage)
    assert task.result_storage.basepath == str(cache_folder())
    assert task.cache_result_in_memory is False
    # a stage tries again itself, on the errors that it names
    assert task.retries == 0


def test_the_task_of_a_cached_stage_is_found_by_our_own_key() -> None:
    class Call:
        key = "our key"

    task = make_task("route", lambda values, call: None, cached=True, timeout_seconds=5)
    assert task.cache_key_fn(None, {"values": (), "call": Call()}) == "our key"


def test_the_task_of_a_stage_that_is_not_cached_persists_nothing() -> None:
    task = make_task("gate", lambda values, call: None, cached=False, timeout_seconds=5)
    assert task.persist_result is False
    assert task.cache_policy == NO_CACHE
    assert task.cache_key_fn is None
