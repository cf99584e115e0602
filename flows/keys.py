"""Keys of model hosts: in the system's keyring, or in a file that this account alone can read.

A key is kept under the address that it is for, so that another address, wherever it comes from, gets none.
"""

from __future__ import annotations

import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from pickysteve.errors import SettingsInvalid
from pickysteve.tasks.engines.llm import BASE_URLS, KeyStore

__all__ = ["KeySource", "key_file", "keyring_works", "read_key", "store_key"]

SERVICE = "pickysteve"


def key_file() -> Path:
    """Beside the settings file, and never part of it."""
    return user_config_path("pickysteve") / "keys.toml"


def keyring_works() -> bool:
    """Whether the system has a keyring that keeps what it is given."""
    try:
        import keyring
        from keyring.backends.fail import Keyring as NoKeyring
        from keyring.backends.null import Keyring as Forgetful
    except ImportError:
        return False
    return not isinstance(keyring.get_keyring(), NoKeyring | Forgetful)


def store_key(address: str, key: str, store: KeyStore) -> str:
    """Keep a key for an address; returns where. Raises SettingsInvalid where it cannot be kept."""
    if store == "keyring":
        _keyring("set_password", address, key)
        return "the system's keyring"
    import tomlkit

    keys = {**_read_file(), address: key}
    path = key_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # never readable by others, not even for a moment
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(tomlkit.dumps({"keys": keys}))
    draft.replace(path)
    return str(path)


def read_key(address: str, store: KeyStore) -> str:
    """The key of an address; empty when none is kept. Raises SettingsInvalid for a store that is not safe."""
    if store == "keyring":
        return str(_keyring("get_password", address) or "")
    return _read_file().get(address, "") if store == "file" else ""


def _keyring(name: str, *arguments: str) -> Any:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise SettingsInvalid(
            "The key is in the system's keyring, and the package for it is missing: "
            "run \"pip install 'pickysteve[keyring]'\", or set PS_LLM__API_KEY."
        ) from error
    try:
        return getattr(keyring, name)(SERVICE, *arguments)
    except KeyringError as error:
        raise SettingsInvalid(
            f"The system's keyring does not answer ({type(error).__name__}): unlock it, or keep the key in a "
            'file with "pickysteve setup --store file".'
        ) from error


def _read_file() -> dict[str, str]:
    path = key_file()
    try:
        status = path.stat()
        content = path.read_text(encoding="utf-8")
        keys = tomllib.loads(content)["keys"]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        raise SettingsInvalid(f'"{path}" cannot be read: delete it, and run "pickysteve setup".') from error
    foreign = hasattr(os, "getuid") and status.st_uid != os.getuid()
    if os.name == "posix" and (stat.S_IMODE(status.st_mode) & 0o077 or foreign):
        raise SettingsInvalid(f'"{path}" can be read by others: run "chmod 600 {path}", and renew its keys.')
    return {str(address): str(key) for address, key in keys.items()}


class KeySource(PydanticBaseSettingsSource):
    """The key that setup kept for the address of the settings, where they hold none."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Unused: there is one value."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """The key, or nothing; raises SettingsInvalid as read_key does."""
        llm = self.current_state.get("llm")
        if not isinstance(llm, Mapping) or llm.get("api_key") or not llm.get("key_store"):
            return {}
        address = str(llm.get("base_url") or BASE_URLS.get(str(llm.get("provider")), "")).rstrip("/")
        key = read_key(address, llm["key_store"])
        return {"llm": {"api_key": key}} if key else {}
