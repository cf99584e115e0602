from __future__ import annotations

from typing import Any

import model_hosts as hosts
import pytest

from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.execute import ExecuteConfig, Executor, execute, hand_over
from pickysteve.tasks.roles import OFF, open_roles
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Bundle, Execution, Pick, Request

REQUEST = Request(text="tune the query")
PICK = Pick(status="ok", skills=("a",))
BUNDLE = Bundle(nonce="n", text="<<UNTRUSTED-n>>...<<END-n>>")


def test_without_an_executor_nothing_is_executed() -> None:
    output = Direct()(execute, REQUEST, PICK, BUNDLE, using=(Executor(),), config=ExecuteConfig())
    assert output == Execution(state="off", answer="")
    assert Executor().fingerprint == OFF.fingerprint


def test_an_execution_is_never_cached() -> None:
    assert not execute.cached


class TestByAModel:
    @pytest.fixture(params=["openai", "ollama"])
    def answered(self, request: pytest.FixtureRequest, host: Any) -> Any:
        given = {"provider": request.param, "base_url": host.url, "timeout_seconds": 1}
        config = LlmConfig.model_validate(given | {"roles": {"executor": "m"}})

        def run(behaviour: Any, show: Any, pick: Pick = PICK) -> Execution:
            host.tells(behaviour)
            executor = Executor(open_roles(config, executes=True).executor, show)
            return hand_over(REQUEST, pick, BUNDLE, executor, ExecuteConfig())

        return run

    def test_the_answer_is_shown_as_it_comes(self, answered: Any, host: Any) -> None:
        shown: list[str] = []
        found = answered(hosts.streams("Add", " an", " index."), shown.append)
        assert (found.state, found.answer) == ("done", "Add an index.")
        assert len(shown) > 1 and "".join(shown) == found.answer
        assert (found.spent[0].role, found.spent[0].answer_tokens) == ("executor", 3)
        (asked,) = host.asked
        assert asked["stream"] is True
        assert [REQUEST.text in turn["content"] for turn in asked["messages"]] == [False, True]
        assert BUNDLE.text in asked["messages"][1]["content"]

    def test_markers_and_secrets_do_not_leave_in_an_answer(self, answered: Any) -> None:
        shown: list[str] = []
        pieces = ("Set it: <<EN", "D-0123456789abcdef>> and AKIA", "Z7QW4RT2UY6PLM3N ok.")
        found = answered(hosts.streams(*pieces), shown.append)
        assert "".join(shown) == found.answer
        assert "0123456789abcdef" not in found.answer and "AKIA" not in found.answer
        assert "[redacted" in found.answer and found.answer.endswith(" ok.")

    @pytest.mark.parametrize(
        ("behaviour", "answer"),
        [
            (hosts.hangs, ""),
            (hosts.sends(b"{}", 401), ""),
            (hosts.streams("Add", " an", breaks=True), "Add an"),
            (hosts.streams("Add", hangs=True), "Add"),
            (hosts.streams("Add", finish="length"), "Add"),
            (hosts.sends(b"<html>", content_type="text/html"), ""),
        ],
    )
    def test_a_failure_keeps_what_came_and_says_so(
        self, answered: Any, behaviour: Any, answer: str, host: Any
    ) -> None:
        found = answered(behaviour, lambda piece: None)
        assert (found.state, found.answer) == ("failed", answer)
        assert found.degraded.startswith("no whole answer: The model m at ")
        assert len(host.asked) == 1

    def test_a_slow_answer_that_goes_on_is_not_cut(self, answered: Any) -> None:
        found = answered(hosts.streams(*"abcdefgh", pause_seconds=0.2), lambda piece: None)
        assert (found.state, found.answer) == ("done", "abcdefgh")

    def test_what_the_callers_show_raises_is_the_callers(self, answered: Any) -> None:
        def show(piece: str) -> None:
            raise BrokenPipeError(piece)

        with pytest.raises(BrokenPipeError):
            answered(hosts.streams("Add", " more"), show)

    def test_an_abstention_is_not_answered(self, answered: Any, host: Any) -> None:
        pick = Pick(status="no_confident_match")
        assert answered(hosts.streams("x"), lambda piece: None, pick).state == "off"
        assert host.asked == []


def test_the_common_model_executes_nothing() -> None:
    assert open_roles(LlmConfig(provider="ollama", model="m"), executes=True).executor.model is None


def test_an_executor_is_opened_only_where_it_is_wanted() -> None:
    config = LlmConfig.model_validate({"provider": "ollama", "roles": {"executor": "m"}})
    assert open_roles(config).executor.model is None
    assert open_roles(config, executes=True).executor.model is not None
