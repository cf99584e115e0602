"""Route: read the request as a search query, clauses with their roles, and possible halves.

Deterministic: it splits and labels, and adds no word of its own.
"""

from __future__ import annotations

import re

from pydantic import Field

from pickysteve.tasks.stage import StageConfig
from pickysteve.tasks.values import Clause, Cut, Request, Route

__all__ = ["RouteConfig", "cut_compound", "parse_request", "read_clauses"]


class RouteConfig(StageConfig):
    """Knobs of the router."""

    max_query_characters: int = Field(
        4000, ge=100, description="searched part of a long request: its start and end"
    )
    max_clauses: int = Field(24, gt=0, description="clauses weighed one by one")
    max_cuts: int = Field(2, ge=0, description="places where a request may fall into two jobs")
    min_half_words: int = Field(2, gt=0, description="a shorter half is no job of its own")


GAP = " ... "
SPACES = re.compile(r"[^\S\n]+")
SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s*[;—–\n]+\s*|\s+-{1,2}\s+")
CLAUSE_START = (
    "but|yet|and|so|even|although|though|despite|while|whereas|however|not|no|nor|without"
    "|the|we|our|i|it|they|which|there|every|all"
)
CLAUSE = re.compile(
    rf",\s+(?=(?:{CLAUSE_START})\b)"
    r"|\s+(?=(?:but|yet|even though|although|despite|whereas|however|rather than|instead of|without)\b)",
    re.IGNORECASE,
)

HEALTHY = (
    r"fine|healthy|ok|okay|normal|correct(?:ly)?|clean|green|fresh|idle|low|stable|unchanged|right|good"
    r"|perfect(?:ly)?|identical|valid|expected|up to date|below|under|flat|steady"
)
SEEMS = (
    r"is|are|was|were|looks?|seems?|stays?|remains?|stayed|works?|worked|working"
    r"|returns?|serves?|reports?|shows?|pass(?:es|ed)?"
)
# a remedy that was tried in vain, a cause that is denied; two patterns, as one would be quadratic
DENIAL = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|had|can|could|would|will)(?:n't|n’t| not)\b", re.IGNORECASE
)
DENIED = re.compile(
    r"\b(?:help|fix|solve|matter|change|improve|explain|affect|resolve"
    r"|the (?:issue|problem|cause|bottleneck))",
    re.IGNORECASE,
)
RULED_OUT = re.compile(
    r"\bno (?:difference|improvement|effect|change|luck|errors?|warnings?|exceptions?|sign|evidence|trace)\b"
    # a part that is in good health
    rf"|\b(?:{SEEMS})\b[^,;.]{{0,40}}\b(?:{HEALTHY})\b"
    # words that set something aside
    r"|\b(?:already|even (?:though|after|when|if)|despite|although|though|instead of|rather than|regardless"
    r"|not just|not because|nor|neither|rules? out|ruled out|without any|no matter|unlike|aside from"
    r"|apart from|other than)\b"
    r"|\bnot (?:a|an|the|about|in|on|from|due|related|caused)\b"
    r"|n[’']t (?:a|an|the)\b",
    re.IGNORECASE,
)

# where a request may fall into two jobs, the most telling joints first
CONNECTIVE = (
    r"also|then|separately|meanwhile|afterwards|besides|plus|next|additionally|in addition|on top of that"
    r"|after that|as well as"
)
JOINTS = (
    re.compile(
        r"(?<=[.!?;])\s+|\s*\n+\s*(?:[-*]|\d+[.)])?\s*|\s+\(?\d[.)]\s+"
        rf"|[,;]\s*(?:and\s+)?(?:{CONNECTIVE})\b[,:]?\s*|\s+(?:and\s+)(?:{CONNECTIVE})\s+"
        r"|\s+(?:plus|as well as)\s+",
        re.IGNORECASE,
    ),
    re.compile(r",\s*(?:and|so|but)\s+", re.IGNORECASE),
    re.compile(r"\s+(?:and|then|also)\s+|,\s+", re.IGNORECASE),
)
OPENING = re.compile(rf"\W*(?:and\s+)?(?:{CONNECTIVE}|and|next)\b", re.IGNORECASE)
AT_JOINT = re.compile(
    rf"\b(?:{CONNECTIVE}|second|two things|both|unrelated|another|the other|as well)\b|\b[12]\)",
    re.IGNORECASE,
)
EDGE = " ,.;:!?"


def read_clauses(text: str, limit: int) -> tuple[Clause, ...]:
    """Split into clauses; one is "ruled_out" when it denies a cause, a remedy or a fault."""
    parts = [part for sentence in SENTENCE.split(text) for part in CLAUSE.split(sentence)]
    parts = [_flat(part) for part in parts if re.search(r"\w", part)][:limit]
    roles = ["ruled_out" if _rules_out(part) else "ask" for part in parts]
    if "ask" not in roles:
        # a request made of denials alone still asks something
        roles = ["ask"] * len(parts)
    return tuple(Clause.model_validate({"text": p, "role": r}) for p, r in zip(parts, roles, strict=True))


def _rules_out(clause: str) -> bool:
    denial = DENIAL.search(clause)
    return bool(RULED_OUT.search(clause) or (denial and DENIED.search(clause, denial.end())))


def cut_compound(text: str, config: RouteConfig) -> tuple[Cut, ...]:
    """Places where the request may fall into two jobs; what the halves match decides whether it does."""
    cuts: list[Cut] = []
    for match in (match for joint in JOINTS for match in joint.finditer(text)):
        if len(cuts) >= config.max_cuts:
            break
        first, second = text[: match.start()].strip(EDGE), text[match.end() :].strip(EDGE)
        apart = all(abs(len(first) - len(cut.first)) > 3 for cut in cuts)
        if apart and _has_words(first, config.min_half_words) and _has_words(second, config.min_half_words):
            signalled = bool(OPENING.match(second) or AT_JOINT.search(text[len(first) : match.end() + 12]))
            cuts.append(Cut(first=_flat(first), second=_flat(second), signalled=signalled))
    return tuple(cuts)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _has_words(text: str, least: int) -> bool:
    return len(text.split(maxsplit=least)) >= least


def parse_request(request: Request, config: RouteConfig) -> Route:
    """Read the request; a long one is searched by its start and its end, where the ask usually is."""
    text = SPACES.sub(" ", request.text).strip()
    if len(text) > config.max_query_characters:
        half = (config.max_query_characters - len(GAP)) // 2
        query = f"{text[:half]}{GAP}{text[-half:]}"
        return Route(query=query, clauses=read_clauses(query, config.max_clauses))
    return Route(
        query=_flat(text), clauses=read_clauses(text, config.max_clauses), cuts=cut_compound(text, config)
    )
