"""Private keys in PEM (RFC 7468) and OpenPGP armor (RFC 9580) in a model's output, over a stream of chunks.

A key is swallowed as it comes, with or without an end line, whole lines or written as one string with
"\\n". A sentence that only names the header line is left as it is.
"""

from __future__ import annotations

import re

from pickysteve.tasks.engines.redaction import StreamFilter

__all__ = ["PemFilter"]

BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
HEADER_LENGTH = 90
"""More than the longest header line."""


def _start_of(literal: str, rest: str) -> re.Pattern[str]:
    """A text that ends within the literal, or within what may follow it."""
    pattern = rest
    for character in reversed(literal[1:]):
        pattern = f"(?:{character}{pattern})?"
    return re.compile(literal[0] + pattern + r"\Z")


START_OF_BEGIN = _start_of("-----BEGIN", "(?: [A-Z0-9 ]*-{0,4})?")
START_OF_END = _start_of("-----END", "(?: [A-Z0-9 ]*-{0,4})?")

# Within a key: digits of base64; what parts its lines, also in a string, a quotation or a comment; a field.
DIGITS = re.compile(r"[A-Za-z0-9+/=]+")
GAP = re.compile(r"(?:\\[nrt]|[\s\"'\\,;>|#*])+")
FIELD = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID):")
FIELD_NAMES = ("Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:", "MessageID:")
FIELD_LINE = re.compile(r"[^\n\\]*")
WORD = re.compile(r"[A-Za-z]?[a-z]*")
FULL_LINE = 16
"""Digits that no ordinary word has: a line of a key, not its last one."""


class PemFilter(StreamFilter):
    """Takes out private keys: from the header line to the end line, or to what is no key any more."""

    def __init__(self) -> None:
        super().__init__()
        self._step = self._outside
        self._rest = ""
        """What could not be read yet; never longer than a header line."""
        self._pending: list[str] = []
        """What is given out when no key follows, or none goes on."""

    def feed(self, text: str) -> str:
        """All that is certain after this chunk."""
        return self._run(self._rest + text, final=False)

    def close(self) -> str:
        """The rest, when nothing more comes."""
        rest = self._run(self._rest, final=True) + "".join(self._pending)
        self._pending, self._step = [], self._outside
        return rest

    def _run(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        at = 0
        while at < len(text):
            step = self._step
            after = step(text, at, final, out)
            if (after, self._step) == (at, step):
                break  # nothing read and nothing decided: it takes more text
            at = after
        self._rest = text[at:]
        return "".join(out)

    # Each step reads on from a place and returns where the next one begins.

    def _outside(self, text: str, at: int, final: bool, out: list[str]) -> int:
        if found := BEGIN.search(text, at):
            out.append(text[at : found.start()])
            self._pending, self._step = [found[0]], self._after_header
            return found.end()
        opening = None if final else START_OF_BEGIN.search(text, max(at, len(text) - HEADER_LENGTH))
        keep = opening.start() if opening else len(text)
        out.append(text[at:keep])
        return keep

    def _after_header(self, text: str, at: int, final: bool, out: list[str]) -> int:
        if (gap := self._gap(text, at, final)) is not None:
            return gap
        if self._waits_for_field(text, at, final):
            return at
        digits = DIGITS.match(text, at)
        whole = final or (digits is not None and digits.end() < len(text))
        if digits is not None and len(digits[0]) < FULL_LINE and not whole:
            return at
        cut_off = digits is not None and digits.end() == len(text) and not WORD.fullmatch(digits[0])
        if FIELD.match(text, at) or (digits is not None and (len(digits[0]) >= FULL_LINE or cut_off)):
            out.append(self.redacted("private key"))
            self._pending, self._step = [], self._within
            return at
        return self._leave(at, out)

    def _within(self, text: str, at: int, final: bool, out: list[str]) -> int:
        if (gap := self._gap(text, at, final)) is not None:
            return gap
        if FIELD.match(text, at):
            self._step = self._field
            return at
        if self._waits_for_field(text, at, final):
            return at
        if text[at] == "-":
            return self._end(text, at, final, out)
        digits = DIGITS.match(text, at)
        if digits is None:
            return self._leave(at, out)
        if len(digits[0]) >= FULL_LINE:
            self._pending, self._step = [], self._line
            return digits.end()
        if digits.end() == len(text) and not final:
            return at
        # the last line is short; a word there is rather the text that follows a key without an end
        self._pending = [*self._pending, digits[0]] if WORD.fullmatch(digits[0]) else []
        self._step = self._last_line
        return digits.end()

    def _line(self, text: str, at: int, final: bool, out: list[str]) -> int:
        """The rest of a line that began before this chunk, or before this place."""
        digits = DIGITS.match(text, at)
        self._step = self._within if digits is None or digits.end() < len(text) else self._line
        return digits.end() if digits else at

    def _field(self, text: str, at: int, final: bool, out: list[str]) -> int:
        line = FIELD_LINE.match(text, at)
        end = line.end() if line else at
        self._pending = []
        if end < len(text):
            self._step = self._within
        return end

    def _last_line(self, text: str, at: int, final: bool, out: list[str]) -> int:
        if (gap := self._gap(text, at, final)) is not None:
            return gap
        if text[at] == "-":
            return self._end(text, at, final, out)
        digits = DIGITS.match(text, at)
        if digits is not None and len(digits[0]) >= FULL_LINE:
            self._step = self._within
            return at
        if digits is not None and digits.end() == len(text) and not final:
            return at
        return self._leave(at, out)

    # What the steps share.

    def _gap(self, text: str, at: int, final: bool) -> int | None:
        """The end of the gap here, or None; a backslash at the very end waits for its letter."""
        gap = GAP.match(text, at)
        if gap is None:
            return None
        end = gap.end()
        if end == len(text) and text[end - 1] == "\\" and not final:
            end -= 1
        self._pending.append(text[at:end])
        return end

    def _waits_for_field(self, text: str, at: int, final: bool) -> bool:
        rest = text[at : at + len("MessageID:")]
        return not final and any(name != rest and name.startswith(rest) for name in FIELD_NAMES)

    def _end(self, text: str, at: int, final: bool, out: list[str]) -> int:
        if found := END.match(text, at):
            self._pending, self._step = [], self._outside
            return found.end()
        if not final and len(text) - at < HEADER_LENGTH and START_OF_END.match(text, at):
            return at
        return self._leave(at, out)

    def _leave(self, at: int, out: list[str]) -> int:
        """No key, or none any more: what waited is text like any other."""
        out += self._pending
        self._pending, self._step = [], self._outside
        return at
