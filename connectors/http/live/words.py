"""Words: the twelve stages in order, and what each gave in a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pickysteve.registry.models import Verdict
from pickysteve.tasks.assemble import assemble
from pickysteve.tasks.compat import compat
from pickysteve.tasks.execute import execute
from pickysteve.tasks.floor import floor
from pickysteve.tasks.gate import gate_documents, gate_request
from pickysteve.tasks.judge_model import judge
from pickysteve.tasks.knowledge import knowledge
from pickysteve.tasks.log import log
from pickysteve.tasks.rerank import rerank
from pickysteve.tasks.retrieve import retrieve
from pickysteve.tasks.route_model import route
from pickysteve.tasks.values import Bundle, Candidates, Compatibility, Execution, Notes, Pick, Pool, Route

__all__ = ["STAGES", "stage_words"]


def stage_words(stage: str, output: Any) -> str:
    """What a stage gave. No text of a request, a skill or a model is in it, but for skill ids."""
    say = _WORDS.get(stage)
    return say(output) if say else ""


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(part for part in parts if part)


def _gated(verdict: Verdict) -> str:
    if not verdict.allowed:
        return f"blocked: {', '.join(verdict.blocking_rules)}"
    return f"allowed, risk {verdict.risk} ({verdict.score:.2f})"


def _routed(route: Route) -> str:
    ruled_out = sum(clause.role == "ruled_out" for clause in route.clauses)
    return _joined(
        [
            _count(len(route.clauses), "clause"),
            f"{ruled_out} ruled out" if ruled_out else "",
            _count(len(route.cuts), "place") + " to cut in two" if route.cuts else "one job",
        ]
    )


def _found(found: Candidates) -> str:
    return f"found {len(found.candidates)}"


def _judged(found: Candidates) -> str:
    kept = f"allowed {len(found.candidates)}, refused {len(found.refused)}"
    return f"{kept}: stopped, as the policy says" if found.aborted else kept


def _ranked(found: Candidates) -> str:
    best = next(iter(found.candidates), None)
    return f"best is {best.skill_id}, {best.score or 0:.2f}" if best else "nothing to rank"


def _pooled(pool: Pool) -> str:
    kept = f"kept {len(pool.options)}, dropped {len(pool.dropped)}"
    return f"{kept}; floor {pool.floor:.2f}, set of {len(pool.prediction_set)}"


def _noted(notes: Notes) -> str:
    known = [note for note in notes.notes if note.not_for or note.confused_with or note.contrasts]
    told_apart = sum(bool(note.contrasts) for note in notes.notes)
    return _joined([_count(len(known), "note"), f"{told_apart} with a contrast" if told_apart else ""])


def _picked(pick: Pick) -> str:
    if pick.status != "ok":
        return "abstained"
    named = " + ".join(pick.skills)
    return f"{named}, or another of {len(pick.prediction_set)}" if pick.ambiguous else named


def _together(found: Compatibility) -> str:
    return "nothing to compare" if found.state == "single" else found.state


def _assembled(bundle: Bundle) -> str:
    return _count(len(bundle.text), "character") if bundle.text else "nothing to hand over"


def _executed(execution: Execution) -> str:
    return "off: the bundle goes to the caller" if execution.state == "off" else execution.state


_WORDS: dict[str, Callable[[Any], str]] = {
    gate_request.name: _gated,
    route.name: _routed,
    retrieve.name: _found,
    gate_documents.name: _judged,
    rerank.name: _ranked,
    floor.name: _pooled,
    knowledge.name: _noted,
    judge.name: _picked,
    compat.name: _together,
    assemble.name: _assembled,
    execute.name: _executed,
    log.name: lambda _: "kept as Parquet",
}
STAGES = tuple(_WORDS)
"""What a page shows from the start. A model is seldom asked for a question, and that stage is added then."""
