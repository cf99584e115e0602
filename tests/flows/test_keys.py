"""Keys: kept for an address, readable by this account alone, and never shown."""

from __future__ import annotations

import sys

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.config_report import config_rows
from pickysteve.flows.keys import key_file, keyring_works, read_key, store_key
from pickysteve.flows.settings import config_file, load_settings

HOST, OTHER = "https://models.example.org/v1", "https://evil.example.org/v1"


class Box(KeyringBackend):
    """A keyring in memory, chosen by no test but these."""

    priority = 1
    viable = False

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[(service, username)]


@pytest.fixture
def box(monkeypatch):
    before, mine = keyring.get_keyring(), Box()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def own_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    text = f'profile = "hosted"\n[llm]\nmodel = "m"\nbase_url = "{HOST}"\nkey_store = "%s"\n'
    return lambda store: config_file().write_text(text % store)


def test_a_file_keeps_keys_by_address_for_this_account_alone(own_settings):
    assert store_key(HOST, "sk-secret-1", "file") == str(key_file())
    store_key("https://other.example.org", "sk-2", "file")
    assert key_file().stat().st_mode & 0o777 == 0o600
    assert [path.name for path in key_file().parent.iterdir()] == ["keys.toml"]
    assert (read_key(HOST, "file"), read_key(OTHER, "file")) == ("sk-secret-1", "")
    own_settings("file")
    assert load_settings().llm.api_key.get_secret_value() == "sk-secret-1"


def test_a_keyring_does_so_too(own_settings, box):
    assert keyring_works()
    store_key(HOST, "sk-secret-1", "keyring")
    assert box.kept == {("pickysteve", HOST): "sk-secret-1"}
    own_settings("keyring")
    assert load_settings().llm.api_key.get_secret_value() == "sk-secret-1"
    assert not key_file().exists()


@pytest.mark.parametrize("store", ["file", "keyring"])
def test_another_address_gets_no_key(own_settings, box, monkeypatch, store):
    store_key(HOST, "sk-secret-1", store)
    own_settings(store)
    monkeypatch.setenv("PS_LLM__BASE_URL", OTHER)
    assert load_settings().llm.api_key.get_secret_value() == ""


def test_a_key_of_the_environment_wins(own_settings, monkeypatch):
    store_key(HOST, "sk-secret-1", "file")
    own_settings("file")
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-2")
    assert load_settings().llm.api_key.get_secret_value() == "sk-2"


@pytest.mark.parametrize("store", ["file", "keyring"])
def test_the_report_says_where_a_key_comes_from_and_not_what_it_is(own_settings, box, store):
    store_key(HOST, "sk-secret-1", store)
    own_settings(store)
    rows = {row.name: row for row in config_rows()}
    assert rows["llm.api_key"].origin == ("keyring" if store == "keyring" else str(key_file()))
    assert "secret-1" not in str(rows)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o666])
def test_a_file_that_others_can_read_is_refused(own_settings, mode):
    store_key(HOST, "sk-secret-1", "file")
    key_file().chmod(mode)
    own_settings("file")
    with pytest.raises(SettingsInvalid, match=r"can be read by others.*chmod 600"):
        load_settings()


def test_what_cannot_be_read_is_named_with_its_remedy(own_settings, box, monkeypatch):
    key_file().write_text("[")
    key_file().chmod(0o600)
    own_settings("file")
    with pytest.raises(SettingsInvalid, match="pickysteve setup"):
        load_settings()
    own_settings("keyring")
    box.locked = True
    with pytest.raises(SettingsInvalid, match=r"does not answer \(KeyringLocked\): unlock it"):
        load_settings()
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SettingsInvalid, match=r"pickysteve\[keyring\]"):
        load_settings()
    assert not keyring_works()
