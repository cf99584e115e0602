"""Rules: patterns whose parts follow one another, searched in linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

__all__ = ["Rule", "Severity", "candidate_rules", "rule"]

Severity = Literal["review", "block"]
REACH = 300
"""Characters within which all parts of a rule have to stand."""


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
            if end - first.start() <= REACH:
                yield first.start(), end

    @cached_property
    def first_in_lines(self) -> re.Pattern[str]:
        """The first part, for a search of many lines at once."""
        return re.compile(self.parts[0].pattern, self.parts[0].flags | re.MULTILINE)


def candidate_rules(rules: Sequence[Rule], lines: Sequence[str]) -> list[list[Rule]]:
    """For each line, in order, the rules that may hold there: all that do, and a few that do not.

    One search of the joined lines finds the few lines that a rule has to look at.
    """
    joined = "\n".join(lines)
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    candidates: list[list[Rule]] = [[] for _ in lines]
    for each in rules:
        found = each.first_in_lines.search(joined)
        while found:
            at = bisect_right(starts, found.start()) - 1
            if at >= len(lines):
                break
            candidates[at].append(each)
            found = each.first_in_lines.search(joined, starts[at + 1])
    return candidates


def rule(name: str, severity: Severity, *parts: str) -> Rule:
    """A rule of patterns without regard to case."""
    return Rule(name, severity, tuple(re.compile(part, re.IGNORECASE) for part in parts))
