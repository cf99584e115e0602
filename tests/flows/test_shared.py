"""Shared storage: what is fetched is what was published and sealed with our key, or it is not used."""

import json
import shutil
import uuid
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import IndexMissing, SettingsInvalid, SharedCorrupt, SharedUnavailable
from pickysteve.flows.answering import Answered, answer_row, row_job
from pickysteve.flows.engines import index_folder
from pickysteve.flows.fetching import calibration_digest, index_with, publish_engines, with_calibration
from pickysteve.flows.shared import open_shared
from pickysteve.flows.suite import Task
from pickysteve.registry.index import read_index
from pickysteve.seal import Seal


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    """A storage of each kind, empty."""
    address = f"file://{tmp_path / 'shared'}" if request.param == "file" else f"memory://{uuid.uuid4()}"
    return open_shared(address)


@pytest.fixture
def published(store, engines, small_settings):
    return store, store.publish_index(index_folder(small_settings))


def rewrite(store, path, change):
    full = f"{store.root}/{path}"
    store.files.pipe_file(full, change(store.files.cat_file(full)))


def test_an_index_arrives_as_it_was_published(published, engines, tmp_path):
    store, digest = published
    store.fetch_index(digest, tmp_path / "there")
    there, here = read_index(tmp_path / "there"), engines.index.data
    assert there.digest == digest == here.digest
    assert there.units == here.units and (there.matrix == here.matrix).all()


def test_publishing_again_sends_nothing_and_leaves_no_draft(published, small_settings):
    store, digest = published
    before = {path: store.files.modified(path) for path in store.files.find(store.root)}
    assert store.publish_index(index_folder(small_settings)) == digest
    assert {path: store.files.modified(path) for path in store.files.find(store.root)} == before
    assert not [path for path in before if path.endswith(".part")]


def test_a_changed_table_is_refused_and_nothing_is_written(published, tmp_path):
    store, digest = published
    manifest = json.loads(store.files.cat_file(f"{store.root}/indexes/{digest}.json"))
    rewrite(store, f"objects/{manifest['tables']['units']}", lambda content: content[:-1] + b"x")
    with pytest.raises(SharedCorrupt, match="not what was published"):
        store.fetch_index(digest, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_manifest_of_another_key_is_refused_in_one_sentence_that_names_the_key(
    published, tmp_path, monkeypatch
):
    store, digest = published
    monkeypatch.setattr("pickysteve.registry.index.operator_seal", lambda: Seal(b"another machine's key" * 2))
    with pytest.raises(SharedCorrupt, match="same PS_SEAL_KEY on all machines"):
        store.fetch_index(digest, tmp_path / "there")


def test_a_sealed_manifest_under_the_name_of_another_is_refused(published, tmp_path):
    store, digest = published
    store.files.copy(f"{store.root}/indexes/{digest}.json", f"{store.root}/indexes/{'0' * 64}.json")
    with pytest.raises(SharedCorrupt, match="another index"):
        store.fetch_index("0" * 64, tmp_path / "there")


def test_a_manifest_cannot_name_a_folder_outside(published, tmp_path, monkeypatch):
    store, digest = published
    monkeypatch.setattr(Seal, "verifies", lambda *_: True)
    path = f"indexes/{digest}.json"
    rewrite(store, path, lambda c: json.dumps(json.loads(c) | {"generation": "../../escaped"}).encode())
    with pytest.raises(SharedCorrupt):
        store.fetch_index(digest, tmp_path / "there" / "index")
    rewrite(store, path, lambda c: json.dumps(json.loads(c) | {"generation": "gen-0123456789ab"}).encode())
    tables = {"units": "../../escaped"}
    rewrite(store, path, lambda c: json.dumps(json.loads(c) | {"tables": tables}).encode())
    with pytest.raises(SharedCorrupt):
        store.fetch_index(digest, tmp_path / "there" / "index")
    assert not (tmp_path / "escaped").exists()


@given(st.text(max_size=80).filter(lambda name: len(name) != 64))
def test_nothing_but_a_digest_gets_into_a_path(name):
    with pytest.raises(SharedCorrupt, match="no SHA-256"):
        open_shared("memory://names").fetch_index(name, None)


def test_what_is_too_long_is_not_read_to_its_end(published, tmp_path):
    store, digest = published
    rewrite(store, f"indexes/{digest}.json", lambda content: content + b" " * 100_000)
    with pytest.raises(SharedCorrupt, match="longer than"):
        store.fetch_index(digest, tmp_path / "there")


def test_what_is_not_there_and_what_is_no_storage_are_told(store, tmp_path):
    with pytest.raises(SharedUnavailable, match="no indexes/0000"):
        store.fetch_index("0" * 64, tmp_path)
    with pytest.raises(SettingsInvalid, match="PS_SHARED"):
        open_shared("nonsense://bucket")
    (tmp_path / "file").write_text("")
    with pytest.raises(SharedUnavailable, match="cannot be used"):
        open_shared(f"file://{tmp_path / 'file'}").publish_file(tmp_path / "file")


def test_a_run_lies_there_file_by_file_under_its_name(store, tmp_path):
    run = tmp_path / "20261130T200000"
    (run / "tiny" / "runs").mkdir(parents=True)
    (run / "report.html").write_text("page")
    (run / "tiny" / "runs" / "a.parquet").write_bytes(b"PAR1")
    (run / "secret").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("not of this run")
    store.publish_run(run)
    found = {path.removeprefix(store.root).lstrip("/") for path in store.files.find(store.root)}
    assert found == {f"runs/{run.name}/report.html", f"runs/{run.name}/tiny/runs/a.parquet"}
    with pytest.raises(SettingsInvalid, match="--out"):
        store.publish_run(tmp_path / ".hidden run")


def test_a_worker_elsewhere_fetches_index_and_calibration_and_answers_alike(
    engines, small_settings, tmp_path, monkeypatch
):
    address = f"file://{tmp_path / 'shared'}"
    publish_engines(engines, small_settings.model_copy(update={"shared": address}))
    job = row_job(engines, small_settings, (), "elsewhere")[0]
    job = job.model_copy(update={"index": tmp_path / "only on the caller's machine"})
    task = Task(id="a", request="review this unsafe block in Rust", gold=("rust-review",))
    monkeypatch.setenv("PS_INDEX_DIR", str(tmp_path / "worker"))
    with pytest.raises(IndexMissing, match="set PS_SHARED"):
        answer_row("a", task.model_dump_json(), job.model_dump_json())
    monkeypatch.setenv("PS_SHARED", address)
    words = job.model_copy(update={"evaluation": "again"}).model_dump_json()
    found = Answered.model_validate_json(answer_row("a", task.model_dump_json(), words))
    assert found.parts == row_job(engines, small_settings, (), "here")[1].parts
    # from now on it has its own
    shutil.rmtree(tmp_path / "shared")
    settings = small_settings.model_copy(update={"index_dir": tmp_path / "worker", "shared": address})
    assert index_with(job.index_digest, job.index, settings).digest == job.index_digest


def test_a_calibration_that_a_machine_lacks_is_fetched_by_its_digest(small_settings, engines, tmp_path):
    own = tmp_path / "own.json"
    own.write_text(engines.calibration.fitted.model_copy(update={"floor": 0.25}).model_dump_json())
    shared = {"shared": f"file://{tmp_path / 'shared'}"}
    caller = small_settings.model_copy(update=shared | {"calibration": own})
    publish_engines(engines, caller)
    digest = calibration_digest(caller)
    worker = small_settings.model_copy(update=shared | {"index_dir": tmp_path / "worker"})
    fetched = with_calibration(digest, worker)
    assert sha256(fetched.calibration.read_bytes()).hexdigest() == digest
    assert with_calibration(calibration_digest(worker), worker) == worker
