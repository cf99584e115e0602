"""What the page of a request run shows in Prefect's UI: its name, its state, and two artifacts.

The UI renders markdown, every cell of a table too, and keeps `javascript:` links, remote images and HTML.
Ids, questions and rules are other people's words, so they are made inert; longer texts are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import ArtifactCreate

from pickysteve.registry.models import Verdict
from pickysteve.registry.slugs import plain_words
from pickysteve.tasks.partitions import trace_path
from pickysteve.tasks.values import Candidates, Pool, StageOutput, Status, Trace

__all__ = [
    "STATE_NAMES",
    "candidate_rows",
    "decision_markdown",
    "hash_name",
    "inert",
    "publish",
    "result_name",
    "run_artifacts",
    "state_message",
]

STATE_NAMES: dict[Status, str] = {
    "ok": "Picked",
    "no_confident_match": "NoConfidentMatch",
    "blocked_request": "BlockedRequest",
    "blocked_retrieved": "BlockedRetrieved",
}
LONGEST_ID = 100
LONGEST_SENTENCE = 300

# words, with a mark inside of one or behind it that means nothing there: neither a link nor a list
WORD = r"[^\W_]+(?:(?:[-_/]|(?<=\d)[.,](?=\d))[^\W_]+)*"
PLAIN = re.compile(rf"{WORD}(?:(?:[,:]|(?<=[^\W\d_])\.)? {WORD})*(?:\?|(?<=[^\W\d_])\.)?")

Out = TypeVar("Out", bound=StageOutput)


def hash_name(request: str) -> str:
    """The start of the request's SHA-256: a run's name tells equal requests, not their text."""
    return sha256(request.encode(errors="replace")).hexdigest()[:12]


def result_name(trace: Trace) -> str:
    """The hash and the result, as a finished run is named."""
    result = " + ".join(trace.pick.skills) or trace.pick.status.replace("_", " ")
    return f"{hash_name(trace.request.text)} {plain_words(result, LONGEST_ID)}"


def state_message(trace: Trace) -> str:
    """The picks, what is doubtful of them, and which stages fell back; no reason, as it may quote a host."""
    picks = [plain_words(skill, LONGEST_ID) for skill in trace.pick.skills] or ["none"]
    fallen = [f"{stage} fell back" for stage in _fallen(trace)]
    return ", ".join([*picks, *_doubts(trace), *fallen])


def inert(text: str, longest: int = LONGEST_ID) -> str:
    """Other people's words for markdown: as they are where they are plain words, else as a code span.

    A backslash would not do: GitHub's markdown, as the second UI reads it, makes a link of whatever looks
    like an address after the escapes are gone, and only a code span is left alone.
    """
    line = plain_words(text, longest).strip().replace("`", "'")
    is_plain = PLAIN.fullmatch(line) and "www" not in line.lower()
    return line if is_plain or not line else f"`{line}`"


def candidate_rows(trace: Trace) -> list[dict[str, Any]]:
    """One row for each retrieved unit, best first: its scores, and what became of it."""
    pool = _output(trace, "floor", Pool)
    gated = _output(trace, "gate-documents", Candidates)
    refused = gated.refused if gated else ()
    known = {candidate.unit_id for candidate in refused}
    ranked = [candidate for candidate in trace.candidates if candidate.unit_id not in known]
    return [
        {
            "skill": inert(candidate.skill_id),
            "unit": inert(candidate.unit_id),
            "outcome": _refusal(candidate.verdict)
            if candidate.unit_id in known
            else _fate(candidate.skill_id, trace, pool),
            "score": candidate.score,
            "bm25": candidate.bm25,
            "cosine": candidate.dense,
            "fused rank": candidate.fused_rank,
            "gate": candidate.verdict.risk if candidate.verdict else "",
        }
        for candidate in (*ranked, *refused)
    ]


def _refusal(verdict: Verdict | None) -> str:
    """Which rules refused a unit; not the passages that they found."""
    rules = _rules(verdict)
    return f"refused by the gate: {rules}" if rules else "refused by the gate"


def _fate(skill_id: str, trace: Trace, pool: Pool | None) -> str:
    if skill_id in trace.pick.skills:
        return "picked"
    if pool is None:
        return "not ranked, as the run ended before"
    if skill_id in pool.dropped:
        return inert(pool.dropped[skill_id], LONGEST_SENTENCE)
    return (
        "over the floor, another one was picked" if trace.pick.skills else "over the floor, none was picked"
    )


def run_artifacts(
    trace: Trace, runs_dir: Path, flow_run_id: UUID | str
) -> tuple[ArtifactCreate, ArtifactCreate]:
    """What a run shows: the candidates as a table, and the decision in words."""
    about = {"flow_run_id": UUID(str(flow_run_id)), "description": f"Run {trace.run_id}"}
    table = json.dumps(candidate_rows(trace))
    return (
        ArtifactCreate(key="candidates", type="table", data=table, **about),
        ArtifactCreate(key="decision", type="markdown", data=decision_markdown(trace, runs_dir), **about),
    )


def publish(artifact: ArtifactCreate, client: SyncPrefectClient) -> None:
    """Put an artifact on its run's page. Prefect's own call also sends an event, which nobody reads."""
    client.request("POST", "/artifacts/", json=artifact.model_dump(mode="json", exclude_unset=True))


def decision_markdown(trace: Trace, runs_dir: Path) -> str:
    """The decision in words, and where the whole record is."""
    pick = trace.pick
    picks = " + ".join(map(inert, pick.skills))
    lines = [f"## {picks or pick.status.replace('_', ' ').capitalize()}", "", *_items(_facts(trace))]
    record = trace_path(trace, runs_dir.resolve()).as_uri()
    command = f"`pickysteve runs show {trace.run_id}`"
    lines += [
        "",
        f"Record: [{trace.run_id}.parquet]({record}), which a compaction merges into that day's file; "
        f"{command} finds it in both. Scores measure topical similarity, not correctness.",
    ]
    return "\n".join(lines)


def _items(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- {name}: {value}" for name, value in facts if value]


def _facts(trace: Trace) -> Iterable[tuple[str, str]]:
    pick, compatibility = trace.pick, trace.compatibility
    pool = _output(trace, "floor", Pool)
    yield "State", STATE_NAMES[pick.status]
    yield "Gate", _gate_words(trace)
    yield "Confidence", _confidence_words(trace)
    yield "Doubts", ", ".join(_doubts(trace))
    yield from _pool_facts(trace, pool)
    yield "Prediction set", _ids(pick.prediction_set)
    yield "Question back", inert(pick.question, LONGEST_SENTENCE)
    yield "Fell back to a weaker method", _ids(_fallen(trace))
    if compatibility and compatibility.state != "single":
        yield "Compatibility", compatibility.state
    if trace.bundle.text:
        yield "Bundle", f"{len(trace.bundle.text):,} characters"
    for spent in trace.spent:
        price = "" if spent.cost is None else f", cost {spent.cost:g}"
        tokens = f"{spent.prompt_tokens:,} tokens read, {spent.answer_tokens:,} written{price}"
        yield f"Model for {inert(spent.role)}", tokens
    yield "Took", f"{trace.milliseconds:.0f} ms"


def _gate_words(trace: Trace) -> str:
    if trace.pick.status == "blocked_request":
        return f"refused the request: {_rules(trace.request_verdict)}"
    if trace.pick.status == "blocked_retrieved":
        return f"refused what was found: {_ids([c.unit_id for c in trace.candidates])}"
    return ""


def _confidence_words(trace: Trace) -> str:
    share = trace.pick.confidence
    if share is None:
        return ""
    # a curve that was fitted to some hundred picks promises no certainty
    words = "over 99%" if share > 0.99 else f"about {share:.0%}"
    return f"{words} of the first picks at such a score were right in the calibration data"


def _pool_facts(trace: Trace, pool: Pool | None) -> Iterable[tuple[str, str]]:
    if pool is None:
        return
    for option in (option for option in pool.options if option.skill_id in trace.pick.skills):
        yield f"Score of {inert(option.skill_id)}", f"{option.score:.2f}"
    yield "Runner-up" if trace.pick.skills else "Nearest", _runner_up(trace, pool)
    yield "Floor", f"{pool.floor:.2f}"


def _runner_up(trace: Trace, pool: Pool) -> str:
    """The best skill that was not picked; a copy over the floor is none, as its twin stands for it."""
    over = {option.skill_id for option in pool.options}
    scores = [
        (candidate.score or 0.0, candidate.skill_id)
        for candidate in trace.candidates
        if candidate.skill_id not in trace.pick.skills
    ]
    chances = [(score, skill_id) for score, skill_id in scores if skill_id in over or score < pool.floor]
    if not chances:
        return ""
    score, skill_id = max(chances)
    where = "over" if skill_id in over else "under"
    return f"{inert(skill_id)}, score {score:.2f}, {where} the floor"


def _doubts(trace: Trace) -> list[str]:
    pick = trace.pick
    marks = {"ambiguous": pick.ambiguous, "low_confidence": pick.low_confidence}
    return [name for name, is_set in marks.items() if is_set]


def _fallen(trace: Trace) -> list[str]:
    return list(dict.fromkeys(degradation.stage for degradation in trace.degraded))


def _ids(names: Sequence[str]) -> str:
    return ", ".join(map(inert, names))


def _rules(verdict: Verdict | None) -> str:
    return _ids(verdict.blocking_rules if verdict else ())


def _output(trace: Trace, stage: str, kind: type[Out]) -> Out | None:
    """What a stage gave in this run; None where the run ended before it."""
    records = (record for record in trace.stages if record.stage == stage)
    return next((kind.model_validate(record.output) for record in records), None)
