"""A run as rows and words."""

from hypothesis import given
from hypothesis import strategies as st

from pickysteve.connectors.http.live.picture import Picture, request_line
from pickysteve.registry.models import Finding, Verdict
from pickysteve.tasks.values import Candidate, Candidates, Option, Pick, Pool

PASSAGE = "a passage that nobody may see"


def verdict(*, allowed):
    findings = () if allowed else (Finding(rule="ignore_previous", severity="block", passage=PASSAGE),)
    risk = "low" if allowed else "block"
    return Verdict(allowed=allowed, score=0.5, risk=risk, findings=findings, sha256="", fingerprint="")


def candidate(unit, skill, score, rank, *, allowed=True):
    judged = verdict(allowed=allowed)
    return Candidate(
        unit_id=unit, skill_id=skill, bm25=0.1, dense=0.2, fused_rank=rank, score=score, verdict=judged
    )


def option(skill, score):
    return Option(skill_id=skill, unit_ids=(skill,), score=score, share=0.5)


FOUND = Candidates(
    candidates=(
        candidate("a", "a", 0.9, 2),
        candidate("a/more", "a", 0.8, 3),
        candidate("b", "b", 0.7, 1),
        candidate("c", "c", 0.1, 4),
    ),
    refused=(candidate("d", "d", None, 5, allowed=False),),
)
POOL = Pool(
    options=(option("a", 0.9), option("b", 0.7)), floor=0.62, dropped={"c": "score 0.10 is under the floor"}
)


def picture(*outputs, found=FOUND, pool=POOL):
    # without the index and the calibration there is no evidence, and the rest stands
    drawn = Picture(found=found, pool=pool)
    for output in outputs:
        drawn.take(output, ())
    return drawn


def test_each_candidate_says_what_became_of_it_and_why():
    rows = picture(Pick(status="ok", skills=("a",))).rows()
    assert [(row["unit"], row["fate"], row["why"]) for row in rows] == [
        ("a", "picked", ""),
        ("a/more", "part", "a stands for this skill"),
        ("b", "kept", "over the floor, not picked"),
        ("c", "dropped", "score 0.10 is under the floor"),
        ("d", "refused", "refused by the gate: ignore_previous"),
    ]
    assert PASSAGE not in str(rows)


def test_before_the_floor_nothing_is_decided_but_what_the_gate_refused():
    assert [row["fate"] for row in picture(pool=None).rows()] == ["open"] * 4 + ["refused"]
    assert Picture().rows() == []


def test_both_skills_of_a_compound_are_picked_for_their_parts():
    rows = picture(Pick(status="ok", skills=("a", "c"))).rows()
    picked = {row["skill"]: row["why"] for row in rows if row["fate"] == "picked"}
    assert picked == dict.fromkeys("ac", "for its part of the request")


def test_a_policy_that_aborts_leaves_the_refused_alone():
    aborted = FOUND.model_copy(update={"candidates": (), "aborted": True})
    assert [row["fate"] for row in picture(found=aborted, pool=None).rows()] == ["refused"]


@given(st.text(max_size=2_000))
def test_a_line_of_a_request_is_short_and_begins_as_the_request_does(text):
    line = request_line(text)
    assert len(line) <= 301
    assert line == text or (line.endswith("…") and text.startswith(line[:-1]))
