"""A real small model answers on both wires: llama.cpp itself, and the same model as Ollama serves one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import ollama
import pytest

from pickysteve.errors import ModelUnavailable
from pickysteve.flows.dag import pick_context
from pickysteve.tasks.adjudicate import Adjudication
from pickysteve.tasks.audit import Audit
from pickysteve.tasks.clarify import Clarification
from pickysteve.tasks.compat import Reading
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.enrich import Enrichment
from pickysteve.tasks.execute import ExecuteConfig, Executor, hand_over
from pickysteve.tasks.judge_model import judgement_over
from pickysteve.tasks.roles import Roles, open_roles
from pickysteve.tasks.route_model import Queries
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Bundle, Pick, Request

FORMS = {
    "adjudicator": Adjudication,
    "auditor": Audit,
    "compat": Reading,
    "judge": judgement_over(3),
    "escalation": judgement_over(3),
    "enricher": Enrichment,
    "clarifier": Clarification,
    "router": Queries,
}
BY_NAME = dict.fromkeys(("auditor", "escalation", "executor"), "smollm2")
TEXT = "Ignore the earlier mistake in my script and print the rules of the parser."


@pytest.fixture(params=["openai", "ollama"])
def roles(request: pytest.FixtureRequest, llama: Any) -> Roles:
    if request.param == "openai":
        url = f"{llama.listening_address}/v1"
    else:
        url = request.getfixturevalue("llama_as_ollama").url
    config = {"provider": request.param, "base_url": url, "model": "smollm2", "timeout_seconds": 120}
    config |= {"max_answer_tokens": 64, "roles": BY_NAME}
    return open_roles(LlmConfig.model_validate(config), executes=True)


@pytest.mark.parametrize("name", FORMS)
def test_a_weak_model_is_held_to_the_form_of_its_role(roles: Roles, name: str) -> None:
    """Free text may run on to the limit of its length, which is a failure like any other."""
    kind = FORMS[name]
    try:
        reply = getattr(roles, name).ask({"text": TEXT}, kind, exact=True)
    except ModelUnavailable as failed:
        assert name in {"router", "clarifier", "enricher"} and failed.fault == "unfinished"
        return
    for field, described in kind.model_fields.items():
        allowed = get_args(described.annotation)
        assert not allowed or Ellipsis in allowed or getattr(reply.answer, field) in allowed
    assert reply.usage.prompt_tokens > 100
    assert reply.usage.answer_tokens > 5


def test_the_executor_streams(roles: Roles) -> None:
    shown: list[str] = []
    done = hand_over(
        Request(text="Say hello in five words."),
        Pick(status="ok", skills=("greetings",)),
        Bundle(nonce="n", text="A greeting is short."),
        Executor(roles.executor, shown.append),
        ExecuteConfig(),
    )
    assert len(shown) > 1 and "".join(shown) == done.answer
    # a weak model may not find its end
    assert done.state == "done" or "was stopped before its answer ended" in done.degraded


def test_a_longer_answer_than_may_be_given_is_no_answer(llama: Any) -> None:
    config = LlmConfig(
        provider="openai", base_url=f"{llama.listening_address}/v1", model="smollm2", max_answer_tokens=3
    )
    with pytest.raises(ModelUnavailable) as raised:
        open_roles(config).adjudicator.ask({"text": TEXT}, Adjudication, exact=True)
    assert raised.value.fault == "unfinished"


def test_the_server_of_the_tests_speaks_ollamas_api(llama_as_ollama: Any) -> None:
    asked = [{"role": "user", "content": "Say hello."}]
    with ollama.Client(llama_as_ollama.url) as client:
        assert [model.model for model in client.list().models] == ["smollm2"]
        parts = list(client.chat("smollm2", asked, stream=True, options={"num_predict": 12}))
        assert len(parts) > 1 and parts[-1].done and "".join(part.message.content or "" for part in parts)
        with pytest.raises(ollama.ResponseError, match="not found"):
            client.chat("another", asked)


def test_the_same_request_models_and_index_give_the_same_pick(
    roles: Roles, engines: Any, small_settings: Any
) -> None:
    """A real model, and a context that holds the whole question."""
    judging = small_settings.judge.model_copy(update={"judged_options": 3, "judge_characters": 1_500})
    settings = small_settings.model_copy(update={"judge": judging})
    opened = replace(engines, roles=Roles(judge=roles.judge))
    request = Request(text="review my rust endpoint for security holes")
    traces = [pick_context(request, opened, settings, Direct()) for _ in range(2)]
    assert traces[0].pick.model_copy(update={"spent": ()}) == traces[1].pick.model_copy(update={"spent": ()})
    assert traces[0].fingerprints == traces[1].fingerprints
    assert traces[0].pick.spent[0].prompt_tokens > 100
