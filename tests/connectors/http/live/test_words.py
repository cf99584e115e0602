"""What each stage gave, in a few words."""

import pytest

from pickysteve.connectors.http.live.words import STAGES, stage_words
from pickysteve.flows import dag
from pickysteve.registry.models import Finding, Verdict
from pickysteve.tasks.clarify import clarify
from pickysteve.tasks.values import (
    Bundle,
    Candidate,
    Candidates,
    Clause,
    Compatibility,
    Cut,
    Execution,
    Note,
    Notes,
    Option,
    Pick,
    Pool,
    Route,
)

PASSAGE = "a passage that nobody may see"


def verdict(*severities, allowed=True):
    findings = tuple(Finding(rule=f"rule-{s}", severity=s, passage=PASSAGE) for s in severities)
    return Verdict(allowed=allowed, score=0.25, risk="low", findings=findings, sha256="", fingerprint="")


def candidate(name, score=None):
    return Candidate(unit_id=name, skill_id=name, bm25=0.1, dense=0.2, fused_rank=1, score=score)


def option(name):
    return Option(skill_id=name, unit_ids=(name,), score=0.9, share=0.5)


CASES = [
    ("gate-request", verdict("review"), "allowed, risk low (0.25)"),
    ("gate-request", verdict("block", "review", allowed=False), "blocked: rule-block"),
    ("route", Route(query="x", clauses=(Clause(text="x", role="ask"),)), "1 clause, one job"),
    (
        "route",
        Route(
            query="x",
            clauses=(Clause(text="x", role="ask"), Clause(text="y", role="ruled_out")),
            cuts=(Cut(first="x", second="y", signalled=True),),
        ),
        "2 clauses, 1 ruled out, 1 place to cut in two",
    ),
    ("retrieve", Candidates(candidates=(candidate("a"), candidate("b"))), "found 2"),
    (
        "gate-documents",
        Candidates(candidates=(candidate("a"),), refused=(candidate("b"),)),
        "allowed 1, refused 1",
    ),
    (
        "gate-documents",
        Candidates(candidates=(), refused=(candidate("b"),), aborted=True),
        "allowed 0, refused 1: stopped, as the policy says",
    ),
    ("rerank", Candidates(candidates=(candidate("a", 0.91),)), "best is a, 0.91"),
    ("rerank", Candidates(candidates=()), "nothing to rank"),
    (
        "floor",
        Pool(options=(option("a"),), prediction_set=("a", "b"), floor=0.62, dropped={"b": "why"}),
        "kept 1, dropped 1; floor 0.62, set of 2",
    ),
    ("knowledge", Notes(notes=(Note(skill_id="a", not_for="b"), Note(skill_id="c"))), "1 note"),
    ("judge", Pick(status="ok", skills=("a", "b")), "a + b"),
    (
        "judge",
        Pick(status="ok", skills=("a",), ambiguous=True, prediction_set=("a", "b")),
        "a, or another of 2",
    ),
    ("judge", Pick(status="no_confident_match"), "abstained"),
    ("compatibility", Compatibility(state="single"), "nothing to compare"),
    ("compatibility", Compatibility(state="unknown", reason="x"), "unknown"),
    ("assemble", Bundle(text="x" * 1_234), "1,234 characters"),
    ("assemble", Bundle(), "nothing to hand over"),
    ("execute", Execution(), "off: the bundle goes to the caller"),
    ("execute", Execution(state="done", answer=PASSAGE), "done"),
    ("log", Bundle(), "kept as Parquet"),
]


@pytest.mark.parametrize(("stage", "output", "words"), CASES)
def test_each_stage_says_what_it_gave(stage, output, words):
    assert stage_words(stage, output) == words


def test_every_stage_has_words_and_a_stage_of_others_has_none():
    assert {stage for stage, _, _ in CASES} == set(STAGES)


def test_the_page_has_the_stages_of_the_dag_in_its_order_but_for_the_question_of_a_model():
    assert [stage.name for stage in dag.STAGES if stage is not clarify] == list(STAGES)
    assert stage_words("clarify", Pick(status="ok")) == ""
