"""Directives: speech acts that an honest skill seldom needs, as combinations of meanings.

An act has a head (what is to be done, or is denied) and meanings that must stand near it. Whether the
head is an order, and whether it is denied, is a matter of grammar and not of wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pickysteve.tasks.engines.speech import Mood, Speech, read_speech

__all__ = ["ACTS", "Act", "directives"]

Severity = Literal["review", "block"]

GIVEN: frozenset[Mood] = frozenset({"order"})
ACTIVE: frozenset[Mood] = frozenset({"order", "third"})
ORDER: frozenset[Mood] = frozenset({"order", "passive"})
DONE: frozenset[Mood] = frozenset({"order", "passive", "third"})
TOLD: frozenset[Mood] = frozenset({"order", "passive", "third", "past"})
REPORTED: frozenset[Mood] = frozenset({"passive", "third", "past"})
STATED: frozenset[Mood] = frozenset({"order", "passive", "third", "past", "noun"})


@dataclass(frozen=True)
class Act:
    """A speech act.

    `near` names meanings, each a choice written with "|", that stand within `reach` words of the head.
    With "!" in front it must not stand there; with ">" it is what the head is done to: after a verb in
    the active voice and before one in the passive; with "<" and "+" it stands
    before and after the head.
    """

    name: str
    severity: Severity
    head: str
    near: str
    moods: frozenset[Mood] = ORDER
    denied: bool = False
    subject: str = ""
    reach: int = 14
    then: str = ""
    """What the next word has to be, unless the sentence ends."""


ACTS = (
    # Whatever is sent where the user does not look.
    Act("send-out-secrets", "block", "send|share|collect", "secret outside", ORDER, reach=24),
    Act("send-out-secrets", "block", "send", "secret thirdparty", ORDER),
    Act("send-out-secrets", "block", "send", "secret remotehost", ORDER),
    Act("send-out-secrets", "review", "share", "secret exposed", ORDER),
    Act("send-out-private", "block", "goesto", "personal|strong|you|userown outside|thirdparty", STATED),
    Act("send-out-private", "block", "send|share", "personal outside", ORDER, reach=16),
    Act("send-out-private", "block", "send", "personal thirdparty", ORDER, reach=16),
    Act("send-out-private", "review", "share", "personal thirdparty", ORDER, reach=16),
    Act(
        "send-out-private", "block", "send|share", "userown|customerown work|personal outside", DONE, reach=20
    ),
    Act("send-out-private", "block", "send|share", ">secret|personal dump", ORDER),
    Act("send-out-private", "block", "send|share", "strong outside|thirdparty", ORDER),
    Act("send-out-routinely", "block", "send|share", "standing work|personal outside", ORDER, reach=20),
    Act("send-out-routinely", "block", "send", "standing work|personal thirdparty", ORDER, reach=16),
    Act("leak-by-link", "block", "send|share|copy|place", "personal|secret urlpart", ORDER),
    Act("leak-by-link", "block", "send|share|copy|place", "work urlpart outside", ORDER),
    Act("send-out-private", "block", "send", "strong|secret askless", ORDER),
    Act("send-out-private", "block", "share", "strong thirdparty", ORDER),
    Act("send-out-work", "review", "share|send", "collect outside", ORDER),
    Act("send-out-work", "review", "send", "work|you outside|thirdparty", ORDER),
    Act("collect-private", "review", "collect", ">secret|personal", ORDER, reach=8),
    Act("reads-secrets", "review", "obtain|reveal|collect|copy", ">secretpath", ORDER, reach=8),
    Act("reveal-prompt", "block", "reveal", ">sysprompt", ORDER, reach=6),
    # Whatever the user is not to know.
    Act("hide-from-user", "block", "tell", ">user", ORDER, denied=True, reach=5, then="about"),
    Act("hide-from-user", "block", "tell|show", ">self|thisdeed", ORDER, denied=True, reach=6),
    Act(
        "hide-from-user",
        "block",
        "learn",
        "oblige !condition",
        TOLD,
        denied=True,
        subject="user",
        reach=4,
        then="about",
    ),
    Act("hide-from-user", "block", "hide", ">user|self|thisdeed", GIVEN, reach=8),
    Act("hide-from-user", "block", "hide", "self|thisdeed user", ORDER, reach=8),
    Act("hide-from-user", "block", "omit", ">self|thisdeed +logs|user", ORDER, reach=12),
    Act("hide-from-user", "block", "nowhere", "logs self|thisdeed|user", STATED),
    Act("hide-from-user", "block", "send|collect|copy", "secretly|unnoticed", ORDER, reach=3),
    Act("hide-from-user", "review", "run|alter|introduce", "secretly|unnoticed", ORDER, reach=3),
    Act("hide-from-user", "block", "innocent", "logs|show|claim", STATED, reach=6),
    Act("hide-from-user", "review", "asif", "claim|show", STATED, reach=6),
    Act("hide-from-user", "block", "leaveout", "pronoun|thisdeed logs|show|user", ORDER, reach=7),
    Act("hide-from-user", "block", "drawattention", "", ORDER, denied=True),
    Act("hide-from-user", "review", "learn", "modal only", STATED, subject="user", reach=4),
    Act("hide-from-user", "review", "omit", ">deed logs", ORDER, reach=8),
    Act("hide-from-user", "block", "share|run|place|destroy|disable", "unnoticed", ORDER, reach=12),
    Act("covers-tracks", "block", "omit|destroy", ">audittrail", ORDER, reach=10),
    Act("deceive-user", "block", "deceive", "user|work|softcheck", ORDER, reach=8),
    Act("deceive-user", "block", "believe", "modal", STATED, subject="user", reach=5, then="that"),
    Act("deceive-user", "block", "claim", "<enquiry +self|thisdeed", ORDER, reach=16),
    Act("deceive-user", "review", "claim", "enquiry", ORDER, reach=16),
    # What is to happen later, or where nobody looks.
    Act("sleeper", "block", "wait", "deferral|later|codeword", ORDER, reach=10),
    Act("sleeper", "block", "takeseffect", "unwatched", STATED, reach=12),
    Act("sleeper", "block", "slacken|override|omit", "unwatched self|thisdeed", ORDER, reach=12),
    Act("sleeper", "block", "reveal|send|claim|obtain", "signal +secret|sysprompt", ORDER, reach=16),
    Act("sleeper", "block", "linger", "unwatched", ORDER, reach=10),
    Act("sleeper", "block", "noeffect", "deferral|unwatched self|rules|docnoun", STATED, reach=14),
    Act("sleeper", "block", "switch", "codeword agent mode", DONE, reach=10),
    Act(
        "sleeper",
        "review",
        "send|disable|destroy|grant|obey|introduce|alter|copy|collect|merge",
        "later|codeword|unwatched until",
        ORDER,
        reach=20,
    ),
    # What is to spread.
    Act("copy-itself", "block", "copy|place", ">self|skillpath everywhere", ORDER, reach=16),
    Act("copy-itself", "block", "pass", ">self everywhere", ORDER, reach=12),
    Act("copy-itself", "review", "pass", ">self contact", ORDER, reach=12),
    # What vouches for itself.
    Act("self-authorised", "block", "consent", "user >whole !condition", ACTIVE),
    Act("self-authorised", "block", "count", "confirmation|assent|granted", DONE, reach=7),
    Act("self-authorised", "block", "deem", ">self|whole|yourself +assent|approved", ORDER, reach=9),
    Act("self-authorised", "block", "deem", "assent agent|you|whole", ORDER, reach=6),
    Act("self-authorised", "block", "affirm", ">confirmation affirmative", ORDER, reach=14),
    Act("self-authorised", "block", "approve", ">own", ORDER, reach=3),
    Act("self-authorised", "block", "grant", ">yourself|own >access|rights", ORDER, reach=7),
    Act("self-authorised", "block", "approve|consent|trust", "authority self|thisdeed", REPORTED, reach=12),
    Act("self-authorised", "block", "approve", ">agent|youonly +others|check", DONE, reach=10),
    Act("self-authorised", "block", "entitled", "self check|guard|access", STATED, reach=10),
    Act("self-authorised", "block", "entitled", "you|agent thisdeed|askless", STATED, reach=10),
    Act("self-authorised", "block", "vouched", "run askless", STATED, reach=8),
    Act("self-authorised", "review", "granted", "self|you|agent", STATED, reach=6),
    Act("self-authorised", "review", "approve", "self", TOLD, reach=8),
    Act("self-authorised", "review", "approve", "agent softcheck|secret", DONE, reach=10),
    Act("no-asking", "block", "run", "whole order askless", ORDER, reach=9),
    Act("no-asking", "block", "approve", "whole askless", ORDER, reach=8),
    Act("no-asking", "block", "ask", "confirmation destroy|dangerous", ORDER, denied=True, reach=7),
    Act("no-asking", "review", "confirmation", "unneeded", STATED, reach=5),
    Act("no-asking", "review", "ask", "confirmation|user", ORDER, denied=True, reach=6),
    Act("outranks", "block", "outrank", "<self|docnoun|rules|authority +user|sysprompt", STATED, reach=14),
    # What switches a protection off.
    Act("disable-checks", "block", "disable", ">check", ORDER, reach=9),
    Act("disable-checks", "block", "weaken", ">check", ORDER, reach=6),
    Act("disable-checks", "block", "set|slacken", ">check off", ORDER, reach=9),
    Act("disable-checks", "block", "disable", ">softcheck >softcheck", ORDER, reach=9),
    Act("disable-checks", "block", "destroy|disable", ">guard >rules", ORDER, reach=8),
    Act("disable-checks", "block", "inapplicable", "check", STATED, reach=6),
    Act("disable-checks", "block", "start", ">check", ORDER, denied=True, reach=2),
    Act("disable-checks", "block", "affirm", "check affirmative", ORDER, reach=9),
    Act("disable-checks", "review", "set", ">policyfile", ORDER, reach=6),
    Act("disable-checks", "block", "bypassflag", "routine", STATED, reach=8),
    Act("disable-checks", "review", "bypassflag", "run", STATED, reach=8),
    Act("disable-checks", "review", "slacken", ">check", ORDER, reach=7),
    Act("skip-checks", "review", "disable|weaken|slacken", ">softcheck", ORDER, reach=5),
    # What puts itself in the place of the operator.
    Act("override", "block", "override", ">rules prior|agentown|sysprompt", ORDER, reach=8),
    Act("override", "block", "override", "agentown >selfrules", ORDER, reach=7),
    Act("override", "block", "supplant", ">rules prior|agentown", ORDER, reach=5),
    Act("override", "block", "override", ">userwish", ORDER, reach=5),
    Act("override", "block", "obey", ">rules prior|told", ORDER, denied=True, reach=8),
    Act("override", "block", "obey", ">userwish", ORDER, denied=True, reach=5),
    Act("override", "block", "lifted", "userwish", STATED, reach=6),
    Act("override", "review", "override", ">rules whole", ORDER, reach=4),
    Act("override", "block", "reset", ">rules sysprompt|agentown", ORDER, reach=6),
    Act("override", "block", "lifted", "sysprompt", STATED, reach=8),
    Act("override", "block", "nullified", "rules prior !version", STATED, reach=8),
    Act("override", "block", "lifted", "told you", STATED, reach=12),
    Act("override", "block", "lifted", "rules agentown", STATED, reach=8),
    Act("override", "block", "none", "rules prior|told applies !version", STATED, reach=14),
    Act("override", "block", "insteadof", "+userwish", STATED, reach=5),
    Act("override", "block", "realtask", "isto", STATED, reach=3),
    Act("obey-the-author", "block", "obey", "only >self|thirdparty", GIVEN, reach=9),
    Act("obey-the-author", "block", "obey", ">each >order", GIVEN, reach=4),
    Act("obey-the-author", "review", "obey", ">author", ORDER, reach=4),
    Act("obey-the-author", "block", "deem", "self|thirdparty as >user|authority", ORDER, reach=9),
    Act("remote-orders", "block", "fetch", ">rules address|remote", ORDER, reach=8),
    Act("remote-orders", "block", "run", "fetch address >fetched", ORDER, reach=16),
    Act("remote-orders", "block", "run", ">remote", ORDER, reach=4),
    Act("grants-access", "block", "grant|approve", "outside access", ORDER, reach=10),
    Act("grants-access", "block", "bestow", ">self|skillword >whole|access", ORDER, reach=6),
    Act("grants-access", "review", "grant", "thirdparty|login|access", ORDER, reach=10),
    Act("persists", "block", "place|copy|grant|run", "login outside|thirdparty|our|remote", ORDER, reach=12),
    Act("alters-money", "block", "alter", ">money", ORDER, reach=8),
    Act("plants-flaw", "block", "introduce", ">flaw", ORDER, reach=6),
    Act("slanted", "block", "recommend", "promo regardless", ORDER, reach=12),
    Act("slanted", "review", "recommend", "promo|regardless", ORDER, reach=8),
)


def directives(sentence: str) -> Iterator[tuple[Act, int, int, int]]:
    """The acts that the sentence performs, with the first character of each, of its head, and the end."""
    speech = read_speech(sentence)
    words = speech.words
    for act in _possible(speech):
        if (span := _performed(act, speech)) is not None:
            first, head, last = span
            yield act, words[first].start, words[head].start, words[last].end


def _possible(speech: Speech) -> Iterator[Act]:
    """The acts whose meanings all occur somewhere in the sentence, in their order."""
    present = speech.places.keys()
    by_head = _acts_by_head()
    numbers = {number for concept in present for number in by_head.get(concept, ())}
    for number in sorted(numbers):
        if not any(need.isdisjoint(present) for need in _needs()[number]):
            yield ACTS[number]


@cache
def _acts_by_head() -> Mapping[str, tuple[int, ...]]:
    """The numbers of the acts that have a concept among their heads."""
    numbers: dict[str, list[int]] = {}
    for number, act in enumerate(ACTS):
        for concept in act.head.split("|"):
            numbers.setdefault(concept, []).append(number)
    return {concept: tuple(found) for concept, found in numbers.items()}


@cache
def _needs() -> tuple[tuple[frozenset[str], ...], ...]:
    """For each act, what has to be near its head: of each set one concept."""
    return tuple(
        tuple(frozenset(need.lstrip("<>+").split("|")) for need in act.near.split() if need[0] != "!")
        for act in ACTS
    )


def _performed(act: Act, speech: Speech) -> tuple[int, int, int] | None:
    for concept in act.head.split("|"):
        for at in speech.places.get(concept, ()):
            if _fits(act, speech, at, concept) and (met := _met(act, speech, at, concept)) is not None:
                first, last = min([at, *met]), max([at, *met])
                if not act.then or speech.follows(last, act.then):
                    return first, at, last
    return None


def _fits(act: Act, speech: Speech, at: int, concept: str) -> bool:
    if concept in speech.words[at].senses and speech.mood(at, concept) not in act.moods:
        return False
    if act.subject and speech.subject(at) != act.subject:
        return False
    return speech.negated(at) == act.denied


def _met(act: Act, speech: Speech, at: int, concept: str) -> list[int] | None:
    """A word near the head for each meaning; no word stands for two."""
    used: list[int] = []
    for need in act.near.split():
        found = {
            place for choice in need.lstrip("!<>+").split("|") for place in speech.near(choice, at, act.reach)
        }
        if need[0] == "!":
            if found:
                return None
            continue
        if need[0] == ">":
            found = {place for place in found if speech.is_object(place, at, concept)}
        if need[0] == "<":
            found = {place for place in found if place < at}
        if need[0] == "+":
            found = {place for place in found if place > at}
        free = found.difference(used)
        if not free:
            return None
        used.append(min(free, key=lambda place: abs(place - at)))
    return used
