"""Rules: patterns whose parts follow one another, searched in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Rule", "Severity", "rule"]

Severity = Literal["review", "block"]


@dataclass(frozen=True)
class Rule:
    """A directive: its parts follow one another within a sentence, or within a few lines of code."""

    name: str
    severity: Severity
    parts: tuple[re.Pattern[str], ...]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the directive stands. Linear: a part that is not ahead is not ahead of a later start."""
        for first in self.parts[0].finditer(text):
            end = first.end()
            for part in self.parts[1:]:
                found = part.search(text, end)
                if found is None:
                    return
                end = found.end()
            yield first.start(), end


def rule(name: str, severity: Severity, *parts: str) -> Rule:
    """A rule of patterns without regard to case."""
    return Rule(name, severity, tuple(re.compile(part, re.IGNORECASE) for part in parts))
