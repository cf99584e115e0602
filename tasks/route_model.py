"""Route by a model: further search queries for a request, in other words than its own.

They are only searched with. The request as it was asked stays what is reranked and judged, so a model
that fails, or writes nonsense, costs recall at worst.
"""

from __future__ import annotations

from pydantic import Field

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, Role
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.stage import stage
from pickysteve.tasks.values import Request, Route

__all__ = ["Queries", "route", "route_with_model"]

QUERY_CHARACTERS = 200


class Queries(Value):
    """What the model would search for."""

    query: str = Field(max_length=2_000)
    sub_queries: tuple[str, ...] = Field(max_length=3)
    tags: tuple[str, ...] = Field(max_length=12)


def route_with_model(request: Request, role: Role, config: RouteConfig) -> Route:
    """Read the request without a model, and add a model's search queries where there is one."""
    plain = parse_request(request, config)
    if role.model is None:
        return plain
    try:
        reply = role.ask({"request": plain.query}, Queries)
    except ModelUnavailable as failed:
        degraded = f"searched with the request alone: {failed}"
        return plain.model_copy(update={"degraded": degraded, "spent": role.lost(failed)})
    answer = reply.answer
    # tags are words without a sentence, so they go with the query that they belong to
    written = (f"{answer.query} {' '.join(answer.tags)}", *answer.sub_queries)
    searches = tuple(dict.fromkeys(flat for text in written if (flat := _flat(text))))
    return plain.model_copy(
        update={"searches": searches, "origin": "model", "spent": role.spent(reply.usage)}
    )


def _flat(text: str) -> str:
    return " ".join(text.split())[:QUERY_CHARACTERS]


route = stage("route", route_with_model, cached=True, timeout_seconds=MODEL_STAGE_SECONDS)
