"""Views: a text in every reading that its writer could mean, each with what was done to it.

The raw text is always the first reading and is never replaced. Decoding goes two levels deep, and the
readings together are at most a few times as long as the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pickysteve.tasks.engines.channels import hidden_messages
from pickysteve.tasks.engines.codecs import decoded_spans
from pickysteve.tasks.engines.defender import INVISIBLE, prepare
from pickysteve.tasks.engines.disguise import deciphered, folded, joined, reordered

__all__ = ["Reading", "Views", "read_views"]

DEPTH = 2
MAX_READINGS = 40
LEAST = 8
WHOLE = 1_000
"""A shorter text is read whole in every reading."""
PAGE = 20_000
"""All derived readings together are at most as long as the text, and this many characters more."""

# A longer run says nothing more, and costs; four of base64 are three bytes, so sixteen keep it in step.
LONG_RUN = re.compile(r"(.)\1{16,}", re.DOTALL)
# Blanks that no tokenizer takes for a space, and that stand for one.
BLANKS = re.compile("[\u115f\u1160\u2800\u3164\uffa0]|(?<=\\w)[\u200b-\u200d\u2060\ufeff\u00ad](?=\\w)")


@dataclass(frozen=True)
class Reading:
    """One reading of a text: what was done to it, outermost first, and what it says then."""

    kind: str
    text: str


@dataclass(frozen=True)
class Views:
    """The readings of a text, raw first. `complete` is False when there were more than may be read."""

    readings: tuple[Reading, ...]
    complete: bool = True


def read_views(text: str) -> Views:
    """The raw text and every reading that differs from it. Linear in the length."""
    raw = Reading("raw", prepare(text))
    text = LONG_RUN.sub(lambda run: run[1] * 16, text)
    found: dict[str, Reading] = {_essence(raw.text): raw}
    budget = len(text) + PAGE
    level = [Reading("", text)]
    for _ in range(DEPTH):
        fresh = [_changed(reading, text) for source in level for reading in _transformed(source)]
        level = []
        for reading in fresh:
            essence = _essence(reading.text)
            if len(essence) < LEAST or essence in found:
                continue
            budget -= len(reading.text)
            if budget < 0 or len(found) > MAX_READINGS:
                return Views(tuple(found.values()), complete=False)
            level.append(reading)
            found[essence] = Reading(reading.kind, prepare(reading.text))
    return Views(tuple(found.values()))


def _changed(reading: Reading, text: str) -> Reading:
    """Of a long text only the lines that read differently: the others are in the raw reading."""
    if len(text) < WHOLE:
        return reading
    known = set(text.split("\n"))
    return Reading(reading.kind, "\n".join(line for line in reading.text.split("\n") if line not in known))


def _transformed(source: Reading) -> Iterator[Reading]:
    for name, transform in TRANSFORMS:
        for text in transform(source.text):
            yield Reading(f"{source.kind}>{name}".lstrip(">"), text)


def _essence(text: str) -> str:
    """What has to differ for a reading to be another one."""
    return " ".join(INVISIBLE.sub("", text).casefold().split())


def _hidden(text: str) -> Iterator[str]:
    if not text.isascii():
        yield from hidden_messages(text).values()


def _spaced(text: str) -> Iterator[str]:
    """Invisible joints between words as spaces; between letters they are dropped by `prepare`."""
    if not text.isascii() and BLANKS.search(text):
        yield BLANKS.sub(" ", text)


TRANSFORMS: tuple[tuple[str, Callable[[str], Iterator[str]]], ...] = (
    ("hidden", _hidden),
    ("spaced", _spaced),
    ("folded", folded),
    ("decoded", decoded_spans),
    ("joined", joined),
    ("deciphered", deciphered),
    ("reordered", reordered),
)
