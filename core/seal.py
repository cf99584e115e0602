"""Seals: HMAC-SHA256 over what we write to caches, with a key only this account can read.

A cache file that somebody else wrote, edited or swapped does not verify, and is not used.
"""

from __future__ import annotations

import hmac
import os
import secrets
from functools import cache
from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path

from pickysteve.errors import SettingsInvalid

__all__ = ["Seal", "operator_seal"]

KEY_BYTES = 32


class Seal:
    """Signs and checks bytes for one purpose, so that a seal of one kind is none of another."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, purpose: str, content: bytes) -> str:
        """HMAC-SHA256 over purpose and content, in hex."""
        return hmac.new(self._key, purpose.encode() + b"\0" + content, sha256).hexdigest()

    def verifies(self, purpose: str, content: bytes, signature: str) -> bool:
        """Whether the signature is ours, compared in constant time."""
        return hmac.compare_digest(self.sign(purpose, content).encode(), signature.encode(errors="replace"))


@cache
def operator_seal() -> Seal:
    """The seal of this account; PS_SEAL_KEY (hex) shares one between machines.

    Raises SettingsInvalid for a key that is not hex, or shorter than 32 bytes.
    """
    if shared := os.environ.get("PS_SEAL_KEY"):
        return Seal(_shared_key(shared))
    path = user_data_path("pickysteve") / "seal.key"
    key = _account_key(path)
    if len(key) < KEY_BYTES:
        raise SettingsInvalid(f'"{path}" is no key: delete it, and a new one is made.')
    return Seal(key)


def _shared_key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < KEY_BYTES:
        raise SettingsInvalid(f"PS_SEAL_KEY is no key: set it to {2 * KEY_BYTES} hex digits, or unset it.")
    return key


def _account_key(path: Path) -> bytes:
    """Read the key, or make it: 32 random bytes, mode 0600, one winner when two processes race."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_bytes()
