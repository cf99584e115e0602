"""The verdict store: an entry counts only when this account wrote it, for this text, surface and gate."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pickysteve.errors import SettingsInvalid
from pickysteve.registry.models import Finding, Verdict
from pickysteve.registry.verdicts import GATES_KEPT, VerdictStore
from pickysteve.seal import Seal

GATE = "a" * 64
ONE, TWO = "1" * 64, "2" * 64


def verdict(sha256: str = ONE, **changes: object) -> Verdict:
    finding = Finding(rule="classifier", severity="review", passage="what was found\n")
    allow = Verdict(
        allowed=True, score=0.7, risk="review", findings=(finding,), sha256=sha256, fingerprint=GATE
    )
    return allow.model_copy(update=changes)


@pytest.fixture
def store(tmp_path: Path) -> VerdictStore:
    kept = VerdictStore(tmp_path, GATE)
    kept.keep("document", verdict(ONE))
    kept.keep("document", verdict(TWO, score=0.1, risk="low", findings=()))
    return kept


def lines(store: VerdictStore) -> list[dict]:
    return [json.loads(line) for line in store.path.read_text().splitlines()]


def put(store: VerdictStore, *entries: dict) -> None:
    store.path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def reopened(store: VerdictStore) -> VerdictStore:
    return VerdictStore(store.path.parent, store.gate)


def test_an_allow_is_found_again_by_the_next_process(store: VerdictStore) -> None:
    again = reopened(store)
    assert again.allow_of("document", ONE) == verdict(ONE)
    assert again.ignored == 0


def test_every_allow_is_on_disk_before_the_next_text_is_judged(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, GATE)
    for number, sha in enumerate((ONE, TWO), start=1):
        store.keep("document", verdict(sha))
        assert len(lines(store)) == number


def test_a_block_and_a_verdict_of_another_gate_are_not_kept(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, GATE)
    store.keep("document", verdict(allowed=False, risk="block"))
    store.keep("document", verdict(fingerprint="b" * 64))
    assert store.allow_of("document", ONE) is None
    assert not store.path.exists()


def test_what_was_allowed_as_a_document_was_not_judged_as_a_note(store: VerdictStore) -> None:
    assert store.allow_of("note", ONE) is None


def test_the_same_allow_is_written_once(store: VerdictStore) -> None:
    store.keep("document", verdict(ONE))
    assert len(lines(store)) == 2


class TestForgeries:
    """Each is ignored, counted once, and gone afterwards; the other entries stay."""

    def check(self, store: VerdictStore, forged: int = 1, kept: str = TWO) -> None:
        found = reopened(store)
        assert found.ignored == forged
        assert found.allow_of("document", kept) is not None
        others = {ONE, TWO} - {kept}
        assert [found.allow_of("document", sha) for sha in others] == [None]
        assert reopened(store).ignored == 0

    @pytest.mark.parametrize(
        ("old", "new"), [(ONE, "3" * 64), ("review", "low"), ('"score":0.7', '"score":0.0'), (GATE, "b" * 64)]
    )
    def test_an_edited_verdict(self, store: VerdictStore, old: str, new: str) -> None:
        first, second = lines(store)
        edited = {**first, "verdict": first["verdict"].replace(old, new)}
        assert edited != first
        put(store, edited, second)
        self.check(store)

    def test_an_edited_surface(self, store: VerdictStore) -> None:
        first, second = lines(store)
        put(store, {**first, "surface": "note"}, second)
        self.check(store)
        assert reopened(store).allow_of("note", ONE) is None

    def test_verdicts_of_two_texts_that_were_swapped(self, store: VerdictStore) -> None:
        first, second = lines(store)
        put(
            store,
            {**first, "verdict": first["verdict"].replace(ONE, TWO)},
            {**second, "verdict": second["verdict"].replace(TWO, ONE)},
        )
        found = reopened(store)
        assert found.ignored == 2
        assert (found.allow_of("document", ONE), found.allow_of("document", TWO)) == (None, None)

    def test_the_seal_of_another_entry(self, store: VerdictStore) -> None:
        first, second = lines(store)
        put(store, {**first, "seal": second["seal"]}, second)
        self.check(store)

    def test_a_genuine_entry_of_an_older_gate(self, store: VerdictStore) -> None:
        older = VerdictStore(store.path.parent, "b" * 64)
        older.keep("document", verdict(ONE, fingerprint="b" * 64))
        put(store, lines(older)[0], lines(store)[1])
        self.check(store)

    def test_the_whole_file_of_an_older_gate(self, store: VerdictStore) -> None:
        newer = VerdictStore(store.path.parent, "c" * 64)
        store.path.replace(newer.path)
        found = reopened(newer)
        assert (found.ignored, found.allow_of("document", ONE)) == (2, None)

    def test_an_entry_of_another_account(self, store: VerdictStore) -> None:
        first, second = lines(store)
        content = f"document\0{first['verdict']}".encode()
        put(store, {**first, "seal": Seal(b"another account " * 2).sign("verdict", content)}, second)
        self.check(store)

    def test_a_seal_that_was_made_for_something_else(self, store: VerdictStore) -> None:
        from pickysteve.seal import operator_seal

        first, second = lines(store)
        content = f"document\0{first['verdict']}".encode()
        put(store, {**first, "seal": operator_seal().sign("index", content)}, second)
        self.check(store)

    @pytest.mark.parametrize(
        "line", ["", "{", "[]", "null", '{"surface": 1}', "[" * 100_000, "\udcff"], ids=range(7)
    )
    def test_a_planted_line_that_is_no_entry(self, store: VerdictStore, line: str) -> None:
        genuine = store.path.read_bytes().splitlines(keepends=True)[1]
        store.path.write_bytes(line.encode(errors="surrogateescape") + b"\n" + genuine)
        self.check(store)

    def test_a_sealed_block_does_not_become_an_allow(self, store: VerdictStore) -> None:
        from pickysteve.registry.verdicts import _line

        block = _line("document", verdict(ONE, allowed=False, risk="block"))
        store.path.write_bytes(block + store.path.read_bytes().splitlines(keepends=True)[1])
        self.check(store)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_changed_byte_never_changes_a_verdict(tmp_path_factory, data: st.DataObject) -> None:
    store = VerdictStore(tmp_path_factory.mktemp("verdicts"), GATE)
    store.keep("document", verdict(ONE))
    content = bytearray(store.path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    store.path.write_bytes(bytes(content))
    # the spaces between the names of an entry say nothing, so some edits change nothing
    assert reopened(store).allow_of("document", ONE) in (None, verdict(ONE))


def test_an_entry_that_a_stop_cut_short_does_not_spoil_the_next_one(store: VerdictStore) -> None:
    store.path.write_bytes(store.path.read_bytes()[:-10])
    after = reopened(store)
    assert after.ignored == 1
    after.keep("document", verdict(TWO))
    assert reopened(store).allow_of("document", TWO) == verdict(TWO)


def test_only_this_account_can_read_the_store(store: VerdictStore) -> None:
    assert store.path.stat().st_mode & 0o077 == 0
    put(store, {}, *lines(store))
    assert reopened(store).path.stat().st_mode & 0o077 == 0


def test_gates_that_are_not_used_any_more_are_forgotten(tmp_path: Path) -> None:
    for number in range(GATES_KEPT + 3):
        gate = str(number) * 64
        store = VerdictStore(tmp_path, gate)
        store.keep("note", verdict(fingerprint=gate))
        os.utime(store.path, (number, number))
    assert len(list(tmp_path.glob("*.jsonl"))) == GATES_KEPT
    assert store.path.exists()


def test_a_folder_that_cannot_be_written_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match="PS_INDEX_DIR"):
        VerdictStore(tmp_path / "file" / "verdicts", GATE).keep("note", verdict())
