"""Route: read the request as a search query, clauses with their roles, and sub-queries.

Deterministic: it splits and labels, and adds no word of its own.
"""

from __future__ import annotations

import re

from pydantic import Field

from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Clause, Request, Route

__all__ = ["RouteConfig", "parse_request", "read_clauses", "route", "split_compound"]


class RouteConfig(StageConfig):
    """Knobs of the router."""

    max_query_characters: int = Field(
        4000, gt=0, description="searched part of a long request: its start and end"
    )
    max_clauses: int = Field(24, gt=0, description="clauses weighed one by one")
    max_sub_queries: int = Field(3, ge=2, le=5, description="parts of a compound request")
    min_part_words: int = Field(3, gt=0, description="a shorter part is no request of its own")


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
RULED_OUT = re.compile(
    # a remedy that was tried in vain, a cause that is denied
    r"\b(?:do|does|did|is|are|was|were|has|have|had|can|could|would|will)(?:n't|n’t| not)\b.*"
    r"\b(?:help|fix|solve|matter|change|improve|explain|affect|resolve|the (?:issue|problem|cause|bottleneck))"
    r"|\bno (?:difference|improvement|effect|change|luck|errors?|warnings?|exceptions?|sign|evidence|trace)\b"
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

# verbs that open a new job; after a bare "and" only they can start one
JOB = (
    r"add|analy[sz]e|audit|build|calculate|check|clean|compare|configure|convert|create|debug|deploy|design"
    r"|diagnose|draft|edit|estimate|explain|find|fix|generate|give|help|identify|implement|improve|investigate"
    r"|make|measure|migrate|optimi[sz]e|plan|prepare|profile|propose|recommend|refactor|release|replace|review"
    r"|rewrite|scan|schedule|set up|setup|show|speed|suggest|summari[sz]e|tell|test|translate|tune|turn"
    r"|update|upgrade|verify|work out|write"
)
JOIN = re.compile(
    r"(?:[,;.!?]\s*|\s+)(?:and|then|plus|also|additionally|in addition|besides|after that|afterwards|separately)"
    r"(?:\s+(?:and|then|also|afterwards|after that|separately))*[,:]?\s+"
    r"|[.!?;]\s+|\s*\n+\s*(?:[-*]|\d+[.)])?\s*|\s*\(?\b\d[.)]\s+",
    re.IGNORECASE,
)


def read_clauses(text: str, limit: int) -> tuple[Clause, ...]:
    """Split into clauses; one is "ruled_out" when it denies a cause, a remedy or a fault."""
    parts = [part for sentence in SENTENCE.split(text) for part in CLAUSE.split(sentence)]
    parts = [" ".join(part.split()) for part in parts if re.search(r"\w", part)][:limit]
    roles = ["ruled_out" if RULED_OUT.search(part) else "ask" for part in parts]
    if "ask" not in roles:
        # a request made of denials alone still asks something
        roles = ["ask"] * len(parts)
    return tuple(Clause.model_validate({"text": p, "role": r}) for p, r in zip(parts, roles, strict=True))


def split_compound(text: str, config: RouteConfig) -> tuple[str, ...]:
    """Parts that could be jobs of their own; whether they are is decided by what they retrieve."""
    parts = [" ".join(part.split()).strip(" ,.;:!?") for part in JOIN.split(text)]
    parts = [part for part in parts if len(part.split()) >= config.min_part_words]
    if not 2 <= len(parts) <= config.max_sub_queries:
        return ()
    return tuple(parts)


def parse_request(request: Request, config: RouteConfig) -> Route:
    """Read the request; a long one is searched by its start and its end, where the ask usually is."""
    text = " ".join(request.text.split()) if len(request.text) < config.max_query_characters else ""
    half = config.max_query_characters // 2
    query = text or f"{request.text[:half]} ... {request.text[-half:]}"
    return Route(
        query=query,
        clauses=read_clauses(request.text[-len(query) :] if text else query, config.max_clauses),
        sub_queries=split_compound(request.text, config) if text else (),
    )


route = stage("route", parse_request, cached=True)
