from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import model_hosts as hosts
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.registry.models import Finding, Unit, Verdict
from pickysteve.tasks.audit import DocumentAuditor, audit_windows
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.llm import LlmConfig, RoleModels
from pickysteve.tasks.gate import GateConfig, judge_document, judge_documents
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.roles import OFF, Role, open_roles
from pickysteve.tasks.values import Candidate, Candidates

GUIDE = "# Review a migration\n\nRead the diff, run the tests, and list what could lock a table."
NOTHING = {"behaviour": "none", "line": 0}
LONG = "\n".join(f"{number}. Check table {number} for locks before you go on." for number in range(400))


@pytest.fixture
def role(host: Any) -> Role:
    config = LlmConfig(provider="ollama", base_url=host.url, roles=RoleModels(auditor="m"), timeout_seconds=1)
    return open_roles(config).auditor


@pytest.fixture(scope="module")
def allowed(defender: Guard) -> Verdict:
    verdict = judge_document(GUIDE, defender, GateConfig())
    assert verdict.allowed
    return verdict


def test_an_auditor_that_finds_nothing_leaves_the_verdict_as_it_is(
    role: Role, host: Any, allowed: Verdict
) -> None:
    host.tells(hosts.says(NOTHING))
    assert DocumentAuditor(role, "block").audited(GUIDE, allowed) == allowed
    assert "1: # Review a migration" in host.asked[0]["messages"][1]["content"]


def test_what_it_finds_is_a_block_that_shows_the_documents_own_line(
    role: Role, host: Any, allowed: Verdict
) -> None:
    host.tells(hosts.says({"behaviour": "disables-checks", "line": 3}))
    verdict = DocumentAuditor(role, "review").audited(GUIDE, allowed)
    assert (verdict.allowed, verdict.risk) == (False, "block")
    first = Finding(rule="auditor:disables-checks", severity="block", passage=GUIDE.splitlines()[2])
    assert verdict.findings == (first, *allowed.findings)


def test_a_blocked_document_is_not_even_shown_to_it(role: Role, host: Any, allowed: Verdict) -> None:
    host.tells(hosts.says(NOTHING))
    blocked = allowed.model_copy(update={"allowed": False, "risk": "block"})
    assert DocumentAuditor(role, "block").audited(GUIDE, blocked) == blocked
    assert host.asked == []


def test_a_long_document_is_read_to_its_end(role: Role, host: Any, allowed: Verdict) -> None:
    host.tells(hosts.says(NOTHING))
    assert DocumentAuditor(role, "block").audited(LONG, allowed).allowed
    seen = "\n".join(asked["messages"][1]["content"] for asked in host.asked)
    assert len(host.asked) > 2
    assert all(f"{number}: {line}" in seen for number, line in enumerate(LONG.splitlines(), start=1))


@pytest.mark.parametrize(("failure", "passes"), [("review", True), ("block", False)])
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hosts.hangs, "timeout"),
        (hosts.breaks_off, "cut-off"),
        (hosts.sends(b"{}", 404), "missing"),
        (hosts.says(""), "empty"),
        (hosts.says({"behaviour": "none"}), "invalid-answer"),
        (hosts.says({"behaviour": "none, it is fine", "line": 0}), "invalid-answer"),
        (hosts.says({"behaviour": "unsure", "line": 1}), "unsure"),
    ],
)
def test_a_document_that_could_not_be_read_is_marked_and_falls_as_the_policy_says(
    role: Role, host: Any, allowed: Verdict, behaviour: Any, reason: str, failure: Any, passes: bool
) -> None:
    host.tells(behaviour)
    verdict = DocumentAuditor(role, failure).audited(GUIDE, allowed)
    assert verdict.allowed == passes
    assert verdict.risk == failure
    assert verdict.findings[0].rule == f"unaudited:{reason}"
    assert "judged offline" in verdict.findings[0].passage


def test_a_fault_in_a_later_window_is_one_of_the_document(role: Role, host: Any, allowed: Verdict) -> None:
    host.tells(hosts.says(NOTHING), hosts.breaks_off)
    assert DocumentAuditor(role, "block").audited(LONG, allowed).findings[0].rule == "unaudited:cut-off"


def test_a_host_that_is_gone_is_not_waited_for_again_and_again(
    role: Role, host: Any, allowed: Verdict
) -> None:
    host.tells(hosts.sends(b"{}", 401))
    auditor = DocumentAuditor(role, "block")
    rules = [auditor.audited(GUIDE, allowed).findings[0].rule for _ in range(5)]
    assert rules == ["unaudited:key"] * 3 + ["unaudited:given-up"] * 2
    assert len(host.asked) == 3


def test_bad_answers_do_not_count_as_a_host_that_is_gone(role: Role, host: Any, allowed: Verdict) -> None:
    host.tells(hosts.says("fine"))
    auditor = DocumentAuditor(role, "block")
    assert {auditor.audited(GUIDE, allowed).findings[0].rule for _ in range(5)} == {
        "unaudited:invalid-answer"
    }


@given(st.lists(st.integers(0, 2_000), max_size=40))
def test_windows_cover_every_character_once_or_overlapping_in_order(lengths: list[int]) -> None:
    lines = [chr(97 + at % 26) * length for at, length in enumerate(lengths)]
    text = "\n".join(lines)
    merged: dict[int, str] = {}
    for window in audit_windows(text):
        assert sum(map(len, window.values())) <= 6_000
        assert all(merged.get(number, line) == line for number, line in window.items())
        merged |= window
    assert list(merged) == list(range(1, len(merged) + 1))
    assert "".join(merged.values()) == "".join(text.splitlines())


@dataclass
class Shelf:
    """An index of one unit with the verdict that it is given."""

    unit_: Unit
    verdict: Verdict | None = None
    fingerprint: str = field(default="shelf")

    def unit(self, unit_id: str) -> Unit:
        return self.unit_

    def verdict_of(self, unit_id: str) -> Verdict | None:
        return self.verdict


class TestOnTheRequestPath:
    """Retrieved documents never escalate: no model is asked, and no block of the auditor is lost."""

    @pytest.fixture
    def shelf(self) -> Shelf:
        return Shelf(
            Unit(unit_id="u", skill_id="u", title="T", description="D", body=GUIDE, source="u.md", sha256="")
        )

    @pytest.fixture
    def found(self) -> Candidates:
        return Candidates(candidates=(Candidate(unit_id="u", skill_id="u", bm25=1, dense=1, fused_rank=1),))

    def gated(self, shelf: Shelf, found: Candidates, defender: Guard, role: Role, **config: Any) -> Any:
        gated = judge_documents(found, shelf, defender, GateConfig(**config), role)
        return (gated.candidates + gated.refused)[0].verdict

    def ingested(self, shelf: Shelf, defender: Guard, role: Role, **config: Any) -> Verdict:
        settings = GateConfig(**config)
        verdict = judge_document(shelf.unit_.text, defender, settings)
        verdict = DocumentAuditor(role, settings.auditor_failure).audited(shelf.unit_.text, verdict)
        return verdict.model_copy(update={"fingerprint": gate_fingerprint(defender, settings, role)})

    def test_an_allow_of_the_auditor_holds(
        self, shelf: Shelf, found: Candidates, defender: Guard, role: Role, host: Any
    ) -> None:
        host.tells(hosts.says(NOTHING))
        shelf.verdict = self.ingested(shelf, defender, role)
        host.tells(hosts.hangs)
        assert self.gated(shelf, found, defender, role) == shelf.verdict
        assert host.asked == []

    @pytest.mark.parametrize("failure", ["review", "block"])
    def test_a_block_of_the_auditor_holds(
        self, shelf: Shelf, found: Candidates, defender: Guard, role: Role, host: Any, failure: str
    ) -> None:
        host.tells(hosts.says({"behaviour": "fires-later", "line": 1}))
        shelf.verdict = self.ingested(shelf, defender, role, auditor_failure=failure)
        for reader in (role, OFF):
            assert not self.gated(shelf, found, defender, reader, auditor_failure=failure).allowed

    def test_an_allow_from_before_the_auditor_is_none_of_it(
        self, shelf: Shelf, found: Candidates, defender: Guard, role: Role
    ) -> None:
        shelf.verdict = self.ingested(shelf, defender, OFF)
        assert self.gated(shelf, found, defender, OFF).allowed
        verdict = self.gated(shelf, found, defender, role)
        assert not verdict.allowed
        assert verdict.findings[0].rule == "unaudited:not-ingested"
