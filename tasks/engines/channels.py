"""Hidden channels: text that a reader cannot see and a model can."""

from __future__ import annotations

import re

from pickysteve.registry.models import Finding

__all__ = ["hidden_findings", "hidden_messages"]

TAGS = re.compile("[\U000e0020-\U000e007e]+")
FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
SELECTOR_RUN = re.compile(f"{SELECTORS.pattern}{{2,}}|[\U000e0100-\U000e01ef]")
ZERO_WIDTH = re.compile("[\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
OVERRIDDEN = re.compile("\u202e([^\u202c\u2069\n]{4,})")
WORDS = re.compile(r"[A-Za-z]{4,}|[A-Za-z]{2,}\W+[A-Za-z]{2,}")


def hidden_messages(text: str) -> dict[str, str]:
    """What each hidden channel of the original text says in words, by the name of its rule."""
    channels = {
        "hidden-tags": [_tag_block(text)],
        "hidden-selectors": [_selector_bytes(text)],
        "hidden-zero-width": _zero_width_bits(text),
        "bidi-override": [run[1][::-1] for run in OVERRIDDEN.finditer(text)],
    }
    return {
        rule: spoken[0]
        for rule, messages in channels.items()
        if (spoken := [message for message in messages if WORDS.search(message)])
    }


def hidden_findings(text: str) -> tuple[Finding, ...]:
    """A block for each hidden channel of the original text that decodes to words."""
    return tuple(
        Finding(rule=rule, severity="block", passage=message[:200])
        for rule, message in hidden_messages(text).items()
    )


def _tag_block(text: str) -> str:
    """The tag characters as the ASCII they mirror; flags of regions are not a message."""
    runs = TAGS.findall(FLAG.sub("", text))
    return "".join(chr(ord(character) - 0xE0000) for run in runs for character in run)


def _selector_bytes(text: str) -> str:
    """Variation selectors 1-256 as bytes; a lone one of the first 16 styles an emoji."""
    points = (ord(c) for run in SELECTOR_RUN.findall(text) for c in run)
    data = bytes(point - 0xFE00 if point < 0xFE10 else point - 0xE0100 + 16 for point in points)
    return data.decode("utf-8", "ignore")


def _zero_width_bits(text: str) -> list[str]:
    """Two kinds of zero-width characters as bits, read both ways, eight and seven to a character."""
    marks = ZERO_WIDTH.findall(text)
    common = sorted(set(marks), key=marks.count, reverse=True)[:2]
    if len(common) < 2:
        return []
    bits = "".join(str(common.index(mark)) for mark in marks if mark in common)
    flipped = bits.translate({48: 49, 49: 48})
    views = [_ascii(view, width) for view in (bits, flipped) for width in (8, 7)]
    # Joiners of ordinary scripts spell nothing printable; a payload is printable throughout.
    return [view for view in views if len(view) >= 4 and view.isprintable()]


def _ascii(bits: str, width: int) -> str:
    return "".join(chr(int(bits[i : i + width], 2)) for i in range(0, len(bits) - width + 1, width))
