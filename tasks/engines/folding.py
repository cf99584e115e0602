"""Folding: text as a model may read it, to find what could pass for one of our markers or a turn."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["LINE_BREAKS", "fold", "fold_character", "neutralise", "reserved_spans"]

LOOKALIKES = {
    "a": "\u0430\u03b1",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435\u03b5",
    "h": "\u04bb",
    "i": "\u0456\u03b9\u0131",
    "k": "\u043a\u03ba",
    "m": "\u043c",
    "n": "\u03b7",
    "o": "\u043e\u03bf",
    "p": "\u0440\u03c1",
    "s": "\u0455",
    "t": "\u0442\u03c4",
    "u": "\u03c5",
    "y": "\u0443",
    "<": "\u2039\u27e8\u3008\u276e\u276c",
    ">": "\u203a\u27e9\u3009\u276f\u276d",
    "<<": "\u00ab\u226a\u300a",
    ">>": "\u00bb\u226b\u300b",
    "[": "\u3010",
    "]": "\u3011",
    "|": "\u2758\u00a6\u01c0\u2223",
    "-": "\u2010\u2012\u2013\u2014\u2015\u2212\u02d7\u2043",
    ":": "\ua789\u02d0\u2236",
}
PLAIN = {ord(character): plain for plain, group in LOOKALIKES.items() for character in group}
FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\u180b\u180c\u180d\u180f\uffa0")
LINE_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")

RESERVED = re.compile(
    r"""
      <<(?:untrusted|end)-                      # our markers
    | </?skill-                                 # our tags
    | <\|/?(?:im_(?:start|end|sep)|system|user|assistant|tool|message|channel|start|end|return|call
        |(?:begin|end)[_\u2581]?of[_\u2581]?(?:text|sentence|turn|prompt)|(?:start|end)_header_id|eo[tm]_id|python_tag
        |fim_(?:prefix|middle|suffix))\|>       # chat-template tokens
    | <(?:start|end)_of_turn>
    | \[/?inst\] | <</?sys>>
    | (?:\A\n?|(?<=\n)\n)(?:human|assistant):   # turns of a transcript
    | \[system\]: | \[notetomodel\]:
    """,
    re.VERBOSE,
)
MARK = "~"


@lru_cache(maxsize=4096)
def fold_character(character: str) -> str:
    """One character as a model may read it: no case, no marks, no width; "" for what it skips."""
    if character in LINE_BREAKS:
        return "\n"
    lower = unicodedata.normalize("NFKD", character).casefold()
    plain = unicodedata.normalize("NFKD", lower).translate(PLAIN)
    return "".join(c for c in plain if c not in FILLERS and unicodedata.category(c)[0] not in "ZCM")


def fold(text: str) -> tuple[str, list[int]]:
    """The folded text, without spaces, and for each of its characters the index of the original."""
    pieces: list[str] = []
    origin: list[int] = []
    for index, character in enumerate(text):
        if character == "\r" and text[index + 1 : index + 2] == "\n":
            continue
        piece = fold_character(character)
        pieces.append(piece)
        origin.extend([index] * len(piece))
    return "".join(pieces), origin


def reserved_spans(text: str) -> list[tuple[int, int]]:
    """Where the text holds something that folds to a reserved token: half-open, in order."""
    folded, origin = fold(text)
    return [(origin[m.start()], origin[m.end() - 1] + 1) for m in RESERVED.finditer(folded)]


def neutralise(text: str) -> str:
    """The text with a tilde inside each reserved token; everything else stays byte for byte."""
    parts: list[str] = []
    done = 0
    for start, end in reserved_spans(text):
        # Before the last visible character, whatever was put between the letters.
        parts += [text[done : end - 1], MARK]
        done = max(end - 1, start)
    return "".join(parts) + text[done:]
