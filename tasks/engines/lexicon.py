"""Lexicon: which things that an injection says are said in a text, in two dozen languages.

Each word is looked up by its stem and stands for a concept, whatever the language. A rule names the
concepts that have to meet within a short distance, so that one weight serves every language.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pickysteve.tasks.engines.lexicon_words import STEMS

__all__ = ["RULES", "LexiconHit", "fold_words", "lexicon_hits"]


@dataclass(frozen=True)
class LexiconHit:
    """A rule whose concepts met, and where in the folded text."""

    rule: str
    start: int
    end: int


# The first concept of a rule is the rarest: the search starts from it.
RULES: dict[str, tuple[str, ...]] = {
    "override-rules": ("override", "rules"),
    "override-prior-rules": ("override", "rules", "prior"),
    "override-told": ("override", "told"),
    "reveal-prompt": ("prompt", "reveal"),
    "give-secret": ("secret", "reveal"),
    "send-secret": ("secret", "send"),
    "without-limits": ("limits", "without"),
    "unlimited": ("free",),
    "persona": ("persona",),
    "persona-unlimited": ("persona", "limits", "without"),
    "mode": ("mode",),
    "conceal": ("tell", "user", "without"),
    "untold": ("untold",),
    "hush": ("tell", "without"),
    "obey": ("obey",),
}
REACH = 60
"""Characters within which the concepts of a rule have to meet."""
MAX_HITS = 200

WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?|\.env\b")
WIDE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WIDE_RUN = re.compile(f"[{WIDE}][{WIDE} ]*")
MAX_STEM = 24


def fold_words(text: str) -> str:
    """Lower case without accents or vowel signs, so that a stem has one spelling."""
    lowered = text.casefold().replace("ı", "i").replace("ł", "l").replace("đ", "d").replace("ø", "o")
    lowered = lowered.replace("æ", "ae").replace("ё", "е")
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered)
    marks = {ord(c): None for c in set(decomposed) if unicodedata.category(c).startswith("M")}
    bare = decomposed.translate(marks)
    # Korean syllables and voiced kana are whole letters.
    return unicodedata.normalize("NFC", bare)


def lexicon_hits(text: str) -> tuple[LexiconHit, ...]:
    """Every rule that the text meets, at its first place each. Linear in the length."""
    folded = fold_words(text)
    places = _places(folded)
    return tuple(hit for rule in RULES if (hit := _first_meeting(rule, places)) is not None)


def _places(folded: str) -> dict[str, list[int]]:
    """Where each concept stands, in order."""
    places: dict[str, list[int]] = {}
    for position, concepts in _concepts(folded):
        for concept in concepts:
            places.setdefault(concept, []).append(position)
    for positions in places.values():
        positions.sort()
    return places


def _concepts(folded: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    words = [(match.start(), match[0]) for match in WORD.finditer(folded)]
    seen: dict[str, tuple[str, ...]] = {}
    phrases = _stems().phrases
    for at, (position, word) in enumerate(words):
        concepts = seen.get(word)
        if concepts is None:
            concepts = seen[word] = _of_word(word)
        if concepts:
            yield position, concepts
        for rest, concept in phrases.get(word, ()):
            following = [other for _, other in words[at + 1 : at + 1 + len(rest)]]
            if len(following) == len(rest) and _continues(following, rest):
                yield position, (concept,)
    for run in WIDE_RUN.finditer(folded):
        for match in _stems().wide.finditer(run[0]):
            yield run.start() + match.start(), _stems().wide_concepts[match[1]]


def _continues(words: list[str], rest: tuple[str, ...]) -> bool:
    """All but the last word of a phrase stand as they are; the last is a stem."""
    return words[:-1] == list(rest[:-1]) and words[-1].startswith(rest[-1])


def _of_word(word: str) -> tuple[str, ...]:
    stems = _stems().words
    found = [stems[word[:end]] for end in range(1, min(len(word), MAX_STEM) + 1) if word[:end] in stems]
    # A stem of one or two letters is a whole word: "do" is not "document".
    exact = stems.get(word + "$", ())
    return tuple(dict.fromkeys([c for concepts in found for c in concepts] + list(exact)))


@dataclass(frozen=True)
class _Stems:
    words: dict[str, tuple[str, ...]]
    phrases: dict[str, list[tuple[tuple[str, ...], str]]]
    wide: re.Pattern[str]
    wide_concepts: dict[str, tuple[str, ...]]


@cache
def _stems() -> _Stems:
    words: dict[str, set[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    wide: dict[str, set[str]] = {}
    for concept, stem in _entries():
        if WIDE_RUN.match(stem):
            wide.setdefault(stem, set()).add(concept)
        elif len(parts := re.split(r"[_-]", stem)) > 1 and all(parts):
            phrases.setdefault(parts[0], []).append((tuple(parts[1:]), concept))
        else:
            words.setdefault(stem if len(stem) > 3 else stem + "$", set()).add(concept)
    # Overlapping stems all count, so the pattern looks ahead; the longest at a place stands for it.
    ordered = sorted(wide, key=len, reverse=True)
    return _Stems(
        {stem: tuple(sorted(concepts)) for stem, concepts in words.items()},
        phrases,
        re.compile("(?=(" + "|".join(map(re.escape, ordered)) + "))"),
        {stem: tuple(sorted(concepts)) for stem, concepts in wide.items()},
    )


def _entries() -> Iterable[tuple[str, str]]:
    for concepts in STEMS.values():
        for concept, stems in concepts.items():
            for stem in stems.split():
                yield concept, fold_words(stem)


def _first_meeting(rule: str, places: dict[str, list[int]]) -> LexiconHit | None:
    first, *others = RULES[rule]
    for position in places.get(first, [])[: 50 * MAX_HITS]:
        near = [_nearest(places.get(concept, []), position) for concept in others]
        if all(abs(other - position) <= REACH for other in near):
            return LexiconHit(rule, min([position, *near]), max([position, *near]))
    return None


def _nearest(positions: list[int], position: int) -> int:
    """The closest other place; one word does not play two parts."""
    before, after = bisect_left(positions, position), bisect_right(positions, position)
    around = positions[max(before - 1, 0) : before] + positions[after : after + 1]
    return min(around, key=lambda other: abs(other - position), default=position - REACH - 1)
