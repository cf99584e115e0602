"""Read what a person typed: refuse what is no request, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pickysteve.errors import RequestInvalid, SettingsInvalid
from pickysteve.tasks.gate import GateConfig
from pickysteve.tasks.values import Request

__all__ = ["check_skill", "read_request"]


def read_request(text: str, exclude: Iterable[str], config: GateConfig) -> Request:
    """Raises RequestInvalid for a request that is empty, too long, or not text."""
    if not text.strip():
        raise RequestInvalid("The request is empty: say what you need in a sentence.")
    if len(text) > config.max_request_characters:
        raise RequestInvalid(
            f"The request has {len(text):,} characters, and {config.max_request_characters:,} are allowed: "
            "shorten it, and pass long material to your agent as a file."
        )
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise RequestInvalid(
            "The request holds bytes that are not text: remove NUL bytes and broken characters."
        )
    return Request(text=text, exclude=tuple(dict.fromkeys(exclude)))


def check_skill(skill: str, known: Iterable[str]) -> str:
    """The id itself; raises SettingsInvalid, with the nearest id, when the registry does not have it."""
    ids = list(known)
    if skill not in ids:
        close = difflib.get_close_matches(skill, ids, n=1)
        hint = f"did you mean {close[0]}?" if close else 'see "pickysteve skills list".'
        raise SettingsInvalid(f"There is no skill {skill} in the registry: {hint}")
    return skill
