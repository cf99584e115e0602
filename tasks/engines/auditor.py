"""Auditor: what does a document tell the assistant itself to do?

Speech acts find the directives by their meaning, rules for text and code by their wording. Some refuse
a document alone; the others are weighed together. A text that quotes, forbids or describes a directive
does not give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pickysteve.registry.models import Finding
from pickysteve.tasks.engines.code_rules import CODE_RULES
from pickysteve.tasks.engines.directives import ACTS, directives
from pickysteve.tasks.engines.reported import (
    governed_sentences,
    is_described,
    is_quoted,
    is_reported,
    pieces,
)
from pickysteve.tasks.engines.rules import candidate_rules
from pickysteve.tasks.engines.text_rules import RULES

__all__ = ["SAYS", "audit_document", "soft_rules"]

CODE_LINES = 12
# A table or a list of options says what a setting does: that is for review, and no order.
SETTINGS = frozenset({"disable-checks", "grants-access", "self-authorised", "no-asking", "override"})
SAYS = re.compile(r"\w\w")
"""What holds no word of two letters tells nobody to do anything."""
# A heading, or a comment in code, names what follows.
TITLE = re.compile(r"\s*(?:#|//)")
OPTION = re.compile(r"\s*(?:\||[-*+]?\s*`[^`]{1,80}`\s*(?:[-–—:|(]|$))")


def audit_document(prepared: str) -> tuple[Finding, ...]:
    """What the text tells the assistant to do, rule by rule, with the sentence or the lines."""
    return tuple(dict.fromkeys([*_directives(prepared), *_code(prepared)]))


def _directives(prepared: str) -> Iterator[Finding]:
    stated = {s: None for s, governed in governed_sentences(prepared) if not governed and SAYS.search(s)}
    for sentence, rules in zip(stated, candidate_rules(RULES, list(stated)), strict=True):
        named = bool(TITLE.match(sentence))
        listed = named or bool(OPTION.match(sentence))
        for act, start, head, end in directives(sentence):
            quoted = is_quoted(sentence, head) and act.head != "bypassflag"
            if not quoted and not is_described(sentence, start, end):
                severity = "review" if named or (listed and act.name in SETTINGS) else act.severity
                yield Finding(rule=act.name, severity=severity, passage=sentence[:200])
        for rule in rules:
            if any(not is_reported(sentence, start, end) for start, end in rule.spans(sentence)):
                severity = "review" if listed and rule.name in SETTINGS - {"override"} else rule.severity
                yield Finding(rule=rule.name, severity=severity, passage=sentence[:200])


def _code(prepared: str) -> Iterator[Finding]:
    """Rules for code look at a few lines at a time, because a statement spans them."""
    possible = [rule for rule in CODE_RULES if rule.first_in_lines.search(prepared)]
    lines = prepared.split("\n") if possible else []
    for first in range(0, max(len(lines) - CODE_LINES // 2, 1), CODE_LINES // 2):
        for piece in pieces("\n".join(lines[first : first + CODE_LINES])):
            for rule in possible:
                for start, end in rule.spans(piece):
                    before = piece[piece.rfind("\n", 0, start) + 1 : start]
                    if not is_reported(before + piece[start:end], len(before), len(before) + end - start):
                        yield Finding(rule=rule.name, severity=rule.severity, passage=piece[start:end][:200])


def soft_rules() -> tuple[str, ...]:
    """The names of the rules that refuse nothing alone, in order."""
    every = (*RULES, *CODE_RULES, *ACTS)
    return tuple(dict.fromkeys(rule.name for rule in every if rule.severity == "review"))
