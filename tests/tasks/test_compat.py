from __future__ import annotations

import pytest

from pickysteve.tasks.compat import CompatConfig, check_pair, compat
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


def test_the_pick_is_not_changed() -> None:
    pick = Pick(status="ok", skills=("a", "b"))
    Direct()(compat, pick, Notes(), config=CONFIG)
    assert pick.skills == ("a", "b")
