"""The values that travel through the request flow, in the order they appear."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pickysteve.registry.models import Value, Verdict

__all__ = [
    "Bundle",
    "Candidate",
    "Candidates",
    "Clause",
    "Compatibility",
    "Contrast",
    "Cut",
    "Degradation",
    "Execution",
    "Mark",
    "Note",
    "Notes",
    "Option",
    "Pick",
    "Pool",
    "Question",
    "Request",
    "Route",
    "Spent",
    "StageOutput",
    "StageRecord",
    "Status",
    "Trace",
    "Way",
]

Status = Literal["ok", "no_confident_match", "blocked_request", "blocked_retrieved"]
Way = Literal["direct", "orchestrated"]
Role = Literal["ask", "context", "ruled_out"]


class Mark(Value):
    """An object of its own, for Prefect to follow."""


class Spent(Value):
    """What a model was asked for and took."""

    role: str
    model: str = ""
    prompt_tokens: int
    answer_tokens: int
    cost: float | None = None
    """In the currency of the configured prices; None where the model has no price."""


class StageOutput(Value):
    """What a stage returns; it says so itself when the stage fell back."""

    mark: Mark = Field(default_factory=Mark, exclude=True, repr=False)
    """Draws the edge to the next stage in Prefect, which would otherwise visit every field of every value."""

    degraded: str = ""
    """Why the stage fell back to a weaker method; empty when it did not."""

    spent: tuple[Spent, ...] = ()
    """Calls of language models; a result from the cache spent nothing now."""


class Request(Value):
    """What somebody asked, with the skills they do not want."""

    text: str
    exclude: tuple[str, ...] = ()


class Clause(Value):
    """A piece of the request and the part it plays."""

    text: str
    role: Role


class Cut(Value):
    """A place where the request may fall into two jobs."""

    first: str
    second: str
    signalled: bool
    """Words such as "also" or "separately" stand at the joint."""


class Route(StageOutput):
    """The request as the searcher and the reranker read it."""

    query: str
    clauses: tuple[Clause, ...]
    cuts: tuple[Cut, ...] = ()
    searches: tuple[str, ...] = ()
    """Further search queries, by a model that read the request; the request itself stays the query."""
    origin: str = "deterministic"

    @property
    def halves(self) -> tuple[str, ...]:
        """First and second half of each cut, in order: the sub-queries."""
        return tuple(half for cut in self.cuts for half in (cut.first, cut.second))


class Candidate(Value):
    """One retrieved unit with the scores that it collected on the way."""

    unit_id: str
    skill_id: str
    bm25: float
    dense: float
    """Cosine with the nearest vector of the unit or of its skill's examples."""
    fused_rank: int
    verdict: Verdict | None = None
    score: float | None = None
    """The reranker's calibrated score in [0, 1]: topical similarity, not correctness."""
    part_scores: tuple[float, ...] = ()
    """The same for both halves of each cut of the route; 0 for halves that were not worth reading."""
    features: dict[str, float] = Field(default_factory=dict)


class Candidates(StageOutput):
    """Retrieved units, best first, with what the document gate refused of them."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Candidate, ...] = ()
    aborted: bool = False


class Option(Value):
    """One skill of the pool: its best unit stands for it."""

    skill_id: str
    unit_ids: tuple[str, ...]
    score: float
    share: float
    """Its part of the probability mass of pool and "none of these"; the masses sum to 1."""
    part_scores: tuple[float, ...] = ()


class Pool(StageOutput):
    """The skills that cleared the floor, best first, and how the rest fell."""

    options: tuple[Option, ...]
    prediction_set: tuple[str, ...] = ()
    """Skills that together reach the calibrated coverage, best first, under the floor or not."""
    nearest: tuple[Option, ...] = ()
    """The best skills under the floor, for the clarifying question."""
    floor: float = 0.0
    dropped: dict[str, str] = Field(default_factory=dict)


class Contrast(Value):
    """What tells a skill from another one that it is confused with."""

    other: str
    distinguisher: str = ""
    signal: str = ""
    """What a request for this one says."""
    other_signal: str = ""
    confirmed: bool = False
    """By people; else it was suggested from how near the two are."""


class Note(Value):
    """What the registry knows of a skill beside its text."""

    skill_id: str
    not_for: str = ""
    confused_with: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    """With other skills of the pool."""


class Notes(StageOutput):
    """A note for each skill of the pool that has one."""

    notes: tuple[Note, ...] = ()


class Pick(StageOutput):
    """The judge's decision, in ids and in words."""

    status: Status
    skills: tuple[str, ...] = ()
    prediction_set: tuple[str, ...] = ()
    confidence: float | None = None
    """Share of right first picks at this best score in the calibration data; None where it is not known."""
    low_confidence: bool = False
    ambiguous: bool = False
    question: str = ""
    reasons: tuple[str, ...] = ()
    shortlist: dict[str, str] = Field(default_factory=dict)
    """For an ambiguous pick or an abstention: a line for each skill of the prediction set that may fit."""


class Question(StageOutput):
    """What to ask whoever asked; empty when the question of the pick stands."""

    question: str = ""


class Compatibility(StageOutput):
    """Whether two picked skills may stand together. It flags; it never merges."""

    state: Literal["single", "compatible", "conflict", "unknown"]
    reason: str = ""


class Bundle(StageOutput):
    """The text to hand over, bounded by a nonce that is new for every call."""

    nonce: str = ""
    text: str = ""


class Execution(StageOutput):
    """What the executor answered, where one is configured."""

    state: Literal["off", "done", "failed"] = "off"
    answer: str = ""


class Degradation(Value):
    """A stage that fell back, and why."""

    stage: str
    reason: str


class StageRecord(Value):
    """One stage as it ran: inputs are the outputs of the stages before it."""

    stage: str
    milliseconds: float
    output: dict[str, Any]
    cached: bool = False


class Trace(Value):
    """Everything about one run, as it is logged and returned."""

    run_id: str
    flow: str = "request"
    ran: Way | Literal[""] = ""
    """How the stages were run; empty in records of version 0.2.0 and before."""
    started_at: str
    request: Request
    registry: str
    fingerprints: dict[str, str]
    request_verdict: Verdict | None = None
    candidates: tuple[Candidate, ...] = ()
    pick: Pick
    compatibility: Compatibility | None = None
    bundle: Bundle = Bundle()
    execution: Execution = Execution()
    degraded: tuple[Degradation, ...] = ()
    spent: tuple[Spent, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    milliseconds: float = 0.0
