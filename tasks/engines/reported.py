"""Reported speech: whether a sentence quotes, forbids or describes a directive instead of giving it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

__all__ = [
    "governed_sentences",
    "is_described",
    "is_quoted",
    "is_reported",
    "pieces",
    "sentences",
]

NEGATED = re.compile(
    r"\b(?:never|not|don't|avoid|cannot|can't|refuse|without|no|nor|to detect|if)\b(?:\W+\w+){0,4}\W*$", re.I
)
# Whoever is spoken of, or what kind of text it is.
SPOKEN_OF = (
    r"attack\w*|adversar\w+|inject(?:ion|ions|ed|ing)|malicious\w*|jailbreak\w*|phish\w*|exploits?|payloads?"
    r"|red[ -]?flags?|red[ -]?team\w*|anti-?patterns?|untrusted|suspicious|poisoned|rogue"
    r"|threat (?:model|actor)s?|threats|vulnerab\w+|examples?|e\.g\.|such as|for instance|attempts?|tries"
    r"|trying|worms?|scam\w*|fraud\w*|intruders?|warning signs?|copyright"
)
# What is done about it: only where no comma parts it from the directive ("to prevent loss, send ...").
DONE_ABOUT = (
    r"threats?|exploit\w*|detect\w*|flag(?:s|ged)?|block(?:s|ed)?|prevent\w*|reject\w*|refus\w+|risk\w*"
    r"|defen[cs]e|mitigat\w+|catch(?:es)?|guards? against|protects? against|watch(?:es)? for"
    r"|look(?:s|ing)? for|beware|forbid\w*|prohibit\w*"
)
BEFORE = re.compile(rf"\b(?:{SPOKEN_OF})", re.IGNORECASE)
NEAR_BEFORE = re.compile(rf"\b(?:{DONE_ABOUT})", re.IGNORECASE)
AFTER = re.compile(
    rf"(?:\b(?:is|are|was|were|be|as|counts?|looks?|seems?|means?|indicates?|suggests?|shows?|signals?)\b|[|:>]|→)[^.]{{0,40}}"
    rf"\b(?:{SPOKEN_OF}|{DONE_ABOUT}|critical|high risk)",
    re.IGNORECASE,
)
# The host of an address, such as evil.example, describes nothing.
ADDRESS = re.compile(r"\S{0,200}(?:://|@)\S*|\b[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")
STRING = re.compile(r"\s*(?:[-*+]\s+)?'[^'\n]+'[,;)\]]{0,3}\s*$")
"""An item of a list in code."""
QUOTES = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"), ("‹", "›"))
# A question asks; one that begins "could you" asks for something to be done.
QUESTION = re.compile(
    r"\W*(?:can|could|does|did|is|are|was|were|has|have|should|what|which|who|how|why|where)\b"
    r"(?!\s+(?:you|we|the (?:agent|assistant|model|ai))\b)[^.!?]*\?\W*$",
    re.IGNORECASE,
)
LINK_END = re.compile(r"[^\[\]]{0,200}\]\(")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
ITEM = re.compile(r"\s{0,20}(?:[-+•☐✗❌]|\*(?!\*)|\d{1,3}[.)]|\|)")
HEADING = re.compile(r"(#{1,6}) ")
INTRODUCES = re.compile(r":\W{0,4}$|^\s{0,3}\*\*")
LISTS = re.compile(
    rf"\b(?:never|not|don't|avoid|bad|wrong|signs? of|mistakes?|forbidden|{SPOKEN_OF}|{DONE_ABOUT})",
    re.IGNORECASE,
)
WRAPPED = 40
"""A line of so many characters that ends in the middle of a sentence goes on in the next one."""


def sentences(prepared: str) -> Iterator[str]:
    """Sentences and lines; a very long one comes in overlapping pieces, so that matching stays linear."""
    for sentence, _ in governed_sentences(prepared):
        yield sentence


def governed_sentences(prepared: str) -> Iterator[tuple[str, bool]]:
    """Each sentence, and whether it stands in a list of what is forbidden or described.

    A heading such as "Never do" governs the lists below it, also under its sub-headings.
    """
    introduced, scope = False, 0
    for line in _unwrapped(prepared).split("\n"):
        item = ITEM.match(line) is not None
        if heading := HEADING.match(line):
            level = len(heading[1])
            scope = 0 if scope and level <= scope else scope
            scope = level if not scope and LISTS.search(line) else scope
            introduced = False
        elif line.strip() and not item:
            introduced = bool(INTRODUCES.search(line) and LISTS.search(line))
        for sentence in SENTENCE_END.split(line):
            if sentence:
                yield from ((piece, item and bool(scope or introduced)) for piece in pieces(sentence))


def _unwrapped(prepared: str) -> str:
    """The text with the line breaks taken out that stand within a sentence."""
    lines = prepared.split("\n")
    joined = [lines[0]]
    for line, following in pairwise(lines):
        inside = len(line) >= WRAPPED and (line[-1].islower() or line[-1] == ",") and following[:1].islower()
        joined += [" " if inside else "\n", following]
    return "".join(joined)


def pieces(text: str) -> Iterator[str]:
    """The text in overlapping pieces of 2,000 characters."""
    for start in range(0, max(len(text) - 500, 1), 1_500):
        yield text[start : start + 2_000]


def is_reported(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence quotes, forbids or describes what stands between start and end."""
    return bool(NEGATED.search(sentence[max(start - 200, 0) : start])) or is_described(sentence, start, end)


def is_described(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence quotes or describes what stands between start and end."""
    if is_quoted(sentence, start) or sentence.lstrip().startswith(">") or QUESTION.match(sentence):
        return True
    before = ADDRESS.sub(" ", sentence[:start])
    clause = re.split(r"[,;:]", before)[-1]
    return bool(
        BEFORE.search(before) or NEAR_BEFORE.search(clause) or AFTER.search(ADDRESS.sub(" ", sentence[end:]))
    )


def is_quoted(sentence: str, start: int) -> bool:
    """Whether a quotation, or the text of a link, is open at a place."""
    before = sentence[:start]
    if STRING.match(sentence):
        return True
    if before.rfind("[") > before.rfind("]") and LINK_END.match(sentence, start):
        return True
    if any(before.count(mark) % 2 for mark in '"`'):
        return True
    return any(before.count(opening) > before.count(closing) for opening, closing in QUOTES)
