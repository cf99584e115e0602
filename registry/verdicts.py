"""The verdict store: texts that the gate let through, shared by all registries of this account.

    <folder>/<gate fingerprint>.jsonl      one line a text: {"surface", "verdict", "seal"}

Only allows are kept: a block is always judged again. An entry counts when our key signed this very
verdict for this surface, and when it is of the gate that asks. So an entry that was edited, moved to
another text, taken from another gate or written by another account is ignored, counted and removed.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Literal

from pickysteve.errors import SettingsInvalid
from pickysteve.registry.models import Verdict
from pickysteve.seal import operator_seal

__all__ = ["TextSurface", "VerdictStore"]

TextSurface = Literal["document", "note"]
"""What a text was judged as: a unit's whole text, or an example or not-for note."""

PURPOSE = "verdict"
GATES_KEPT = 4


class VerdictStore:
    """The allows of one gate. Each new one is on disk at once, so that a stopped ingest loses nothing.

    Raises SettingsInvalid where the folder cannot be written.
    """

    def __init__(self, folder: Path, gate: str) -> None:
        self.path = folder / f"{gate}.jsonl"
        self.gate = gate
        self.ignored = 0
        """Entries found that are not what this account wrote for this gate."""
        self._allows: dict[tuple[str, str], Verdict] = {}
        self._load()

    def allow_of(self, surface: TextSurface, sha256: str) -> Verdict | None:
        """The kept allow of the text with this hash, or None: then it has to be judged."""
        return self._allows.get((surface, sha256))

    def keep(self, surface: TextSurface, verdict: Verdict) -> None:
        """Keep an allow of this gate; anything else is left to be judged again."""
        key = (surface, verdict.sha256)
        if not verdict.allowed or verdict.fingerprint != self.gate or self._allows.get(key) == verdict:
            return
        self._allows[key] = verdict
        try:
            self._append(_line(surface, verdict))
        except OSError as error:
            raise self._unwritable(error) from error

    def _load(self) -> None:
        if not self.path.is_file():
            return
        content = self.path.read_bytes()
        for line in content.splitlines():
            entry = _read(line)
            if entry is None or entry[1].fingerprint != self.gate or not entry[1].allowed:
                self.ignored += 1
            else:
                self._allows[entry[0], entry[1].sha256] = entry[1]
        if self.ignored or (content and not content.endswith(b"\n")):
            self._rewrite()

    def _append(self, line: bytes) -> None:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._sweep()
        # one write in append mode: two ingests at once do not mix their lines
        _write(self.path, line, os.O_APPEND)

    def _rewrite(self) -> None:
        """Leave out what was ignored, so that it is reported once."""
        draft = self.path.with_suffix(f".{secrets.token_hex(4)}")
        content = b"".join(_line(surface, verdict) for (surface, _), verdict in self._allows.items())
        try:
            _write(draft, content, os.O_EXCL)
            draft.replace(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _sweep(self) -> None:
        """Forget all gates but the latest; two versions may be in use side by side."""
        old = sorted(self.path.parent.glob("*.jsonl"), key=lambda path: -path.stat().st_mtime)
        for path in old[GATES_KEPT - 1 :]:
            path.unlink(missing_ok=True)

    def _unwritable(self, error: OSError) -> SettingsInvalid:
        return SettingsInvalid(
            f'"{self.path}" cannot be written ({error.strerror}): '
            "set PS_INDEX_DIR to a folder that you may write to."
        )


def _write(path: Path, content: bytes, flag: int) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | flag, 0o600), "wb", buffering=0) as file:
        file.write(content)


def _signed(surface: str, verdict: str) -> bytes:
    return f"{surface}\0{verdict}".encode()


def _line(surface: str, verdict: Verdict) -> bytes:
    content = verdict.model_dump_json()
    seal = operator_seal().sign(PURPOSE, _signed(surface, content))
    return json.dumps({"surface": surface, "verdict": content, "seal": seal}).encode() + b"\n"


def _read(line: bytes) -> tuple[str, Verdict] | None:
    """Surface and verdict of a line, or None for one that this account did not write whole."""
    try:
        entry = json.loads(line)
        surface, content, seal = entry["surface"], entry["verdict"], entry["seal"]
        if not operator_seal().verifies(PURPOSE, _signed(surface, content), str(seal)):
            return None
        return str(surface), Verdict.model_validate_json(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
