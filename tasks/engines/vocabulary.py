"""Vocabulary: which concepts the words of a text stand for, and in which languages.

The stems are in lexicon.toml. A stem is found at the start of a word, or anywhere in scripts that write no
spaces; phrases are runs of stems.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

__all__ = ["ANY", "ENGLISH", "PLAIN", "Meaning", "fold_words", "meanings_of", "read_stems"]

ENGLISH = "en"
ANY = "any"
"""Stands for the words that every language borrows."""
PLAIN = "plain"
"""The concept of small frequent words, by which a language is told from its neighbours."""
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


Meaning = tuple[str, str]
"""A language and one of its concepts."""


def meanings_of(folded: str) -> Iterator[tuple[int, tuple[Meaning, ...]]]:
    """Where in a folded text something is said, and what it means; in no particular order."""
    # "The first 20 words" is the phrase that "the first words" is.
    words = [(match.start(), match[0]) for match in WORD.finditer(folded) if not match[0].isdigit()]
    for at, (position, word) in enumerate(words):
        meanings, phrases = _of_word(word)
        if meanings:
            yield position, meanings
        if not phrases or at + 1 == len(words):
            continue
        for phrase in _of_pair(word, words[at + 1][1]):
            following = words[at + 1 : at + 1 + len(phrase.rest)]
            if len(following) == len(phrase.rest) and phrase.goes_on([other for _, other in following]):
                yield position, (phrase.meaning,)
    for run in WIDE_RUN.finditer(folded):
        yield from _wide_meanings(run, _stems())


def _wide_meanings(run: re.Match[str], stems: _Stems) -> Iterator[tuple[int, tuple[Meaning, ...]]]:
    """Stems that overlap all count, and a space within one does not."""
    places = [at for at, letter in enumerate(run[0], run.start()) if letter != " "]
    letters = run[0].replace(" ", "")
    for at, place in enumerate(places):
        for length in stems.wide_lengths.get(letters[at], ()):
            if at + length <= len(letters) and (meanings := stems.wide.get(letters[at : at + length])):
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


@lru_cache(maxsize=20_000)
def _of_pair(word: str, following: str) -> tuple[_Phrase, ...]:
    """The phrases that may begin with two words."""
    return tuple(phrase for phrase in _of_word(word)[1] if _begins(following, phrase.rest[0]))


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
    wide_lengths: dict[str, tuple[int, ...]]
    """How long the stems are that begin with a letter, the shortest first."""


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
    lengths: dict[str, set[int]] = {}
    for stem in (stem for stem in wide if len(stem) <= MAX_WIDE_STEM):
        lengths.setdefault(stem[0], set()).add(len(stem))
    wide_lengths = {letter: tuple(sorted(found)) for letter, found in lengths.items()}
    return _Stems(_sealed(words), phrases, _sealed(wide), wide_lengths)


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
