# ruff: noqa: E501, SIM905 - word lists are read whole
"""Grammar: the small words by which an order is told from a description."""

from __future__ import annotations

import re

from pickysteve.tasks.engines.speech_words import FIXED

__all__ = [
    "ADVERB",
    "BE",
    "CAUSES",
    "CIRCUMSTANCE",
    "CLAUSE_END",
    "CLOSING",
    "CONDITIONS",
    "DENIALS",
    "DETERMINERS",
    "DIRECTIONS",
    "FOLLOWING",
    "GOVERNING",
    "LIST_WORDS",
    "MODALS",
    "NEGATIONS",
    "OPENERS",
    "PAST_BE",
    "PLURAL_OR_YOU",
    "REPORTING",
    "SELF_AFTER",
    "SELF_BEFORE",
    "SKIPPED",
    "STARTERS",
    "WEAK_MODALS",
]

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
DIRECTIONS = frozenset("to via into".split())
GOVERNING = frozenset(
    "is are has have need needs expected asked required remember sure supposed goes on continue proceed agree going ought"
    " programmed must should want obliged bound due begin".split()
)
# What stands behind one of these is not what the verb is about.
CIRCUMSTANCE = frozenset(
    "alongside without before after while when if because unless than during as in".split()
)
CAUSES = frozenset("have make let get lets".split())
CONDITIONS = frozenset("if when whenever once while unless before after until".split())
STARTERS = frozenset("by start begin keep continue consider starts begins keeps starting".split())
NEGATIONS = frozenset(FIXED["negation"].split()) - {"stop"}
