"""What Prefect's UI shows of a run: the decision and the candidates, and nothing that a page would obey."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pickysteve.flows.run_page import (
    candidate_rows,
    decision_markdown,
    inert,
    result_name,
    run_artifacts,
    state_message,
)
from pickysteve.registry.models import Finding, Verdict
from pickysteve.registry.slugs import plain_words
from pickysteve.tasks.values import (
    Bundle,
    Candidate,
    Candidates,
    Compatibility,
    Degradation,
    Option,
    Pick,
    Pool,
    Request,
    Spent,
    StageRecord,
    Trace,
)

SECRET = "the words of the request"
ALLOWED = Verdict(allowed=True, score=0, risk="low", sha256="", fingerprint="")
REFUSED = Verdict(
    allowed=False,
    score=1,
    risk="block",
    findings=(
        Finding(rule="instruction-override", severity="block", passage="ignore all of it"),
        Finding(rule="odd-words", severity="review", passage="hm"),
    ),
    sha256="",
    fingerprint="",
)
LIVE = [
    "[x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "<img src=x onerror=alert(1)>",
    "<https://evil.example>",
    "https://evil.example/?q=1",
    "www.evil.example",
    "someone@evil.example",
    "[x]: https://evil.example\n[x]",
    "`code` **bold** _em_ ~~del~~ &lt;b&gt; &#60;",
    "a | b\n--|--\n[c](javascript:d)",
    "\\[x](javascript:alert(1))",
    "\u202egnp.exe",
]
names = st.one_of(
    st.text(max_size=60),
    st.sampled_from(LIVE),
    st.text("[]()<>!`*_~&#;:/.@|\\-+= \n\tawxhtps1", max_size=60),
)


def candidate(skill_id: str, verdict: Verdict = ALLOWED, **changes: Any) -> Candidate:
    fields = {"unit_id": skill_id, "bm25": 1.0, "dense": 0.5, "fused_rank": 1, "score": 0.8}
    return Candidate(**(fields | {"skill_id": skill_id, "verdict": verdict} | changes))


def option(skill_id: str, score: float) -> Option:
    return Option(skill_id=skill_id, unit_ids=(skill_id,), score=score, share=0.1)


def make_trace(**changes: Any) -> Trace:
    """A pick among a runner-up, a copy, one under the floor and one that the gate refused."""
    pool = Pool(
        options=(option("rust-review", 0.8), option("go-review", 0.6)),
        floor=0.4,
        dropped={"c-review": "score 0.10 is under the floor", "rusty": "says the same as rust-review"},
    )
    scores = {"rust-review": 0.8, "rusty": 0.7, "go-review": 0.6, "c-review": 0.1}
    kept = tuple(candidate(skill, score=score) for skill, score in scores.items())
    gated = Candidates(candidates=kept, refused=(candidate("poisoned", REFUSED, score=None),))
    fields: dict[str, Any] = {
        "run_id": "20260102T030405-aa",
        "started_at": "2026-01-02T03:04:05.678+00:00",
        "request": Request(text=SECRET),
        "registry": "registry",
        "fingerprints": {},
        "candidates": kept,
        "pick": Pick(
            status="ok",
            skills=("rust-review",),
            prediction_set=("rust-review", "go-review"),
            confidence=0.93,
            ambiguous=True,
            question="More than one skill may fit: which?",
            reasons=(f'rust-review answers "{SECRET}"',),
            shortlist={"go-review": "a description by its author"},
        ),
        "compatibility": Compatibility(state="conflict", reason="said by a model"),
        "bundle": Bundle(nonce="n", text="x" * 4321),
        "degraded": (Degradation(stage="route", reason="http://host/?key=sk-1 is down"),),
        "spent": (Spent(role="judge", prompt_tokens=1200, answer_tokens=34, cost=0.002),),
        "stages": (
            StageRecord(stage="gate-documents", milliseconds=1, output=gated.model_dump(mode="json")),
            StageRecord(stage="floor", milliseconds=1, output=pool.model_dump(mode="json")),
        ),
        "milliseconds": 12.5,
    }
    return Trace(**(fields | changes))


def blocked() -> Trace:
    return make_trace(
        pick=Pick(status="blocked_request"),
        request_verdict=REFUSED,
        candidates=(),
        stages=(),
        bundle=Bundle(),
    )


def parsed(markdown: str) -> list[Any]:
    """All tokens, with raw HTML and tables understood as the UI understands them."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    return [each for token in tokens for each in (token, *(token.children or ()))]


LIVE_KINDS = {"link_open", "image", "html_inline", "html_block", "fence", "code_block", "table_open"}
# what GitHub's markdown takes for a link in plain text (mdast-util-gfm-autolink-literal), and a bit more
BARE_LINK = re.compile(r"https?:|ftp:|www\.|\w@", re.IGNORECASE)


def assert_dead(markdown: str) -> None:
    tokens = parsed(markdown)
    assert not {token.type for token in tokens} & LIVE_KINDS
    assert not [token.content for token in tokens if token.type == "text" and BARE_LINK.search(token.content)]


@given(names)
@pytest.mark.parametrize("around", ["{}", "- Nearest: {}, score 0.5", "## {} + {}"])
def test_an_inert_text_is_no_link_no_image_and_no_html_and_reads_as_it_was(around: str, text: str) -> None:
    markdown = around.format(*(inert(text),) * 2)
    assert_dead(markdown)
    shown = "".join(token.content for token in parsed(inert(text)) if token.type in {"text", "code_inline"})
    assert shown == plain_words(text, 100).strip().replace("`", "'")


def test_an_ordinary_id_is_not_disfigured() -> None:
    for name in (
        "rust-review",
        "team/rust_review-2",
        "überprüfung",
        "score 0.40 is under the floor",
        "A: b, c. d?",
    ):
        assert inert(name) == name
    assert [inert(name) for name in ("1. a", "www. x", "a.md", "", " ")] == [
        "`1. a`",
        "`www. x`",
        "`a.md`",
        "",
        "",
    ]


@given(names, names, names)
def test_no_name_of_a_skill_makes_a_link_an_image_or_html_of_the_page(
    skill: str, near: str, rule: str
) -> None:
    pool = Pool(options=(option(skill, 0.8),), floor=0.4, dropped={near: f"says the same as {skill}"})
    verdict = REFUSED.model_copy(update={"findings": (Finding(rule=rule, severity="block"),)})
    kept = (candidate(skill), candidate(near, fused_rank=2))
    gated = Candidates(candidates=kept, refused=(candidate(f"{near}!", verdict),))
    stages = [("gate-documents", gated), ("floor", pool)]
    trace = make_trace(
        candidates=kept,
        pick=Pick(status="ok", skills=(skill,), prediction_set=(skill, near), question=near, ambiguous=True),
        spent=(Spent(role=rule, prompt_tokens=1, answer_tokens=1),),
        stages=tuple(
            StageRecord(stage=stage, milliseconds=1, output=output.model_dump(mode="json"))
            for stage, output in stages
        ),
    )
    # our own link to the record is the one that stays
    assert_dead(re.sub(r"\[[^]]*\]\(file:[^)]*\)", "", decision_markdown(trace, Path("/runs"))))
    for row in candidate_rows(trace):
        for cell in row.values():
            assert_dead(str(cell))


def test_each_candidate_says_what_became_of_it() -> None:
    rows = candidate_rows(make_trace())
    assert {row["skill"]: row["outcome"] for row in rows} == {
        "rust-review": "picked",
        "go-review": "over the floor, another one was picked",
        "rusty": "says the same as rust-review",
        "c-review": "score 0.10 is under the floor",
        "poisoned": "refused by the gate: instruction-override",
    }
    assert (rows[0]["score"], rows[0]["cosine"], rows[-1]["gate"]) == (0.8, 0.5, "block")


def test_a_run_whose_documents_were_all_refused_shows_each_once() -> None:
    found = candidate("poisoned", REFUSED, score=None)
    gated = Candidates(candidates=(), refused=(found,))
    trace = make_trace(
        pick=Pick(status="blocked_retrieved"),
        candidates=(found,),
        stages=(StageRecord(stage="gate-documents", milliseconds=1, output=gated.model_dump(mode="json")),),
    )
    (row,) = candidate_rows(trace)
    assert row["outcome"] == "refused by the gate: instruction-override"
    assert "Gate: refused what was found: poisoned" in decision_markdown(trace, Path("/runs"))


def test_the_decision_is_said_in_words() -> None:
    words = decision_markdown(make_trace(), Path("/my runs"))
    for said in (
        "## rust-review",
        "State: Picked",
        "about 93% of the first picks at such a score were right in the calibration data",
        "Doubts: ambiguous",
        "Score of rust-review: 0.80",
        "Runner-up: go-review, score 0.60, over the floor",
        "Floor: 0.40",
        "Prediction set: rust-review, go-review",
        "Question back: More than one skill may fit",
        "Fell back to a weaker method: route",
        "Compatibility: conflict",
        "Bundle: 4,321 characters",
        "Model for judge: 1,200 tokens read, 34 written, cost 0.002",
        "`pickysteve runs show 20260102T030405-aa`",
        "(file:///my%20runs/flow%3Drequest/date%3D2026-01-02/20260102T030405-aa.parquet)",
        "topical similarity, not correctness",
    ):
        assert said in words, said


def test_an_abstention_names_the_nearest_and_the_floor() -> None:
    pool = Pool(options=(), nearest=(option("go-review", 0.2),), floor=0.4)
    trace = make_trace(
        pick=Pick(status="no_confident_match", question="What outcome do you need?"),
        candidates=(candidate("go-review", score=0.2), candidate("c-review", score=0.1)),
        stages=(StageRecord(stage="floor", milliseconds=1, output=pool.model_dump(mode="json")),),
    )
    words = decision_markdown(trace, Path("/runs"))
    assert words.startswith("## No confident match\n")
    assert "Nearest: go-review, score 0.20, under the floor" in words and "Floor: 0.40" in words
    assert result_name(trace).endswith(" no confident match")


def test_a_runner_up_under_the_floor_is_named_as_such_and_a_copy_is_none() -> None:
    pool = Pool(
        options=(option("rust-review", 0.8),),
        floor=0.4,
        dropped={"rusty": "says the same as rust-review", "c-review": "score 0.10 is under the floor"},
    )
    stages = (StageRecord(stage="floor", milliseconds=1, output=pool.model_dump(mode="json")),)
    words = decision_markdown(make_trace(stages=stages), Path("/runs"))
    assert "Runner-up: c-review, score 0.10, under the floor" in words


@pytest.mark.parametrize(
    ("share", "said"), [(1.0, "over 99% of"), (0.991, "over 99% of"), (0.5, "about 50% of")]
)
def test_no_confidence_is_shown_as_certainty(share: float, said: str) -> None:
    pick = Pick(status="ok", skills=("rust-review",), confidence=share)
    assert f"Confidence: {said}" in decision_markdown(make_trace(pick=pick), Path("/runs"))


def test_a_blocked_request_names_the_rules_and_quotes_nothing() -> None:
    words = decision_markdown(blocked(), Path("/runs"))
    assert "Gate: refused the request: instruction-override" in words
    assert "odd-words" not in words and "ignore all of it" not in words
    assert candidate_rows(blocked()) == []
    assert result_name(blocked()).endswith(" blocked request")


@pytest.mark.parametrize("trace", [make_trace(), blocked()], ids=["picked", "blocked"])
def test_neither_the_request_nor_longer_texts_of_others_are_shown(trace: Trace) -> None:
    artifacts = run_artifacts(trace, Path("/runs"), UUID(int=1))
    shown = "".join([*(artifact.model_dump_json() for artifact in artifacts), state_message(trace)])
    for hidden in (SECRET, "description by its author", "said by a model", "sk-1", "ignore all of it"):
        assert hidden not in shown


def test_the_artifacts_are_a_table_and_a_text_of_that_run() -> None:
    table, words = run_artifacts(make_trace(), Path("/runs"), UUID(int=1))
    assert (table.key, table.type, words.key, words.type) == ("candidates", "table", "decision", "markdown")
    assert json.loads(table.data) == candidate_rows(make_trace())
    assert table.flow_run_id == words.flow_run_id == UUID(int=1)


def test_the_name_holds_the_hash_and_the_result_on_one_short_line() -> None:
    name = result_name(make_trace(pick=Pick(status="ok", skills=("a\n\x1b[31m" + "b" * 300, "c"))))
    assert re.fullmatch(r"[0-9a-f]{12} a \?\[31mb+", name) and len(name) <= 113


def test_the_message_names_the_picks_the_doubts_and_what_fell_back_without_its_reason() -> None:
    assert state_message(make_trace()) == "rust-review, ambiguous, route fell back"
    assert state_message(blocked()).startswith("none")
