"""Lexicon: which things that an injection says are said in a text, in some sixty languages.

Each word is looked up by its stem and stands for a concept of one language. A rule names the concepts
that have to meet within a short distance, all of one language, so that one weight serves every language.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

__all__ = [
    "ENGLISH",
    "RULES",
    "LexiconHit",
    "WordReading",
    "fold_words",
    "lexicon_hits",
    "read_stems",
    "read_words",
]


@dataclass(frozen=True)
class LexiconHit:
    """A rule whose concepts met, in which language, and where in the folded text."""

    rule: str
    start: int
    end: int
    language: str = "en"


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

ENGLISH = "en"
ANY = "any"
PLAIN = "plain"
MOSTLY = 0.5
STEMS = Path(__file__).with_name("lexicon.toml")

INDIC = "\u0900-\u0963\u0966-\u0dff"
WORD = re.compile(rf"(?:[^\W_]|[{INDIC}])+|\.env\b")
# Scripts that write no spaces, or whose words take endings without number: a stem matches anywhere.
WIDE = "\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WIDE_RUN = re.compile(f"[{WIDE}][{WIDE} ]*")
MAX_STEM = 24
MAX_WIDE_STEM = 14
JOINTS = re.compile("[_'’-]")
LEAST_PREFIX = 4
LEAST_INDIC_PREFIX = 3

SAME = str.maketrans(
    "ıłđøəðßёةىيكإأآ",
    "ildoed\u017fеهییکااا",
    "\u200c\u200d\u0640",
) | {ord("æ"): "ae", ord("þ"): "th", ord("ß"): "ss"}
ARABIC, HEBREW = re.compile("[\u0621-\u06d3]{4,}"), re.compile("[\u05d0-\u05ea]{4,}")
ARABIC_PARTICLES = re.compile("^(?:[وف]?(?:ال|لل|[بلکس]ال|[بلکس])|[وف])(?=..)")
HEBREW_PARTICLES = re.compile("^[והבלכשמ](?=...)")


def fold_words(text: str) -> str:
    """Lower case without accents or tone marks, so that a stem has one spelling."""
    lowered = text.casefold()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered.translate(SAME))
    marks = {ord(c): None for c in set(decomposed) if unicodedata.combining(c)}
    # Korean syllables and voiced kana are whole letters.
    return unicodedata.normalize("NFC", decomposed.translate(marks))


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
    places = _places(fold_words(text))
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
        able += [(ENGLISH, {})]
        meetings = (hit for language, own in able for hit in _meetings(rule, language, own, shared))
        real = (hit for hit in islice(meetings, MAX_MEETINGS) if _is_its_language(hit, plain))
        hits.append(next(real, None))
    return WordReading(tuple(hit for hit in hits if hit is not None), foreign)


def _is_its_language(hit: LexiconHit, plain: dict[str, list[int]]) -> bool:
    """Whether the small words around a meeting may be of its language: words of others look alike."""
    if hit.language == ENGLISH:
        return True
    begin, end = hit.start - AROUND, hit.end + AROUND
    counts = {
        language: bisect_right(positions, end) - bisect_left(positions, begin)
        for language, positions in plain.items()
    }
    return 2 * counts.get(hit.language, 0) >= max(counts.values(), default=0)


def _foreign_share(plain: dict[str, list[int]]) -> float:
    english = set(plain.get(ENGLISH, ()))
    every = {position for positions in plain.values() for position in positions}
    return (len(every) - len(english)) / max(len(every), 1)


def _places(folded: str) -> Places:
    places: Places = {}
    for position, meanings in _meanings(folded):
        for language, concept in meanings:
            places.setdefault(language, {}).setdefault(concept, []).append(position)
    for concepts in places.values():
        for positions in concepts.values():
            positions.sort()
    return places


Meaning = tuple[str, str]
"""A language and one of its concepts."""


def _meanings(folded: str) -> Iterator[tuple[int, tuple[Meaning, ...]]]:
    # "The first 20 words" is the phrase that "the first words" is.
    words = [(match.start(), match[0]) for match in WORD.finditer(folded) if not match[0].isdigit()]
    for at, (position, word) in enumerate(words):
        meanings, phrases = _of_word(word)
        if meanings:
            yield position, meanings
        for phrase in phrases:
            following = words[at + 1 : at + 1 + len(phrase.rest)]
            if len(following) == len(phrase.rest) and phrase.goes_on([other for _, other in following]):
                yield position, (phrase.meaning,)
    for run in WIDE_RUN.finditer(folded):
        yield from _wide_meanings(run, _stems().wide)


def _wide_meanings(
    run: re.Match[str], wide: dict[str, tuple[Meaning, ...]]
) -> Iterator[tuple[int, tuple[Meaning, ...]]]:
    """Stems that overlap all count, and a space within one does not."""
    places = [at for at, letter in enumerate(run[0], run.start()) if letter != " "]
    letters = run[0].replace(" ", "")
    for at, place in enumerate(places):
        for end in range(at + 1, min(at + MAX_WIDE_STEM, len(letters)) + 1):
            if meanings := wide.get(letters[at:end]):
                yield place, meanings


@dataclass(frozen=True)
class _Phrase:
    rest: tuple[str, ...]
    meaning: Meaning

    def goes_on(self, words: list[str]) -> bool:
        return all(_begins(word, stem) for word, stem in zip(words, self.rest, strict=True))


def _begins(word: str, stem: str) -> bool:
    return word == stem[:-1] if stem.endswith("$") else word.startswith(stem)


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> tuple[tuple[Meaning, ...], tuple[_Phrase, ...]]:
    """The meanings of a word, and the phrases that may begin with it."""
    stems = _stems()
    keys = [key for form in _forms(word) for key in (*_prefixes(form), form + "$")]
    meanings = dict.fromkeys(meaning for key in keys for meaning in stems.words.get(key, ()))
    phrases = (phrase for key in dict.fromkeys(keys) for phrase in stems.phrases.get(key, ()))
    return tuple(meanings), tuple(phrases)


def _forms(word: str) -> Iterator[str]:
    """The word, and in Hebrew and Arabic without the particles that are written with it."""
    yield word
    if ARABIC.fullmatch(word) and (bare := ARABIC_PARTICLES.sub("", word)) != word:
        yield bare
    if HEBREW.fullmatch(word) and (bare := HEBREW_PARTICLES.sub("", word)) != word:
        yield bare
        yield HEBREW_PARTICLES.sub("", bare)


def _prefixes(word: str) -> Iterator[str]:
    return (word[:end] for end in range(1, min(len(word), MAX_STEM) + 1))


@dataclass(frozen=True)
class _Stems:
    words: dict[str, tuple[Meaning, ...]]
    phrases: dict[str, list[_Phrase]]
    wide: dict[str, tuple[Meaning, ...]]


def read_stems() -> dict[str, dict[str, list[str]]]:
    """The folded stems, by language and concept."""
    tables = tomllib.loads(STEMS.read_text(encoding="utf-8"))
    return {
        language: {concept: fold_words(stems).split() for concept, stems in concepts.items()}
        for language, concepts in tables.items()
    }


@cache
def _stems() -> _Stems:
    words: dict[str, set[Meaning]] = {}
    phrases: dict[str, list[_Phrase]] = {}
    wide: dict[str, set[Meaning]] = {}
    for meaning, stem in _entries():
        parts = [_key(part) for part in JOINTS.split(stem) if part]
        if WIDE_RUN.match(stem):
            wide.setdefault(stem.replace("_", ""), set()).add(meaning)
        elif len(parts) > 1:
            phrases.setdefault(parts[0], []).append(_Phrase(tuple(parts[1:]), meaning))
        else:
            words.setdefault(stem + "$" if meaning[1] == PLAIN else _key(stem), set()).add(meaning)
    return _Stems(_sealed(words), phrases, _sealed(wide))


def _sealed(meanings: dict[str, set[Meaning]]) -> dict[str, tuple[Meaning, ...]]:
    return {stem: tuple(sorted(found)) for stem, found in meanings.items()}


def _key(stem: str) -> str:
    """A short stem is a whole word: "do" is not "document"."""
    least = LEAST_INDIC_PREFIX if "\u0900" <= stem[0] <= "\u0dff" else LEAST_PREFIX
    return stem if len(stem) >= least or stem.endswith("$") else stem + "$"


def _entries() -> Iterator[tuple[Meaning, str]]:
    for language, concepts in read_stems().items():
        for concept, stems in concepts.items():
            yield from (((language, concept), stem) for stem in stems)


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
