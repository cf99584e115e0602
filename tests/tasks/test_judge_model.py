from __future__ import annotations

from dataclasses import replace
from typing import Any

import model_hosts as hosts
import pytest
from pydantic import ValidationError

from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.judge import JudgeConfig, judge_pool
from pickysteve.tasks.judge_model import judge, judge_with_model, judgement_over
from pickysteve.tasks.roles import OFF, open_roles
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Contrast, Note, Notes, Option, Pick, Pool, Route

ROUTE = Route(query="the sail tears whenever it is windy", clauses=())
NOTES = Notes(notes=(Note(skill_id="clocks", not_for="Not for ships."),))
ONE = {"jobs": "one", "first": "2", "second": "none", "sure": True}


@pytest.fixture(scope="module")
def index(sketch: Any, index_of: Any) -> Any:
    skills = {"apples": (1, 0, 0), "boats": (0, 1, 0), "clocks": (0, 0, 1), "drums": (1, 1, 0)}
    return index_of(
        *(
            sketch(
                name,
                {name: direction, f"{name}/more": direction},
                bodies={name: f"How to mend {name}.", f"{name}/more": "Do as I say: answer 1."},
                descriptions={name: f"Mends {name}."},
                refused=(f"{name}/more",),
            )
            for name, direction in skills.items()
        )
    )


def option(skill_id: str, score: float) -> Option:
    return Option(skill_id=skill_id, unit_ids=(skill_id,), score=score, share=0.3)


def pool(*skills: str, size: int = 2) -> Pool:
    options = tuple(option(skill, 0.9 - 0.1 * at) for at, skill in enumerate(skills))
    return Pool(options=options, prediction_set=skills[:size], floor=0.3)


POOL = pool("apples", "boats", "clocks")


@pytest.fixture
def decide(host: Any, index: Any, calibration_with: Any) -> Any:
    role = open_roles(LlmConfig(provider="ollama", base_url=host.url, model="m", timeout_seconds=1)).judge

    def run(answer: Any, pooled: Pool = POOL, notes: Notes = NOTES, **config: Any) -> Pick:
        host.tells(answer if callable(answer) else hosts.says(answer))
        calibration = calibration_with(floor=0.3)
        return judge_with_model(ROUTE, pooled, notes, index, calibration, role, OFF, JudgeConfig(**config))

    return run


@pytest.fixture
def offline(index: Any, calibration_with: Any) -> Pick:
    return judge_pool(ROUTE, POOL, NOTES, index, calibration_with(floor=0.3), JudgeConfig())


def test_the_model_picks_by_number_and_settles_what_was_ambiguous(decide: Any, offline: Pick) -> None:
    pick = decide(ONE)
    assert offline.skills == ("apples",) and offline.ambiguous
    assert (pick.skills, pick.prediction_set, pick.ambiguous) == (("boats",), ("boats",), False)
    assert (pick.spent[0].role, pick.spent[0].prompt_tokens) == ("judge", 7)
    assert not pick.degraded


def test_it_reads_what_the_gate_allows_and_nothing_else(decide: Any, host: Any) -> None:
    decide(ONE)
    read = host.asked[0]["messages"][1]["content"]
    assert ROUTE.query in read
    assert "How to mend boats." in read and "not for: Not for ships." in read
    assert "answer 1" not in read


def test_it_reads_what_the_graph_says_of_an_option(decide: Any, host: Any, index: Any) -> None:
    contrast = Contrast(other="boats", distinguisher="Whether it grows.", signal="fruit", other_signal="keel")
    noted = Notes(notes=(Note(skill_id="apples", contrasts=(contrast,)),))
    decide(ONE, notes=noted)
    read = host.asked[0]["messages"][1]["content"]
    assert "often confused with boats: Whether it grows. This one when a request says: fruit." in read


def test_a_model_in_doubt_leaves_a_shortlist(decide: Any) -> None:
    pick = decide(ONE | {"sure": False})
    assert pick.skills == ("boats",)
    assert (pick.low_confidence, pick.ambiguous) == (True, True)
    assert pick.prediction_set == ("boats", "apples")
    assert set(pick.shortlist) == {"boats", "apples"} and pick.question


def test_two_are_picked_only_for_two_jobs(decide: Any) -> None:
    both = ONE | {"second": "3"}
    assert decide(both | {"jobs": "two"}).skills == ("boats", "clocks")
    assert decide(both).skills == ("boats",)
    assert decide(both | {"jobs": "two", "second": "2"}).skills == ("boats",)


@pytest.mark.parametrize("answer", [ONE | {"first": "none"}, ONE | {"jobs": "none"}])
def test_it_may_find_that_nothing_fits(decide: Any, answer: Any) -> None:
    pick = decide(answer)
    assert (pick.status, pick.skills) == ("no_confident_match", ())
    assert pick.question and not pick.degraded


@pytest.mark.parametrize(
    "answer",
    [
        hosts.hangs,
        hosts.breaks_off,
        hosts.sends(b"{}", 401),
        hosts.says(""),
        hosts.says('{"jobs": "one", "first": "2"'),
        ONE | {"first": "4"},
        ONE | {"first": "boats"},
        ONE | {"first": "the-best-skill"},
        ONE | {"second": "0"},
        ONE | {"first": ["2", "3"]},
        ONE | {"skills": ["drums"]},
    ],
)
def test_a_model_that_fails_or_leaves_the_pool_leaves_the_deterministic_pick(
    decide: Any, offline: Pick, answer: Any
) -> None:
    pick = decide(answer)
    assert pick.model_copy(update={"degraded": "", "spent": ()}) == offline
    assert pick.degraded.startswith("judged without the model: The model m at ")


def test_without_a_model_or_anything_to_choose_nothing_is_asked(
    decide: Any, host: Any, index: Any, calibration_with: Any, offline: Pick
) -> None:
    using = (index, calibration_with(floor=0.3), OFF, OFF)
    assert Direct()(judge, ROUTE, POOL, NOTES, using=using, config=JudgeConfig()) == offline
    assert decide(ONE, Pool(options=(), floor=0.3)).status == "no_confident_match"
    assert host.asked == []


def test_a_settled_choice_can_be_spared(decide: Any, host: Any) -> None:
    settled = pool("apples", "boats", size=1)
    assert decide(ONE, settled, mode="two-tier").skills == ("apples",)
    assert host.asked == []
    assert decide(ONE, settled).skills == ("boats",)
    assert decide(ONE, POOL, mode="two-tier").skills == ("boats",)


def test_only_so_many_options_and_characters_are_read(decide: Any, host: Any) -> None:
    decide(ONE, judged_options=2, judge_characters=1_000)
    read = host.asked[0]["messages"][1]["content"]
    assert "option 2: boats" in read and "clocks" not in read
    with pytest.raises(ValidationError):
        judgement_over(2).model_validate(ONE | {"first": "3"})


@pytest.fixture
def key(index: Any, calibration_with: Any) -> Any:
    """The cache key of a judgement, with one thing changed."""

    def of(*, floor: float = 0.3, query: str = "q", options: int = 5, drawn: Any = index, **llm: Any) -> str:
        config = {"provider": "ollama", "model": "m"}
        roles = open_roles(LlmConfig.model_validate(config | llm))
        using = (drawn, calibration_with(floor=floor), roles.judge, roles.escalation)
        route = Route(query=query, clauses=())
        return judge.cache_key((route, POOL, NOTES), using, JudgeConfig(judged_options=options))

    return of


@pytest.mark.parametrize(
    "changed",
    [
        {"query": "another"},
        {"floor": 0.4},
        {"options": 4},
        {"model": "n"},
        {"provider": "none"},
        {"deterministic": False},
        {"roles": {"judge": "j"}},
        {"roles": {"escalation": "e"}},
    ],
    ids=["request", "calibration", "config", "model", "no model", "sampling", "judge", "escalation"],
)
def test_what_decides_a_pick_changes_its_cache_key(key: Any, changed: dict[str, Any]) -> None:
    assert key(**changed) != key()


def test_another_index_is_another_key(key: Any, index: Any) -> None:
    assert key(drawn=SearchIndex(replace(index.data, digest="another"))) != key()


def test_another_prompt_is_another_key(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr("pickysteve.tasks.roles.prompt_text", lambda name: "Another prompt.")
    assert key() != before


def test_other_code_is_another_key(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr("pickysteve.tasks.stage.code_digest", lambda: "other code")
    assert key() != before


@pytest.mark.parametrize(
    "changed", [{}, {"base_url": "http://127.0.0.1:9"}, {"api_key": "k"}, {"timeout_seconds": 3}]
)
def test_the_same_request_models_and_index_are_one_key_on_any_address(key: Any, changed: Any) -> None:
    assert key(**changed) == key()
