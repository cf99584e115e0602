from __future__ import annotations

import json
from pathlib import Path

import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.review import decide, decided, read_decisions, review_list
from pickysteve.registry.index import IndexData
from pickysteve.registry.models import Finding, Unit, Verdict
from pickysteve.tasks.gate import text_digest


def unit(name: str) -> Unit:
    return Unit(
        unit_id=name, skill_id=name, title=name, description="D", body="B", source=f"{name}.md", sha256=""
    )


def verdict(of: Unit, risk: str) -> Verdict:
    found = Finding(
        rule="some-rule", severity="review" if risk == "review" else "block", passage="the passage"
    )
    return Verdict.model_validate(
        {
            "allowed": risk != "block",
            "score": 0.5,
            "risk": risk,
            "findings": () if risk == "low" else (found,),
            "sha256": text_digest(of.text),
            "fingerprint": "gate",
        }
    )


@pytest.fixture
def index() -> IndexData:
    data = IndexData(root="", encoder="", gate="", built_at="")
    for name, risk in (("calm", "low"), ("doubtful", "review"), ("refused", "block")):
        each = unit(name)
        data.units[name] = each
        data.verdicts[text_digest(each.text)] = verdict(each, risk)
    return data


def test_the_list_shows_the_refused_first_with_the_passage(index: IndexData) -> None:
    items = review_list(index, {})
    assert [(item.unit_id, item.risk) for item in items] == [("refused", "block"), ("doubtful", "review")]
    assert items[0].passage == "the passage"


def test_a_decision_changes_the_verdict_of_that_text_only(index: IndexData) -> None:
    refused = verdict(unit("refused"), "block")
    assert decided(refused, {refused.sha256: "allow"}).allowed
    assert not decided(verdict(unit("calm"), "low"), {text_digest(unit("calm").text): "refuse"}).allowed
    assert decided(refused, {"0" * 64: "allow"}) == refused


def test_decisions_are_kept_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "review.json"
    assert read_decisions(path) == {}
    decide("a" * 64, "allow", path)
    decide("b" * 64, "refuse", path)
    assert read_decisions(path) == {"a" * 64: "allow", "b" * 64: "refuse"}
    decide("a" * 64, None, path)
    assert read_decisions(path) == {"b" * 64: "refuse"}


def test_an_edited_file_of_decisions_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "review.json"
    decide("a" * 64, "refuse", path)
    stored = json.loads(path.read_text())
    stored["decisions"]["a" * 64] = "allow"
    path.write_text(json.dumps(stored))
    with pytest.raises(SettingsInvalid, match="delete it"):
        read_decisions(path)
