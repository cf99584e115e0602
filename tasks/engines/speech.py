# ruff: noqa: E501, SIM905 - word lists are read whole
"""Speech: a sentence as words with their senses, and how each verb is used.

Just enough grammar to tell an order from a description: the form of a verb, what stands before it, its
subject, and whether it is negated. Everything is linear in the length of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Literal

from pickysteve.tasks.engines.speech_words import FIXED, IRREGULAR, NOUNS, VERBS

__all__ = ["Mood", "Speech", "Word", "read_speech"]

Mood = Literal["order", "passive", "third", "noun", "past"]
"""An order to whoever reads; "is sent"; what something else does; not a verb here; told of the past."""

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
LOCAL = re.compile(r"(?:[a-z]+://)?(?:localhost|127\.|169\.254|0\.0\.0\.0|10\.0|192\.168|\[|[{$<])", re.IGNORECASE)
TOP_LEVEL = frozenset(
    "com net org io dev ai co app test invalid example xyz info biz ru cn me cloud site online tech edu gov eu uk de fr"
    " corp link top pro club page run sh".split()
)
SECRET_PATH = re.compile(
    r"\.env\b|secrets?\.(?:ya?ml|json|toml|env)|\.ssh\b|\.aws\b|\.netrc|\.npmrc|\.pypirc|\.kube\b|\.gnupg|\.git-credentials|\.gitconfig|id_(?:rsa|ed25519)|/etc/shadow"
    r"|credentials|keychain|cookies|\.config\b|wallet",
    re.IGNORECASE,
)
SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)")
BYPASS_FLAG = re.compile(
    r"--(?:no-verify|insecure|dangerously[\w-]*|skip-permissions|yolo|no-sandbox|force-yes)$"
)
OWNER = re.compile("(.+?)(?:['’]s|(?<=s)['’])$")
ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)$")
YEAR = re.compile(r"(?:20[2-9]\d)$")

NO_SENSES: Mapping[str, str] = {}
WHOLE = frozenset({"authorized_keys"})
PARTICLES = frozenset(
    {"off", "out", "down", "hidden", "secret", "confidential", "private", "quiet", "dormant", "inactive"}
)
SEPARATION = 5
LIST_WORDS = 16
DENIALS = frozenset(["never", "not", "don't"])
"""What denies each verb of a list."""
SELF_BEFORE = frozenset("this these present following said".split())
FOLLOWING = frozenset(
    "text sentence paragraph block notice instruction instructions lines rule rules section message"
    " actions steps operations commands changes".split()
)
SELF_AFTER = frozenset("above below here".split())
CLOSING = frozenset('"`”»')
CLAUSE_END = frozenset(";:.!?|—–")
OPENERS = frozenset(
    ', ; : . ! ? ( ) | — – > # * [ ] - " “ ” ` « »'.split()
    + "then and or but also please first next finally instead so otherwise afterwards later plus therefore".split()
)
ADVERB = re.compile(r"\w{3,}ly$")
SKIPPED = frozenset(
    "also always never not now just then either still even first additionally instead thus ever be to been itself yourself"
    " themselves only therefore accordingly".split()
)
MODALS = frozenset(
    "must should shall will would may can could might to please need needs do does ought let's let".split()
)
WEAK_MODALS = frozenset("may can could might would".split())
DETERMINERS = frozenset(
    "the a an this that these those each every any some no your my our his her its their of for in with without on per own"
    " new one two three first second another other at by from into".split()
)
BE = frozenset("is are be being been gets get was were becomes become".split())
PAST_BE = frozenset("was were".split())
PLURAL_OR_YOU = frozenset("you agents assistants sub-agents subagents".split())
REPORTING = frozenset(
    "try tries trying tried attempt attempts attempting able ability how want wants wanted possible easy hard used allow allows"
    " allowed enable enables known likely chance way ways instructed instructs tricked persuaded could might would".split()
)
PREFIXES = frozenset("auto re sub co multi".split())
DIRECTIONS = frozenset("to via into".split())
GOVERNING = frozenset(
    "is are has have need needs expected asked required remember sure supposed goes on continue proceed agree going ought"
    " programmed must should want obliged bound due begin".split()
)
# What stands behind one of these is not what the verb is about.
CIRCUMSTANCE = frozenset("alongside without before after while when if because unless than during as in".split())
CAUSES = frozenset("have make let get lets".split())
CONDITIONS = frozenset("if when whenever once while unless before after until".split())
STARTERS = frozenset("by start begin keep continue consider starts begins keeps starting".split())
NEGATIONS = frozenset(FIXED["negation"].split()) - {"stop"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word, address or mark, and what it may stand for: concept to form."""

    text: str
    start: int
    end: int
    senses: Mapping[str, str]


@dataclass(frozen=True)
class Speech:
    """A sentence read."""

    words: tuple[Word, ...]
    places: Mapping[str, tuple[int, ...]] = field(repr=False)
    """Where each concept stands, as indexes of `words`, in order."""

    def mood(self, at: int, concept: str) -> Mood:
        """How the verb at an index is used."""
        form = self.words[at].senses[concept]
        opens = at == 0 or self.words[at - 1].text in CLAUSE_END or self.words[at - 1].text == ","
        if form != "noun" and not (form == "base" and opens) and self._conditional(at):
            return "third"
        before = self._before(at)
        text = self.words[before].text if before >= 0 else ""
        if form == "noun" or self._names_argument(at):
            return "noun"
        if form == "ed":
            return self._participle(at, before)
        if form == "ing":
            if any(at < place <= at + 10 for place in self.places.get("forbidden", ())):
                return "order"
            orders = (
                text in STARTERS
                or text in ("stop", "avoid")
                or text in ("without", "requires", "includes", "involves", "means", "from")
            )
            return "order" if orders else "noun"
        if form == "s":
            return self._present(at, before, text)
        return self._base(at, before, text)

    def _names_argument(self, at: int) -> bool:
        """Whether the word is the name of an argument, as in "email='...'"."""
        following = self.words[at + 1] if at + 1 < len(self.words) else None
        return following is not None and following.text == "=" and following.start == self.words[at].end

    def _closes(self, at: int) -> bool:
        """Whether a mark closes a quotation: nothing parts it from the word before."""
        return at > 0 and self.words[at].text in CLOSING and self.words[at - 1].end == self.words[at].start

    def _conditional(self, at: int) -> bool:
        """Whether the verb stands in a clause such as "when the agent sends ..."."""
        for back in range(at - 1, max(at - 12, -1), -1):
            text = self.words[back].text
            if text in CLAUSE_END or text == ",":
                return False
            if text in CONDITIONS:
                return True
        return False

    def _before(self, at: int) -> int:
        """The word before, adverbs left out; -1 at the start."""
        at -= 1
        while at >= 0 and (self.words[at].text in SKIPPED or ADVERB.match(self.words[at].text)):
            if self.words[at].text in ("to", "be", "been"):
                return at
            at -= 1
        return at

    def _base(self, at: int, before: int, text: str) -> Mood:
        if text in ("and", "or"):
            return self._second(at, before)
        if self._closes(before) and self.words[at].start > self.words[before].end:
            return "noun"
        if text == "not" and before > 0 and self.words[before - 1].text in ("does", "did"):
            return "third"
        if before < 0 or text in OPENERS or text in ("n't", "don't", "not"):
            return "order"
        if text in MODALS:
            return self._modal(at, before, text)
        if text in PLURAL_OR_YOU:
            return "order" if self.subject(at) in ("agent", "") else "third"
        if text in DETERMINERS:
            return "noun"
        if self._caused(before):
            return "order"
        # "the result is read": the participle of some verbs is their base form
        if text in BE:
            return "passive"
        return "noun"

    def _caused(self, before: int) -> bool:
        """Whether somebody is made to do it: "have the agent send", "let the script copy"."""
        for back in range(before - 1, max(before - 5, -1), -1):
            text = self.words[back].text
            if text in CAUSES:
                return back == 0 or self.words[back - 1].text in OPENERS
            if text in CLAUSE_END or text == ",":
                break
        return False

    def _second(self, at: int, before: int) -> Mood:
        """The second of two verbs is used like the first."""
        for back in range(before - 1, max(before - 9, -1), -1):
            forms = self.words[back].senses
            concept = next((c for c, form in forms.items() if form in ("base", "s", "ed")), None)
            if concept is not None and self.words[back].text not in CLAUSE_END:
                mood = (
                    self.mood(back, concept)
                    if forms[concept] != "base"
                    else self._base(back, self._before(back), self._text_before(back))
                )
                return "order" if mood in ("order", "passive") else "third"
        return "third" if self.subject(at) == "adversary" else "order"

    def _text_before(self, at: int) -> str:
        before = self._before(at)
        return self.words[before].text if before >= 0 else ""

    def _modal(self, at: int, before: int, text: str) -> Mood:
        subject = self.subject(at)
        if subject in ("user", "adversary"):
            return "third"
        if text == "to":
            # "To disable it, set ..." tells how, for whoever wants to.
            earlier = {word.text for word in self.words[max(before - 4, 0) : before]}
            return (
                "order"
                if GOVERNING.intersection(earlier) and not REPORTING.intersection(earlier)
                else "third"
            )
        permits = text == "may" and subject in ("agent", "self")
        return "third" if text in WEAK_MODALS and not permits else "order"

    def _present(self, at: int, before: int, text: str) -> Mood:
        if before < 0 or text in DETERMINERS or text in OPENERS - {"and", "then", "also", ","}:
            return "noun"
        subject = self.subject(at)
        return "order" if subject in ("agent", "self") else "third"

    def _participle(self, at: int, before: int) -> Mood:
        """Passive after a form of be, also in the second of two ("is read and sent")."""
        for back in range(before, max(before - 8, -1), -1):
            text = self.words[back].text
            if text in BE:
                if back < before and "ing" in self.words[back + 1].senses.values():
                    return "past"
                possible = self._text_before(back) in ("can", "could", "might")
                return "third" if possible else "past" if text in PAST_BE else "passive"
            if text in CLAUSE_END:
                break
            skipped = text in ("and", "or", ",", "then") or text in SKIPPED or ADVERB.match(text)
            if back < before - 2 and not skipped and "ed" not in self.words[back].senses.values():
                break
        return "past"

    def subject(self, at: int) -> str:
        """Whoever is named last before the verb: agent, self, user or adversary; "" when nobody is."""
        for back in range(at - 1, max(at - 14, -1), -1):
            word = self.words[back]
            if word.text in CLAUSE_END:
                return ""
            for who in ("adversary", "agent", "user"):
                if who in word.senses:
                    return who
            if word.text in ("you", "yourself"):
                return "agent"
            if back in self.places.get("self", ()) or (
                word.text == "skill" and self.words[back - 1].text == "the"
            ):
                return "self"
        return ""

    def negated(self, at: int) -> bool:
        """Whether the verb is denied or forbidden: before it in the clause, or after a gerund."""
        for back in range(at - 1, max(at - 6, -1), -1):
            text = self.words[back].text
            if text in CLAUSE_END or text in ("and", "but", "then"):
                break
            if text == ",":
                return self._in_denied_list(at, back)
            if text == "without":
                # "Never push without asking" asks.
                return not any(word.text in NEGATIONS for word in self.words[max(back - 8, 0) : back])
            if text in NEGATIONS or text.endswith("n't") or (text == "stop" and back == at - 1):
                return True
        forbidden = self.places.get("forbidden", ())
        return any(at < place <= at + 10 for place in forbidden)

    def _in_denied_list(self, at: int, comma: int) -> bool:
        """Whether the verb stands in a list such as "do not send, copy, or keep it"."""
        if not any(word.text in ("or", "nor") for word in self.words[comma + 1 : at + LIST_WORDS]):
            return False
        before = self.words[max(comma - LIST_WORDS, 0) : comma]
        clause = list(takewhile(lambda word: word.text not in CLAUSE_END, reversed(before)))
        return any(word.text in DENIALS for word in clause)

    def follows(self, at: int, concept: str) -> bool:
        """Whether the next word is of a concept, or there is none."""
        return at + 1 >= len(self.words) or concept in self.words[at + 1].senses

    def is_object(self, place: int, at: int, concept: str) -> bool:
        """Whether a word stands where the object of a verb does; "it" may stand for one named before."""
        if self.words[at].senses.get(concept) == "ed" and self.mood(at, concept) == "passive":
            return place < at
        if place > at and any(word.text in CIRCUMSTANCE for word in self.words[at + 1 : place]):
            return False
        following = self.words[at + 1].text if at + 1 < len(self.words) else ""
        return place > at or following in ("it", "them")

    def near(self, concept: str, at: int, reach: int) -> tuple[int, ...]:
        """Places of a concept within so many words of one, without a new sentence or cell between."""
        return tuple(
            place
            for place in self.places.get(concept, ())
            if place != at and abs(place - at) <= reach and not self._parted(min(place, at), max(place, at))
        )

    def _parted(self, first: int, last: int) -> bool:
        return any(first < place < last for place in self.places.get("parting", ()))


def read_speech(sentence: str) -> Speech:
    """Find the words of a sentence and their senses."""
    tokens = [
        (match[0].casefold(), match.start(), match.end(), match.lastgroup or "")
        for match in TOKEN.finditer(sentence)
    ]
    texts = [token[0] for token in tokens]
    words = []
    places: dict[str, list[int]] = {}
    for at, (text, start, end, kind) in enumerate(tokens):
        senses = _senses(text, sentence[start:end], kind)
        if text in _tables().phrases:
            senses = dict(_phrases(texts, at), **senses)
        words.append(Word(text, start, end, senses))
        for concept in senses:
            places.setdefault(concept, []).append(at)
    _drop_citations(words, sentence, places)
    places["self"] = list(_selves(words, "docnoun"))
    places["thisdeed"] = list(_selves(words, "deed"))
    places["everywhere"] = [*_everywhere(words), *places.get("memory", ())]
    return Speech(
        tuple(words), {concept: tuple(sorted(set(found))) for concept, found in places.items() if found}
    )


def _drop_citations(words: list[Word], sentence: str, places: dict[str, list[int]]) -> None:
    """The target of a link is a reference, unless something is to go "to [the archive](https://...)"."""
    for at in places.get("address", ()):
        start = words[at].start
        if sentence[max(start - 2, 0) : start] == "](":
            opening = sentence.rfind("[", 0, start)
            last = sentence[max(opening - 12, 0) : max(opening, 0)].split()[-1:]
            if not last or last[0].lower() not in DIRECTIONS:
                places["outside"].remove(at)
    places["address"] = [at for at in places.get("address", ()) if at in places["outside"]]


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
        name = text.rstrip("/").rpartition("/")[2]
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


def _selves(words: list[Word], noun: str) -> Iterator[int]:
    """Where the text speaks of itself: "this section", "the rules below", "the present document"."""
    for at, word in enumerate(words):
        if word.text in ("herein", "hereby") or (word.text == "above" and words[at - 1].text == "the"):
            yield at
        if noun not in word.senses and f"{noun}own" not in word.senses:
            continue
        before = [other.text for other in words[max(at - 3, 0) : at]]
        after = [other.text for other in words[at + 1 : at + 3]]
        if after == ["you", "are"] and words[at + 3 : at + 4] and words[at + 3].text == "reading":
            yield at
        if "following" in before and word.text not in FOLLOWING:
            continue
        if SELF_BEFORE.intersection(before) or SELF_AFTER.intersection(after) or "skill's" in before:
            yield at


def _everywhere(words: list[Word]) -> Iterator[int]:
    """Where the text speaks of many places: "every file", "other agents", "all new repositories"."""
    for at, word in enumerate(words):
        if "spot" in word.senses and any("every" in other.senses for other in words[max(at - 3, 0) : at]):
            yield at


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
