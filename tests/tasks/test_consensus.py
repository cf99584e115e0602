"""Two judges by models: agreement, dissent and failure on pools that are easily confused."""

from __future__ import annotations

from typing import Any

import model_hosts as hosts
import pytest

from pickysteve.tasks.consensus import is_confusable
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.judge import JudgeConfig
from pickysteve.tasks.judge_model import judge_with_model
from pickysteve.tasks.roles import open_roles
from pickysteve.tasks.values import Note, Notes, Option, Pick, Pool, Route

ROUTE = Route(query="the sail tears whenever it is windy", clauses=())
SKILLS = ("apples", "boats", "clocks")


@pytest.fixture(scope="module")
def index(sketch: Any, index_of: Any) -> Any:
    skills = {"apples": (1, 0, 0), "boats": (0, 1, 0), "clocks": (0, 0, 1)}
    return index_of(*(sketch(name, {name: direction}) for name, direction in skills.items()))


def pool(size: int = 2) -> Pool:
    options = tuple(
        Option(skill_id=skill, unit_ids=(skill,), score=0.9 - 0.1 * at, share=0.3)
        for at, skill in enumerate(SKILLS)
    )
    return Pool(options=options, prediction_set=SKILLS[:size], floor=0.3)


def names(skill: str, *, sure: bool = True) -> dict[str, Any]:
    first = str(SKILLS.index(skill) + 1) if skill else "none"
    return {"jobs": "one" if skill else "none", "first": first, "second": "none", "sure": sure}


@pytest.fixture
def decide(host: Any, index: Any, calibration_with: Any) -> Any:
    """The pick with what the weaker and the stronger model say; apples is the deterministic pick."""

    def run(
        weak: Any, strong: Any = None, size: int = 2, notes: Notes | None = None, mode: str = "consensus"
    ) -> Pick:
        said = {"weak": weak, "strong": strong}

        def answer(handler: Any) -> None:
            told = said[handler.asked["model"]]
            (told if callable(told) else hosts.says(told))(handler)

        host.tells(answer)
        config = {"provider": "ollama", "base_url": host.url, "model": "weak", "timeout_seconds": 1}
        if strong is not None:
            config["roles"] = {"escalation": "strong"}
        roles = open_roles(LlmConfig.model_validate(config))
        handles = (index, calibration_with(floor=0.3), roles.judge, roles.escalation)
        return judge_with_model(ROUTE, pool(size), notes or Notes(), *handles, JudgeConfig(mode=mode))

    return run


def models(host: Any) -> list[str]:
    return [asked["model"] for asked in host.asked]


def test_both_are_asked_of_a_confusable_pool_and_their_agreement_settles_it(decide: Any, host: Any) -> None:
    pick = decide(names("boats"), names("boats"))
    assert models(host) == ["weak", "strong"]
    assert (pick.skills, pick.prediction_set) == (("boats",), ("boats",))
    assert not pick.low_confidence and not pick.ambiguous
    assert pick.reasons[-1] == "a second model says the same"


def test_every_call_stands_in_the_record_with_its_model(decide: Any) -> None:
    spent = decide(names("boats"), names("boats")).spent
    assert [(one.role, one.model, one.prompt_tokens) for one in spent] == [
        ("judge", "weak", 7),
        ("escalation", "strong", 7),
    ]


def test_doubt_of_either_keeps_the_doubt(decide: Any) -> None:
    for weak, strong in ((True, False), (False, True)):
        pick = decide(names("boats", sure=weak), names("boats", sure=strong))
        assert pick.low_confidence and pick.ambiguous


@pytest.mark.parametrize(
    ("weak", "strong", "picked", "said"),
    [
        ("apples", "boats", "apples", "names boats; the deterministic judge agrees"),
        ("boats", "apples", "apples", "names boats; the deterministic judge agrees"),
        ("boats", "clocks", "clocks", "names boats; nobody else names it"),
        ("", "apples", "apples", "finds that none fits; the deterministic judge agrees"),
        ("", "boats", "boats", "finds that none fits; nobody else names it"),
    ],
)
def test_a_dissent_is_settled_by_two_of_three_and_stays_marked(
    decide: Any, weak: str, strong: str, picked: str, said: str
) -> None:
    pick = decide(names(weak), names(strong))
    assert pick.skills == (picked,) and pick.low_confidence
    assert said in pick.reasons[-1]
    assert {skill for skill in (weak, strong) if skill} <= set(pick.prediction_set)
    assert set(pick.shortlist) == (set(pick.prediction_set) if pick.ambiguous else set())


def test_a_stronger_model_that_finds_nothing_leaves_what_the_other_named_to_choose_from(decide: Any) -> None:
    pick = decide(names("boats"), names(""))
    assert (pick.status, pick.skills) == ("no_confident_match", ())
    assert "boats" in pick.prediction_set and "boats" in pick.shortlist and pick.question


def test_a_pool_that_nobody_confuses_is_judged_once(decide: Any, host: Any) -> None:
    assert decide(names("boats"), names("clocks"), size=1).skills == ("boats",)
    assert models(host) == ["weak"]
    edge = Notes(notes=(Note(skill_id="apples", confused_with=("boats",)),))
    decide(names("boats"), names("clocks"), size=1, notes=edge)
    assert models(host) == ["weak", "strong"]


def test_edges_and_sets_make_a_pool_confusable() -> None:
    edge = Notes(notes=(Note(skill_id="boats", confused_with=("apples",)),))
    other = Notes(notes=(Note(skill_id="boats", confused_with=("clocks",)),))
    single = pool(1).model_copy(update={"options": pool().options[:1]})
    cases = ((2, Notes()), (1, edge), (1, other), (1, Notes()))
    assert [is_confusable(pool(size), notes) for size, notes in cases] == [True, True, False, False]
    assert not is_confusable(single, edge)


def test_one_model_that_fails_leaves_the_others_pick_marked(decide: Any) -> None:
    for weak, strong in ((names("boats"), hosts.says("")), (hosts.says(""), names("boats"))):
        pick = decide(weak, strong)
        assert pick.skills == ("boats",) and pick.low_confidence
        assert pick.degraded.startswith("judged by one model alone: The model ")


def test_two_that_fail_leave_the_deterministic_pick(decide: Any) -> None:
    pick = decide(hosts.says(""), hosts.says(""))
    assert pick.skills == ("apples",) and pick.degraded.startswith("judged without the model")


def test_what_an_unusable_answer_took_is_counted_too(decide: Any) -> None:
    pick = decide(hosts.says('{"jobs": "one"}', prompt_tokens=50))
    assert [(one.model, one.prompt_tokens) for one in pick.spent] == [("weak", 50)]


def test_in_two_tiers_a_singleton_costs_nothing_and_the_rest_goes_to_the_stronger_judge(
    decide: Any, host: Any
) -> None:
    assert decide(names("boats"), names("clocks"), size=1, mode="two-tier").skills == ("apples",)
    assert host.asked == []
    assert decide(names("boats"), names("clocks"), mode="two-tier").skills == ("clocks",)
    assert models(host) == ["strong"]
    assert decide(names("boats"), mode="two-tier").skills == ("boats",)


def test_in_two_tiers_a_stronger_judge_that_fails_hands_over_to_the_weaker_one(
    decide: Any, host: Any
) -> None:
    pick = decide(names("boats"), hosts.says(""), mode="two-tier")
    assert (pick.skills, models(host)) == (("boats",), ["strong", "weak"])
    assert pick.degraded.startswith("judged by the weaker model: The model strong at ")
    both = decide(hosts.says(""), hosts.says(""), mode="two-tier")
    assert both.skills == ("apples",) and "The model strong" in both.degraded
