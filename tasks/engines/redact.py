"""Redact: what must not leave in a model's output is taken out while it streams.

Boundary markers, private keys, secrets of known formats, values under a secret's name, and any of them
wrapped in base64. Three filters in a row; each holds back only what is not decided yet, so the outcome
does not depend on how the text was cut into chunks, and time is linear in its length.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator

from pickysteve.tasks.engines.redact_markers import MarkerFilter
from pickysteve.tasks.engines.redact_pem import PemFilter
from pickysteve.tasks.engines.redaction import StreamFilter
from pickysteve.tasks.engines.secret_formats import NAME, NAME_SUFFIX, SHORTEST, Span, find_secrets

__all__ = ["SecretFilter", "StreamingRedactor", "redact"]

RUN_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.~:"
"""Everything that a secret, or a name and its value without a space, is written with."""
_RUN = r"[A-Za-z0-9_\-+/=.~:]"
PIECE = re.compile(rf"(?P<run>{_RUN}+)|[^A-Za-z0-9_\-+/=.~:]+")
WORTH_A_LOOK = re.compile(
    rf"{_RUN}{{{SHORTEST},}}|(?i:key|secret|token|passw|passphrase|pwd|credential|bearer|basic)"
)


# How a run may go on behind a gap, and what such a gap is made of. Every start of one is one too.
GAPS = {
    "": re.compile(r"(?!)"),
    # a secret's name: its sign may follow, or the bracket of a tag and the value
    "named": re.compile(r"[ \t\"'`\])>]{1,16}"),
    # a name with its sign: the value may follow
    "assigned": re.compile(r"[ \t\"'`\])>]{1,16}"),
    # an option or an authentication scheme: the value may follow
    "spaced": re.compile(r"[ \t]{1,4}"),
    # a line of base64: another one may follow
    "wrapped": re.compile(r"[ \t]{0,8}\r?(?:\n[ \t]{0,8})?"),
}
TAIL = re.compile(
    rf"(?i:(?P<spaced>(?<![\w-])--[a-z-]{{0,20}}{NAME}|(?<![a-z0-9])(?:bearer|basic))"
    rf"|{NAME}{NAME_SUFFIX}(?P<sign>[=:]+)?|(?P<digits>[A-Za-z0-9+/_-]{{40}}))\Z"
)
TAIL_CHARACTERS = 80
SIGNS = re.compile(r"[=:]+")

BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}(?:[ \t]{0,8}\r?\n[ \t]{0,8}[A-Za-z0-9+/_-]+)*={0,2}")
PRINTABLE = bytes([9, 10, 13, *range(32, 127)])
MOSTLY = 0.9
MAX_WRAPPINGS = 2


class SecretFilter(StreamFilter):
    """Takes out secrets. It holds back a word until it ends, and a secret's name until its value ended."""

    def __init__(self, wrappings: int = MAX_WRAPPINGS) -> None:
        super().__init__()
        self._wrappings = wrappings
        self._segment: list[str] = []
        """Whole runs and gaps that are read together."""
        self._link = ""
        self._piece: list[str] = []
        """The run or gap that the last chunk ended in."""

    def feed(self, text: str) -> str:
        """All that is certain after this chunk."""
        out: list[str] = []
        at = 0
        while at < len(text):
            if not self._segment and not self._piece:
                plain = self._plain_until(text, at)
                out.append(text[at:plain])
                at = plain
            if found := PIECE.match(text, at):
                at = found.end()
                self._read(found[0], found["run"] is not None, at == len(text), out)
        return "".join(out)

    def close(self) -> str:
        """The rest, when nothing more comes."""
        out: list[str] = []
        if self._piece:
            self._take_held(out)
        self._finish(out)
        return "".join(out)

    def _plain_until(self, text: str, at: int) -> int:
        """Where the first run begins that is worth a look, or that may go on in the next chunk."""
        found = WORTH_A_LOOK.search(text, at)
        end = found.start() if found else len(text)
        return max(at, len(text[at:end].rstrip(RUN_CHARACTERS)) + at)

    def _read(self, piece: str, is_run: bool, unfinished: bool, out: list[str]) -> None:
        """Take a piece when it has ended. A gap has ended too when no secret goes on behind it."""
        if self._piece and _is_run(self._piece[0]) is not is_run:
            self._take_held(out)
        self._piece.append(piece)
        if not unfinished or not (is_run or self._links("".join(self._piece))):
            self._take_held(out)

    def _take_held(self, out: list[str]) -> None:
        piece, self._piece = "".join(self._piece), []
        if not _is_run(piece):
            if self._links(piece) and (self._link != "wrapped" or "\n" in piece):
                self._segment.append(piece)
            else:
                self._finish(out)
                out.append(piece)
            return
        if self._link == "named" and piece[0] not in "=:" and ">" not in self._segment[-1]:
            self._finish(out)
        self._link = self._link_behind(piece)
        self._segment.append(piece)
        if not self._link:
            self._finish(out)

    def _links(self, gap: str) -> bool:
        return GAPS[self._link].fullmatch(gap) is not None

    def _link_behind(self, run: str) -> str:
        if self._link == "named" and SIGNS.fullmatch(run):
            return "assigned"
        found = TAIL.search(run[-TAIL_CHARACTERS:])
        if found is None:
            return ""
        if found["spaced"] or found["digits"]:
            return "spaced" if found["spaced"] else "wrapped"
        return "assigned" if found["sign"] else "named"

    def _finish(self, out: list[str]) -> None:
        segment, self._segment, self._link = "".join(self._segment), [], ""
        if len(segment) < SHORTEST:
            out.append(segment)
            return
        at = 0
        for span in _joined([*find_secrets(segment), *self._wrapped(segment)]):
            out += [segment[at : span.start], self.redacted(span.kind)]
            at = span.end
        out.append(segment[at:])

    def _wrapped(self, segment: str) -> list[Span]:
        """Runs of base64 that decode to text with a secret in it, wrapped up to twice."""
        if not self._wrappings:
            return []
        runs = BASE64.finditer(segment)
        return [Span(m.start(), m.end(), "encoded secret") for m in runs if self._holds_secret(m[0])]

    def _holds_secret(self, digits: str) -> bool:
        for text in _decoded(digits):
            inner = StreamingRedactor(self._wrappings - 1)
            inner.feed(text)
            inner.close()
            if inner.found:
                return True
        return False


def _is_run(piece: str) -> bool:
    return piece[0] in RUN_CHARACTERS


def _joined(spans: list[Span]) -> list[Span]:
    """In order, with those that overlap as one; a known format names it."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.kind == "assigned value")):
        if joined and span.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return joined


def _decoded(digits: str) -> Iterator[str]:
    """What base64 says where that is text; what stands before it may have shifted its groups of four."""
    packed = "".join(digits.split()).rstrip("=").replace("-", "+").replace("_", "/")
    for shift in range(4):
        whole = packed[shift : len(packed) - ((len(packed) - shift) % 4 == 1)]
        data = b64decode(whole + "=" * (-len(whole) % 4))
        if data.count(0) * 3 >= len(data):
            data = data.replace(b"\0", b"")  # UTF-16
        if data and len(data.translate(None, PRINTABLE)) <= (1 - MOSTLY) * len(data):
            yield data.decode("ascii", "replace")


class StreamingRedactor:
    """Redacts a stream. Feed it the chunks of one output, give on what it returns, and close it."""

    def __init__(self, wrappings: int = MAX_WRAPPINGS) -> None:
        self._filters = (MarkerFilter(), PemFilter(), SecretFilter(wrappings))

    def feed(self, text: str) -> str:
        """All that is certain after this chunk; it may be empty."""
        for each in self._filters:
            text = each.feed(text)
        return text

    def close(self) -> str:
        """What was held back, when nothing more comes."""
        text = ""
        for each in self._filters:
            text = each.feed(text) + each.close()
        return text

    @property
    def found(self) -> Counter[str]:
        """How often each kind was taken out so far."""
        return sum((each.found for each in self._filters), Counter())


def redact(text: str) -> str:
    """A whole output with a label, such as [redacted: AWS key], in the place of what must not leave."""
    redactor = StreamingRedactor()
    return redactor.feed(text) + redactor.close()
