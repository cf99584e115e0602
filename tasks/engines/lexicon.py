"""Lexicon: which things that an injection says are said in a text, in some sixty languages.

Each word is looked up by its stem and stands for a concept of one language. A rule names the concepts
that have to meet within a short distance, all of one language, so that one weight serves every language.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pickysteve.tasks.engines.vocabulary import ANY, ENGLISH, PLAIN, fold_words, meanings_of

__all__ = ["RULES", "LexiconHit", "WordReading", "lexicon_hits", "read_words"]


@dataclass(frozen=True)
class LexiconHit:
    """A rule whose concepts met, in which language, and where in the folded text."""

    rule: str
    start: int
    end: int
    language: str = ENGLISH


# The first concept of a rule is the rarest: the search starts from it.
RULES: dict[str, tuple[str, ...]] = {
    "override-rules": ("override", "rules"),
    "override-prior-rules": ("override", "rules", "prior"),
    "override-told": ("told", "override"),
    "reveal-prompt": ("prompt", "reveal"),
    "verbatim-prompt": ("verbatim", "prompt"),
    "verbatim-rules": ("verbatim", "rules"),
    "reveal-hidden": ("hidden", "reveal"),
    "repeat-above": ("above", "repeat"),
    "give-secret": ("secret", "reveal"),
    "send-secret": ("secret", "send"),
    "without-limits": ("limits", "without"),
    "limits-off": ("off", "limits"),
    "never-refuse": ("refuse", "without"),
    "unlimited": ("free",),
    "persona": ("persona",),
    "persona-unlimited": ("persona", "limits", "without"),
    "mode": ("mode",),
    "conceal": ("tell", "user", "without"),
    "untold": ("untold",),
    "hush": ("tell", "without"),
    "obey": ("obey",),
    "new-rules": ("new", "rules"),
    "authority": ("authority",),
    "authority-override": ("authority", "override"),
}
REACH = 60
"""Characters within which the concepts of a rule have to meet."""
MAX_MEETINGS = 200
"""A passage that meets a rule by chance more often than that is not read on for it."""

MOSTLY = 0.5
NOT_LATIN = "\u0250"
AROUND = 60
"""Characters around a meeting in which the small words tell its language."""

Places = dict[str, dict[str, list[int]]]
"""By language and concept, where in the folded text, in order."""


@dataclass(frozen=True)
class WordReading:
    """What the words of a text say."""

    hits: tuple[LexiconHit, ...]
    foreign: float
    """Of the small words that only some languages write, the share that English does not, in [0, 1]."""


def lexicon_hits(text: str) -> tuple[LexiconHit, ...]:
    """Every rule that the text meets, at its first place each. Linear in the length."""
    return read_words(text).hits


def read_words(text: str) -> WordReading:
    """The rules that the text meets, and how foreign it is.

    A rule that words of two languages meet is reported as English in a text that mostly is, and so is one
    that only words of every language meet.
    """
    folded = fold_words(text)
    places = _places(folded)
    plain = {language: concepts.pop(PLAIN, []) for language, concepts in places.items()}
    shared = places.pop(ANY, {})
    foreign = _foreign_share(plain)
    is_foreign = foreign >= MOSTLY
    languages = sorted(places, key=lambda language: ((language == ENGLISH) is is_foreign, language))
    met = {language: places[language].keys() | shared.keys() for language in languages}
    hits = []
    for rule, concepts in RULES.items():
        able = [
            (language, places[language])
            for language in languages
            if met[language].issuperset(concepts) and not places[language].keys().isdisjoint(concepts)
        ]
        able += [(ENGLISH, {})] if shared.keys() >= set(concepts) else []
        meetings = (hit for language, own in able for hit in _meetings(rule, language, own, shared))
        real = (hit for hit in islice(meetings, MAX_MEETINGS) if _is_its_language(hit, plain, folded))
        hits.append(next(real, None))
    return WordReading(tuple(hit for hit in hits if hit is not None), foreign)


def _is_its_language(hit: LexiconHit, plain: dict[str, list[int]], folded: str) -> bool:
    """Whether the small words around a meeting may be of its language: words of others look alike."""
    if hit.language == ENGLISH:
        return True
    begin, end = hit.start - AROUND, hit.end + AROUND
    latin = folded[hit.start] < NOT_LATIN
    counts = {
        # Only what is written in the same script can be taken for it.
        language: sum(
            (folded[position] < NOT_LATIN) is latin
            for position in positions[bisect_left(positions, begin) : bisect_right(positions, end)]
        )
        for language, positions in plain.items()
    }
    # One small word of a third language may be chance, one of English is not.
    rival = max(counts.pop(ENGLISH, 0), max(counts.values(), default=0) - 1)
    return 2 * counts.get(hit.language, 0) >= rival


def _foreign_share(plain: dict[str, list[int]]) -> float:
    english = set(plain.get(ENGLISH, ()))
    every = {position for positions in plain.values() for position in positions}
    return (len(every) - len(english)) / max(len(every), 1)


def _places(folded: str) -> Places:
    places: Places = {}
    for position, meanings in meanings_of(folded):
        for language, concept in meanings:
            places.setdefault(language, {}).setdefault(concept, []).append(position)
    for concepts in places.values():
        for positions in concepts.values():
            positions.sort()
    return places


def _meetings(
    rule: str, language: str, places: dict[str, list[int]], shared: dict[str, list[int]]
) -> Iterator[LexiconHit]:
    first, *others = RULES[rule]
    for position in (*places.get(first, ()), *shared.get(first, ())):
        near = [_nearest(position, places.get(concept, []), shared.get(concept, [])) for concept in others]
        if all(abs(other - position) <= REACH for other in near):
            yield LexiconHit(rule, min([position, *near]), max([position, *near]), language)


def _nearest(position: int, *lists: list[int]) -> int:
    """The closest other place; one word does not play two parts."""
    around = []
    for positions in lists:
        before, after = bisect_left(positions, position), bisect_right(positions, position)
        around += positions[max(before - 1, 0) : before] + positions[after : after + 1]
    return min(around, key=lambda other: abs(other - position), default=position - REACH - 1)
