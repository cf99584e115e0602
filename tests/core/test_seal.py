"""A seal verifies what this account wrote for this purpose, and nothing else."""

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import SettingsInvalid
from pickysteve.seal import Seal, operator_seal

keys = st.binary(min_size=32, max_size=32)
purposes = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account without a key."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PS_SEAL_KEY", raising=False)
    operator_seal.cache_clear()
    yield tmp_path / "pickysteve"
    operator_seal.cache_clear()


def reopened() -> Seal:
    """The seal as another process of this account would open it."""
    operator_seal.cache_clear()
    return operator_seal()


@given(keys, purposes, st.binary())
def test_a_seal_verifies_what_it_signed(key: bytes, purpose: str, content: bytes) -> None:
    assert Seal(key).verifies(purpose, content, Seal(key).sign(purpose, content))


@given(keys, purposes, purposes, st.binary(), st.binary())
def test_a_seal_is_good_for_one_purpose_and_one_content(
    key: bytes, purpose: str, other_purpose: str, content: bytes, other: bytes
) -> None:
    signature = Seal(key).sign(purpose, content)
    same = (purpose, content) == (other_purpose, other)
    assert Seal(key).verifies(other_purpose, other, signature) == same


@given(keys, keys, st.binary())
def test_another_key_does_not_verify(key: bytes, other: bytes, content: bytes) -> None:
    assert Seal(other).verifies("p", content, Seal(key).sign("p", content)) == (key == other)


def test_moving_bytes_from_purpose_to_content_changes_the_seal() -> None:
    seal = Seal(b"k" * 32)
    assert seal.sign("index", b"abc") != seal.sign("indexa", b"bc")


@given(st.text())
def test_any_text_can_be_offered_as_a_signature(signature: str) -> None:
    assert not Seal(b"k" * 32).verifies("p", b"content", signature)


@pytest.mark.parametrize("signature", ["", "\ud800", "é" * 64, "0" * 64])
def test_a_signature_that_is_no_hex_is_just_wrong(signature: str) -> None:
    assert not Seal(b"k" * 32).verifies("p", b"content", signature)


def test_the_first_use_makes_a_key_that_only_this_account_can_read(data_home: Path) -> None:
    operator_seal()
    key = data_home / "seal.key"
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [path.name for path in data_home.iterdir()] == ["seal.key"]


def test_the_key_stays_the_same(data_home: Path) -> None:
    signature = operator_seal().sign("p", b"content")
    assert reopened().verifies("p", b"content", signature)


def test_two_accounts_do_not_share_a_key(data_home: Path, tmp_path_factory, monkeypatch) -> None:
    signature = operator_seal().sign("p", b"content")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("other")))
    assert not reopened().verifies("p", b"content", signature)


def test_of_many_that_start_at_once_all_use_the_same_key(data_home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        seals = list(pool.map(lambda _: operator_seal.__wrapped__(), range(32)))
    assert len({seal.sign("p", b"content") for seal in seals}) == 1
    assert [path.name for path in data_home.iterdir()] == ["seal.key"]


def test_a_shared_key_is_used_instead_and_no_file_is_made(data_home: Path, monkeypatch) -> None:
    monkeypatch.setenv("PS_SEAL_KEY", "ab" * 32)
    seal = reopened()
    assert seal.sign("p", b"content") == Seal(b"\xab" * 32).sign("p", b"content")
    assert not data_home.exists()


@pytest.mark.parametrize("value", ["not hex", "abc", "ab", "ab" * 31])
def test_a_shared_key_that_is_no_hex_or_too_short_is_refused_by_name(
    data_home: Path, monkeypatch, value: str
) -> None:
    monkeypatch.setenv("PS_SEAL_KEY", value)
    with pytest.raises(SettingsInvalid, match="PS_SEAL_KEY is no key: set it to 64 hex digits"):
        reopened()


def test_an_emptied_key_file_is_refused_and_never_used_as_a_key(data_home: Path) -> None:
    data_home.mkdir(parents=True)
    (data_home / "seal.key").write_bytes(b"")
    with pytest.raises(SettingsInvalid, match="is no key: delete it"):
        reopened()
