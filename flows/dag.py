"""The request DAG: one line a stage, in order. Whoever calls it says how a stage is run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from pickysteve.flows.settings import Settings
from pickysteve.registry.models import Verdict
from pickysteve.tasks.assemble import assemble
from pickysteve.tasks.clarify import clarify
from pickysteve.tasks.compat import compat
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.reranker import Calibration, Reranker
from pickysteve.tasks.execute import Executor, execute, unseen
from pickysteve.tasks.floor import floor
from pickysteve.tasks.gate import gate_documents, gate_request
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.judge_model import judge
from pickysteve.tasks.knowledge import knowledge
from pickysteve.tasks.log import check_writable, log, new_run_id
from pickysteve.tasks.rerank import rerank
from pickysteve.tasks.retrieve import retrieve
from pickysteve.tasks.roles import Roles
from pickysteve.tasks.route_model import route
from pickysteve.tasks.stage import Run, Stage
from pickysteve.tasks.values import Bundle, Candidate, Compatibility, Execution, Pick, Request, Trace

__all__ = ["STAGES", "Engines", "fingerprints", "pick_context"]

STAGES: tuple[Stage[Any], ...] = (
    gate_request,
    route,
    retrieve,
    gate_documents,
    rerank,
    floor,
    knowledge,
    judge,
    clarify,
    compat,
    assemble,
    execute,
    log,
)
"""All stages of a request, in order; some runs end before the last, and few ask a model to clarify."""


@dataclass(frozen=True)
class Engines:
    """The heavy things that the stages drive."""

    index: SearchIndex
    encoder: Embedder
    reranker: Reranker
    defender: Guard
    calibration: Calibration
    roles: Roles = field(default_factory=Roles)
    """Language models; all off unless they are configured."""
    show: Callable[[str], None] = unseen
    """Where the executor's answer is shown as it comes."""


@dataclass
class _Decision:
    """What the stages decided, as far as they came."""

    pick: Pick
    verdict: Verdict | None = None
    candidates: tuple[Candidate, ...] = ()
    compatibility: Compatibility | None = None
    bundle: Bundle = field(default_factory=Bundle)
    execution: Execution = field(default_factory=Execution)


def pick_context(request: Request, engines: Engines, settings: Settings, run: Run) -> Trace:
    """Pick the context for one request, and keep the record of how.

    Raises RunsUnwritable before any work when the record could not be kept.
    """
    check_writable(settings.runs_dir)
    started = time.perf_counter()
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    decision = _decide(request, engines, settings, run)
    trace = Trace(
        run_id=new_run_id(),
        ran=run.way,
        started_at=started_at,
        request=request,
        registry=engines.index.data.root,
        fingerprints=fingerprints(engines, settings),
        request_verdict=decision.verdict,
        candidates=decision.candidates,
        pick=decision.pick,
        compatibility=decision.compatibility,
        bundle=decision.bundle,
        execution=decision.execution,
        degraded=tuple(run.degraded),
        spent=tuple(run.spent),
        stages=tuple(run.records),
        milliseconds=round((time.perf_counter() - started) * 1000, 3),
    )
    run(log, trace, config=settings.log)
    return trace


def _decide(request: Request, engines: Engines, settings: Settings, run: Run) -> _Decision:
    index, encoder, defender, roles = engines.index, engines.encoder, engines.defender, engines.roles

    verdict = run(gate_request, request, using=(defender, roles.adjudicator), config=settings.gate)
    if not verdict.allowed:
        return _Decision(_blocked(verdict), verdict)
    routed = run(route, request, using=(roles.router,), config=settings.route)
    found = run(retrieve, request, routed, using=(index, encoder), config=settings.retrieve)
    gated = run(gate_documents, found, using=(index, defender, roles.auditor), config=settings.gate)
    if gated.aborted or (gated.refused and not gated.candidates):
        return _Decision(_refused(gated.refused), verdict, gated.refused)
    ranked = run(rerank, routed, gated, using=(index, engines.reranker), config=settings.rerank)
    pool = run(floor, ranked, using=(index, engines.calibration), config=settings.floor)
    notes = run(knowledge, pool, using=(index,), config=settings.knowledge)
    judges = (index, engines.calibration, roles.judge, roles.escalation)
    pick = run(judge, routed, pool, notes, using=judges, config=settings.judge)
    if pick.question and roles.clarifier.model:
        asking = (index, defender, roles.clarifier)
        asked = run(clarify, request, pool, pick, using=asking, config=settings.gate)
        pick = pick.model_copy(update={"question": asked.question or pick.question})
    compatibility = run(compat, pick, notes, using=(index, roles.compat), config=settings.compat)
    bundle = run(assemble, pick, using=(index,), config=settings.assemble)
    executor = Executor(roles.executor, engines.show)
    execution = run(execute, request, pick, bundle, using=(executor,), config=settings.execute)
    return _Decision(pick, verdict, ranked.candidates, compatibility, bundle, execution)


def _blocked(verdict: Verdict) -> Pick:
    reasons = tuple(f"the gate found {rule}" for rule in verdict.blocking_rules)
    return Pick(status="blocked_request", reasons=reasons)


def _refused(refused: tuple[Candidate, ...]) -> Pick:
    reasons = tuple(f"{candidate.unit_id} was refused by the gate" for candidate in refused)
    return Pick(status="blocked_retrieved", reasons=reasons)


def fingerprints(engines: Engines, settings: Settings) -> dict[str, str]:
    """Of everything that a request is answered with."""
    named = [getattr(engines.roles, each.name) for each in fields(engines.roles)]
    return {
        "index": engines.index.fingerprint,
        "encoder": engines.encoder.fingerprint,
        "reranker": engines.reranker.fingerprint,
        "gate": gate_fingerprint(engines.defender, settings.gate, engines.roles.auditor),
        "calibration": engines.calibration.fingerprint,
        **{role.name: role.fingerprint for role in named if role.model and role.name != "enricher"},
    }
