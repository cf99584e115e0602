"""Leakage: words in a row that a measuring text shares with one that was fitted on, or with a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["Leak", "find_leaks", "normalised_words"]

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Leak:
    """A run of words that stands in two texts."""

    measured: str
    """Name of the text that measures."""
    known: str
    """Name of the text that it must share nothing with."""
    words: str

    def __str__(self) -> str:
        return f'{self.measured} shares "{self.words}" with {self.known}'


def normalised_words(text: str) -> list[str]:
    """Lower-case words, without punctuation."""
    return WORD.findall(text.lower())


def find_leaks(measured: Mapping[str, str], known: Mapping[str, str], run: int = 5) -> list[Leak]:
    """The first shared run of so many words for each pair of texts, by name; shorter texts count whole.

    A text of less than `run` words leaks when the other consists of just these words.
    """
    holders: dict[tuple[str, ...], str] = {}
    for name, text in known.items():
        for words in _runs(text, run):
            holders.setdefault(words, name)
    leaks = []
    for name, text in measured.items():
        shared = next((words for words in _runs(text, run) if words in holders), None)
        if shared:
            leaks.append(Leak(name, holders[shared], " ".join(shared)))
    return leaks


def _runs(text: str, run: int) -> Iterable[tuple[str, ...]]:
    words = normalised_words(text)
    if 0 < len(words) < run:
        yield tuple(words)
    for at in range(len(words) - run + 1):
        yield tuple(words[at : at + run])
