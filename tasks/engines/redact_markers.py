"""Boundary markers in a model's output, in any form that folds to one, over a stream of chunks."""

from __future__ import annotations

import re

from pickysteve.tasks.engines.folding import fold_character
from pickysteve.tasks.engines.redaction import StreamFilter

__all__ = ["STARTS", "MarkerFilter"]

STARTS = "<\u00ab\u2039\u226a\u226e\u2329\u276c\u276e\u27e8\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c"
"""Every character that folds to something that begins with "<"."""
DOUBLE = "\u00ab\u226a\u300a\ufe3d"
"""Those that fold to two brackets."""
# Three brackets begin no marker, nor does one before a letter that no marker has there.
START = re.compile(
    f"<(?![{STARTS}][{STARTS}]|[{DOUBLE}]|[a-rt-zA-RT-Z0-9])"
    f"|[{STARTS[1:]}](?![{STARTS}][{STARTS}]|[{DOUBLE}])"
)

# What our markers begin with, how many digits of a nonce make one, and how many brackets end it. Ordinary
# code has heredocs such as <<END-OF-FILE and tags such as <skill-list>, so those need a nonce.
OPENINGS = (("<<untrusted-", 0, 2), ("<<end-", 8, 2), ("</skill-", 8, 1), ("<skill-", 8, 1))
PARTS = frozenset(opening[:length] for opening, *_ in OPENINGS for length in range(1, len(opening)))
NONCE_DIGITS = 16
HEX = frozenset("0123456789abcdef")


class _Candidate:
    """The folded text since a possible start: whether it is a marker, or could still become one."""

    def __init__(self, passed_over: int = 0) -> None:
        self.passed_over = passed_over
        """Brackets of the first character that do not count: the second of a double one may begin it."""
        self.folded = ""
        self.length = 0
        """Characters of the original, also those that fold to nothing."""
        self.accepted = 0
        """Length of the longest marker so far; 0 for none."""

    def take(self, character: str) -> bool:
        """Go on with a character; False when nothing longer can follow."""
        for folded in fold_character(character)[0 if self.length else self.passed_over :]:
            grows, marker = _marker_state(self.folded + folded)
            if not grows and not marker:
                return False
            self.folded += folded
            if marker:
                self.accepted = self.length + 1
            if not grows:
                return False
        self.length += 1
        return True


def _marker_state(folded: str) -> tuple[bool, bool]:
    """Whether more could follow, and whether this is a whole marker."""
    if folded in PARTS:
        return True, False
    for opening, least, brackets in OPENINGS:
        if folded.startswith(opening):
            rest = folded[len(opening) :]
            nonce = rest.rstrip(">")
            closing = len(rest) - len(nonce)
            whole = least <= len(nonce) <= NONCE_DIGITS and closing <= brackets and HEX.issuperset(nonce)
            if closing:
                return whole and closing < brackets, whole
            return len(nonce) <= NONCE_DIGITS and HEX.issuperset(nonce), whole
    return False, False


class MarkerFilter(StreamFilter):
    """Takes out markers. It holds back from a bracket on, only while a marker may still follow."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[str] = []
        self._candidate = _Candidate()

    def feed(self, text: str) -> str:
        """What is certain after this chunk."""
        if not self._held:
            return self._scan(text, 0)
        self._held.append(text)
        if self._goes_on(text, 0):
            return ""
        # joined once, when it is decided: a flood that comes letter by letter is not copied each time
        whole, self._held = "".join(self._held), []
        part, at = self._decided(whole, 0)
        return part + self._scan(whole, at)

    def close(self) -> str:
        """The rest, when nothing more comes."""
        parts = []
        while self._held:
            whole, self._held = "".join(self._held), []
            part, at = self._decided(whole, 0)
            parts += [part, self._scan(whole, at)]
        return "".join(parts)

    def _scan(self, text: str, at: int) -> str:
        parts = []
        while found := START.search(text, at):
            start = found.start()
            parts.append(text[at:start])
            self._candidate = _Candidate()
            if self._goes_on(text, start):
                self._held = [text[start:]]
                return "".join(parts)
            part, at = self._decided(text, start)
            parts.append(part)
        return "".join([*parts, text[at:]])

    def _goes_on(self, text: str, at: int) -> bool:
        """Whether the candidate is still open at the end of the text."""
        return all(self._candidate.take(text[index]) for index in range(at, len(text)))

    def _decided(self, text: str, start: int) -> tuple[str, int]:
        """What stands for a candidate that is decided, and where to go on."""
        if length := self._candidate.accepted:
            return self.redacted("boundary marker"), start + length
        if text[start] in DOUBLE and not self._candidate.passed_over:
            self._candidate = _Candidate(passed_over=1)
            if self._goes_on(text, start):
                self._held = [text[start:]]
                return "", len(text)
            return self._decided(text, start)
        return text[start], start + 1
