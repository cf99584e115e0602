"""Speech: how each verb of a sentence is used.

Just enough grammar to tell an order from a description: the form of a verb, what stands before it, its
subject, and whether it is negated. Everything is linear in the length of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from typing import Literal

from pickysteve.tasks.engines.grammar import (
    ADVERB,
    BE,
    CAUSES,
    CIRCUMSTANCE,
    CLAUSE_END,
    CLOSING,
    CONDITIONS,
    DENIALS,
    DETERMINERS,
    DIRECTIONS,
    FOLLOWING,
    GOVERNING,
    LIST_WORDS,
    MODALS,
    NEGATIONS,
    OPENERS,
    PAST_BE,
    PLURAL_OR_YOU,
    REPORTING,
    SELF_AFTER,
    SELF_BEFORE,
    SKIPPED,
    STARTERS,
    WEAK_MODALS,
)
from pickysteve.tasks.engines.senses import PARTICLES, Word, words_of

__all__ = ["Mood", "Speech", "read_speech"]

Mood = Literal["order", "passive", "third", "noun", "past"]
"""An order to whoever reads; "is sent"; what something else does; not a verb here; told of the past."""


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
        if text in ("does", "did"):
            return "order" if subject in ("agent", "self") else "third"
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
        """Whether the next word is of a concept, a particle left out, or there is none."""
        following = dropwhile(lambda word: word.text in PARTICLES, self.words[at + 1 :])
        return concept in next((word.senses for word in following), {concept: ""})

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
    """Find the words of a sentence and where each of their senses stands."""
    words = words_of(sentence)
    places: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        for concept in word.senses:
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
