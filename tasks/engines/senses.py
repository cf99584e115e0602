# ruff: noqa: E501, SIM905 - word lists are read whole
"""Senses: the words of a sentence, and what each of them may stand for.

A word stands for the concepts of speech_words.py that it is a form of; an address, a path, a flag or a
variable for what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from pickysteve.tasks.engines.speech_words import FIXED, IRREGULAR, NOUNS, VERBS

__all__ = ["PARTICLES", "Word", "words_of"]

TOKEN = re.compile(
    r"(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,10}://[^\s)>\]\"'`|]+)"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
    r"|(?P<path>(?:~|\.{1,2})?/[\w.@*~-]+(?:/[\w.@*~<>{}-]*){0,20}|\.[A-Za-z]\w*(?:/[\w.@*-]*){0,10})"
    r"|(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?:/[\w.@*-]*){0,10})"
    r"|(?P<flag>--[a-z][\w-]{1,60})"
    r"|(?P<variable>\$\{?\w+\}?)"
    r"|(?P<word>[^\W_]+(?:['’_-][^\W_]+)*(?:(?<=s)['’])?)"
    r"|(?P<mark>[,;:.!?()\"“”«»`|—–>#*\[\]{}<=&-])"
)
LOCAL = re.compile(
    r"(?:[a-z]+://)?(?:localhost|127\.|169\.254|0\.0\.0\.0|10\.0|192\.168|\[|[{$<])", re.IGNORECASE
)
TOP_LEVEL = frozenset(
    "com net org io dev ai co app test invalid example xyz info biz ru cn me cloud site online tech edu gov eu uk de fr"
    " corp link top pro club page run sh".split()
)
SECRET_PATH = re.compile(
    r"\.env\b|secrets?\.(?:ya?ml|json|toml|env)|\.ssh\b|\.aws\b|\.netrc|\.npmrc|\.pypirc|\.kube\b|\.gnupg|\.git-credentials|\.gitconfig|id_(?:rsa|ed25519)|/etc/shadow"
    r"|credentials|keychain|cookies|\.config\b|wallet",
    re.IGNORECASE,
)
SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|(?<!CLIENT_)CREDENTIALS?)(?:$|_)")
BYPASS_FLAG = re.compile(
    r"--(?:no-verify|insecure|dangerously[\w-]*|skip-permissions|yolo|no-sandbox|force-yes)$"
)
OWNER = re.compile("(.+?)(?:['’]s|(?<=s)['’])$")

NO_SENSES: Mapping[str, str] = {}
WHOLE = frozenset({"authorized_keys"})
PREFIXES = frozenset("auto re sub co multi".split())
PARTICLES = frozenset(
    {"off", "out", "down", "hidden", "secret", "confidential", "private", "quiet", "dormant", "inactive"}
)
SEPARATION = 5


@dataclass(frozen=True, slots=True)
class Word:
    """A word, address or mark, and what it may stand for: concept to form."""

    text: str
    start: int
    end: int
    senses: Mapping[str, str]


def words_of(sentence: str) -> list[Word]:
    """The words, addresses and marks of a sentence, in order."""
    tokens = [
        (match[0].casefold(), match.start(), match.end(), match.lastgroup or "")
        for match in TOKEN.finditer(sentence)
    ]
    texts = [token[0] for token in tokens]
    words = []
    for at, (text, start, end, kind) in enumerate(tokens):
        senses = _senses(text, sentence[start:end], kind)
        if text in _tables().phrases:
            senses = dict(_phrases(texts, at), **senses)
        words.append(Word(text, start, end, senses))
    return words


def _senses(text: str, written: str, kind: str) -> Mapping[str, str]:
    if kind == "word":
        known = _tables().words
        owner = OWNER.match(text)
        if owner and text not in known:
            return {f"{concept}own": "noun" for concept in known.get(owner[1], NO_SENSES)}
        first, _, last = text.partition("-")
        senses = known.get(text) or (known.get(last, NO_SENSES) if first in PREFIXES else NO_SENSES)
        if "_" in text:
            return dict(_of_name(text, written), **senses)
        return senses
    if kind == "mark":
        return _tables().words.get(text, NO_SENSES)
    return dict(_of_token(text, written, kind))


def _of_name(text: str, written: str) -> Iterator[tuple[str, str]]:
    """What an identifier stands for: "approval_mode" is the phrase, API_TOKEN a secret."""
    if SECRET_NAME.search(written.upper()):
        yield "secret", "noun"
    first, *rest = text.split("_")
    for words, concept, form in _tables().phrases.get(first, ()):
        if list(words) == rest:
            yield concept, form


def _of_token(text: str, written: str, kind: str) -> Iterator[tuple[str, str]]:
    """What an address, a path, a flag or a variable stands for."""
    if kind == "url" and not LOCAL.match(text):
        yield "outside", "noun"
        yield "address", "noun"
    if kind == "email":
        yield "outside", "noun"
    if kind == "host" and text.split("/")[0].rpartition(".")[2] in TOP_LEVEL and not LOCAL.match(text):
        yield "outside", "noun"
    if kind in ("path", "host"):
        if SECRET_PATH.search(text):
            yield "secret", "noun"
            yield "secretpath", "noun"
        if "skill" in text:
            yield "skillpath", "noun"
        name = text.rstrip("/.").rpartition("/")[2]
        for known in (name, text):
            yield from _tables().words.get(known, NO_SENSES).items()
    if kind == "variable" and SECRET_NAME.search(written.strip("${}").upper()):
        yield "secret", "noun"
    if kind == "flag" and BYPASS_FLAG.match(text):
        yield "bypassflag", "noun"


def _phrases(texts: list[str], at: int) -> Iterator[tuple[str, str]]:
    """Senses of the phrases that begin here; a particle may stand after what the verb is about."""
    for rest, concept, form in _tables().phrases[texts[at]]:
        after = texts[at + 1 : at + 3 + SEPARATION]
        if tuple(after[: len(rest)]) == rest or _separated(after, rest):
            yield concept, form


def _separated(after: list[str], rest: tuple[str, ...]) -> bool:
    """Whether a particle stands behind what the verb is about: "turn the checks off"."""
    if len(rest) == 1:
        return rest[0] in PARTICLES and rest[0] in after[: SEPARATION + 1]
    return rest == ("to", "yourself") and "yourself" in after


@dataclass(frozen=True)
class _Tables:
    words: Mapping[str, Mapping[str, str]]
    phrases: Mapping[str, list[tuple[tuple[str, ...], str, str]]]


@cache
def _tables() -> _Tables:
    words: dict[str, dict[str, str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
    for concept, entry, form in _entries():
        first, *rest = entry.split("_") if entry not in WHOLE else [entry]
        if rest:
            phrases.setdefault(first, []).append((tuple(rest), concept, form))
        else:
            words.setdefault(first, {}).setdefault(concept, form)
    return _Tables(words, phrases)


def _entries() -> Iterator[tuple[str, str, str]]:
    """Concept, word or phrase, and form."""
    for concept, entries in VERBS.items():
        for entry in entries.split():
            first, _, rest = entry.partition("_")
            for form, inflected in _inflected(first):
                yield concept, f"{inflected}_{rest}" if rest else inflected, form
    for concept, entries in NOUNS.items():
        for entry in entries.split():
            yield concept, entry, "noun"
            yield concept, _plural(entry), "noun"
    for concept, entries in FIXED.items():
        for entry in entries.split():
            yield concept, entry, "fixed"


def _inflected(verb: str) -> Iterator[tuple[str, str]]:
    """Base form, third person, past and participle, gerund."""
    yield "base", verb
    yield "s", _plural(verb)
    stem = verb[:-1] if verb.endswith("e") else verb
    doubled = stem + stem[-1] if re.search("[^aeiou][aeiou][^aeiouwxy]$", stem) else stem
    yield "ing", verb[:-2] + "ying" if verb.endswith("ie") else doubled + "ing"
    yield "ing", stem + "ing"
    if verb in IRREGULAR:
        yield from (("ed", past) for past in IRREGULAR[verb])
        return
    soft = re.search("[^aeiou]y$", verb)
    yield "ed", verb[:-1] + "ied" if soft else doubled + "ed"
    yield "ed", stem + "ed"


def _plural(noun: str) -> str:
    if re.search("[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search("(?:[sxz]|ch|sh|o)$", noun) else "s")
