"""Defence: a short question that quotes an attack in order to ask about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pickysteve.registry.models import Finding
from pickysteve.tasks.engines.channels import hidden_findings

__all__ = ["is_defence_question", "unquoted"]

QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|`[^`\n]{1,400}`|«[^»\n]{1,400}»")
DEFENCE = re.compile(
    r"\b(?:detect\w*|prevent\w*|defen[cds]\w*|mitigat\w*|protect\w*|scanner|filter|classif\w+|guard\w*|malicious"
    r"|attacker\w*|attack|injection|dangerous|security|untrusted|explain|rule|test|log|logs|paper|block\w*|catch)\b",
    re.IGNORECASE,
)
MAX_QUESTION = 1_000


def is_defence_question(text: str, findings: Sequence[Finding]) -> bool:
    """Whether a short question quotes what it asks about; nothing hidden and nothing unread is excused."""
    rest = unquoted(text)
    hidden = {finding.rule for finding in hidden_findings(text)} | {"not-covered"}
    asks = bool(DEFENCE.search(rest)) and ("?" in rest or rest.lstrip()[:7].lower() == "explain")
    short = len(text) <= MAX_QUESTION and rest != text
    return short and asks and not hidden & {finding.rule for finding in findings}


def unquoted(text: str) -> str:
    """The text without its quotations."""
    return QUOTED.sub(" ", text)
