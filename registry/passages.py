"""Cut a body into passages: sentences where it is short, groups of sentences where it is long."""

from __future__ import annotations

import re

__all__ = ["passages"]

# a body of up to TARGET_COUNT * MIN_WORDS words is read sentence by sentence
MIN_WORDS = 6
MAX_WORDS = 150
TARGET_COUNT = 48

BREAK = re.compile(r"(?<=[.!?;:])\s+|\n+")
MARKUP = re.compile(r"^[\s#>*|`_=~+-]+|(?<![\s|`*])[\s|`*]+$")


def passages(body: str) -> tuple[str, ...]:
    """Consecutive sentences joined until each passage holds enough words; markup marks are stripped."""
    sentences = [part for raw in BREAK.split(body) if re.search(r"\w", part := MARKUP.sub("", raw))]
    words = sum(len(sentence.split()) for sentence in sentences)
    target = min(max(words // TARGET_COUNT, MIN_WORDS), MAX_WORDS)
    joined: list[str] = []
    current: list[str] = []
    held = 0
    for sentence in sentences:
        current.append(sentence)
        held += len(sentence.split())
        if held >= target:
            joined.append(" ".join(current))
            current, held = [], 0
    if current:
        joined.append(" ".join(current))
    return tuple(joined)
