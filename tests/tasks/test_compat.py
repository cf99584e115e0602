from __future__ import annotations

from typing import Any

import model_hosts as hosts
import pytest

from pickysteve.tasks.compat import CompatConfig, check_pair, compat, read_pair
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.roles import OFF, open_roles
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Compatibility, Note, Notes, Pick

CONFIG = CompatConfig()


def checked(skills: tuple[str, ...], *notes: Note) -> Compatibility:
    return check_pair(Pick(status="ok", skills=skills), Notes(notes=notes), CONFIG)


@pytest.mark.parametrize("skills", [(), ("a",)])
def test_fewer_than_two_skills_have_nothing_to_conflict_with(skills: tuple[str, ...]) -> None:
    assert checked(skills, Note(skill_id="a", confused_with=("b",))) == Compatibility(state="single")


@pytest.mark.parametrize(("noted", "other"), [("a", "b"), ("b", "a")])
def test_skills_that_are_confused_are_flagged_whichever_says_so(noted: str, other: str) -> None:
    found = checked(("a", "b"), Note(skill_id=noted, confused_with=(other,)))
    assert found.state == "unknown"
    assert "a and b are often confused" in found.reason


def test_without_a_model_two_skills_are_never_called_compatible() -> None:
    found = checked(("a", "b"), Note(skill_id="a", confused_with=("c",)))
    assert (found.state, found.reason) == ("unknown", "no model is configured to read both skills")


def test_the_pick_is_not_changed(index_of: Any) -> None:
    pick = Pick(status="ok", skills=("a", "b"))
    Direct()(compat, pick, Notes(), using=(index_of(), OFF), config=CONFIG)
    assert pick.skills == ("a", "b")


@pytest.fixture(scope="module")
def index(sketch: Any, index_of: Any) -> Any:
    bodies = {"a": "Use tabs.", "b": "Use spaces."}
    return index_of(*(sketch(n, {n: (1, 0, 0)}, bodies={n: bodies[n]}) for n in "ab"))


class TestByAModel:
    @pytest.fixture
    def read(self, host: Any, index: Any) -> Any:
        config = LlmConfig(provider="ollama", base_url=host.url, model="m", timeout_seconds=1)

        def run(answer: Any, skills: tuple[str, ...] = ("a", "b")) -> Compatibility:
            host.tells(answer if callable(answer) else hosts.says(answer))
            pick = Pick(status="ok", skills=skills)
            return read_pair(pick, Notes(), index, open_roles(config).compat, CONFIG)

        return run

    def test_it_reads_both_bodies(self, read: Any, host: Any) -> None:
        assert read({"state": "compatible", "about": "nothing"}).state == "compatible"
        text = host.asked[0]["messages"][1]["content"]
        assert "Use tabs." in text and "Use spaces." in text

    def test_a_conflict_is_flagged_in_words_of_ours(self, read: Any) -> None:
        found = read({"state": "conflict", "about": "contradicting-rules"})
        assert (found.state, found.reason) == ("conflict", "what one demands the other one forbids")

    @pytest.mark.parametrize("about", ["same-step", "something-else"])
    def test_compatible_with_a_reason_against_it_is_unknown(self, read: Any, about: str) -> None:
        assert read({"state": "compatible", "about": about}).state == "unknown"

    @pytest.mark.parametrize(
        "answer",
        [
            hosts.hangs,
            hosts.breaks_off,
            hosts.says("compatible"),
            {"state": "compatible"},
            {"state": "merge them", "about": "nothing"},
            {"state": "compatible", "about": "nothing", "merged": "Use tabs and spaces."},
        ],
    )
    def test_a_model_that_fails_never_says_compatible(self, read: Any, answer: Any) -> None:
        found = read(answer)
        assert found.state == "unknown"
        assert found.degraded and "merged" not in found.degraded

    def test_one_skill_is_not_asked_about(self, read: Any, host: Any) -> None:
        assert read({"state": "conflict", "about": "nothing"}, ("a",)).state == "single"
        assert host.asked == []
