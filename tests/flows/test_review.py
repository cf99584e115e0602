from __future__ import annotations

import json
from pathlib import Path

import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.review import Decision, decide, decided, find_text, follows, read_decisions, review_list
from pickysteve.registry.index_tables import IndexData
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
    assert [(item.unit_id, item.kind) for item in items] == [("refused", "refused"), ("doubtful", "doubtful")]
    assert items[0].passage == "the passage"


def test_the_gravest_come_first_and_what_was_decided_last(index: IndexData) -> None:
    """More kinds of findings are graver than a higher score, and a name says nothing of gravity."""
    rules = {"a-low": ("classifier",), "b-high": ("classifier",), "z-grave": ("classifier", "some-rule")}
    for name, score in (("a-low", 0.6), ("b-high", 0.9), ("z-grave", 0.5)):
        each = unit(name)
        findings = tuple(Finding(rule=rule, severity="review", passage="p") for rule in rules[name])
        index.units[name] = each
        index.verdicts[text_digest(each.text)] = verdict(each, "review").model_copy(
            update={"score": score, "findings": findings}
        )
    decisions: dict[str, Decision] = {text_digest(unit("refused").text): "refuse"}
    names = [item.unit_id for item in review_list(index, decisions)]
    assert names == ["doubtful", "z-grave", "b-high", "a-low", "refused"]


def test_a_refused_example_is_on_the_list_and_a_doubtful_one_is_not(index: IndexData) -> None:
    for digest, risk in (("e" * 64, "block"), ("f" * 64, "review")):
        index.verdicts[digest] = verdict(unit("x"), risk).model_copy(update={"sha256": digest})
    notes = [item for item in review_list(index, {}) if not item.unit_id]
    assert [(item.sha256, item.source) for item in notes] == [("e" * 64, "an example or not-for note")]


def test_the_operators_own_word_is_not_shown_as_what_was_found(index: IndexData) -> None:
    refused = verdict(unit("doubtful"), "review")
    index.verdicts[refused.sha256] = decided(refused, {refused.sha256: "refuse"})
    (item,) = [i for i in review_list(index, {refused.sha256: "refuse"}) if i.unit_id == "doubtful"]
    assert (item.kind, item.rules, item.passage) == ("decided", ("some-rule",), "the passage")


class TestFindText:
    def test_a_hash_a_unit_or_a_skill_names_it(self, index: IndexData) -> None:
        digest = text_digest(unit("refused").text)
        for target in (digest, digest[:6], digest[:6].upper(), "refused"):
            assert find_text(target, index, {}, decided=False) == digest

    def test_of_a_skill_of_many_files_the_one_on_the_list_is_meant(self, index: IndexData) -> None:
        part = unit("refused/part").model_copy(update={"skill_id": "calm"})
        index.units[part.unit_id] = part
        index.verdicts[text_digest(part.text)] = verdict(part, "block")
        index.units["calm"] = unit("calm")
        assert find_text("refused/part", index, {}, decided=False) == text_digest(part.text)
        both = index.units["calm"].skill_id
        with pytest.raises(SettingsInvalid, match="names 2 texts: give more"):
            find_text(both, index, {}, decided=False)

    @pytest.mark.parametrize("target", ["nothing", "", "abc", "f" * 64, "*"])
    def test_what_names_nothing_is_answered_with_the_command_that_lists(
        self, index: IndexData, target: str
    ) -> None:
        with pytest.raises(SettingsInvalid, match=r"no text in the registry.*skills review --all"):
            find_text(target, index, {}, decided=False)

    def test_a_start_that_many_hashes_share_is_ambiguous(self, index: IndexData) -> None:
        for last in "12":
            index.verdicts["abcd" * 15 + "000" + last] = verdict(unit("calm"), "low")
        with pytest.raises(SettingsInvalid, match=r'"abcd" names 2 texts: give more .*abcdabcdabcd'):
            find_text("abcd", index, {}, decided=False)

    def test_a_decision_is_taken_back_also_when_its_text_is_gone(self, index: IndexData) -> None:
        gone: dict[str, Decision] = {"c" * 64: "allow"}
        assert find_text("cccc", index, gone, decided=True) == "c" * 64
        with pytest.raises(SettingsInvalid, match="no decision about"):
            find_text("refused", index, gone, decided=True)


def test_a_decision_changes_the_verdict_of_that_text_only(index: IndexData) -> None:
    refused = verdict(unit("refused"), "block")
    assert decided(refused, {refused.sha256: "allow"}).allowed
    assert not decided(verdict(unit("calm"), "low"), {text_digest(unit("calm").text): "refuse"}).allowed
    assert decided(refused, {"0" * 64: "allow"}) == refused


def test_an_index_of_before_a_decision_does_not_follow_it(index: IndexData) -> None:
    before = dict(index.verdicts)
    digest = text_digest(unit("calm").text)
    refused: dict[str, Decision] = {digest: "refuse"}
    assert follows(before, {}) and follows(before, {"0" * 64: "refuse"})
    assert not follows(before, refused)
    after = {d: decided(v, refused) for d, v in before.items()}
    assert follows(after, refused)
    assert not follows(after, {}) and not follows(after, {digest: "allow"})


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
