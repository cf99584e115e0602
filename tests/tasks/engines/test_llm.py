from __future__ import annotations

import pytest
from pydantic import ValidationError

from pickysteve.tasks.engines.llm import LlmConfig, RoleModels, chat_model


def test_without_a_provider_no_role_has_a_model() -> None:
    assert chat_model(LlmConfig(), "judge") is None


def test_a_role_takes_its_own_model_or_the_common_one_or_none() -> None:
    roles = RoleModels(judge="large", router="off")
    config = LlmConfig(provider="ollama", model="small", roles=roles)
    assert [config.model_of(role) for role in ("judge", "router", "compat")] == ["large", "", "small"]
    assert chat_model(config, "router") is None


def test_who_reads_a_whole_library_or_answers_is_named_for_it() -> None:
    common = LlmConfig(provider="ollama", model="m")
    named = LlmConfig(provider="ollama", model="m", roles=RoleModels(auditor="a", executor="e"))
    for role in ("auditor", "executor"):
        assert common.model_of(role) == ""
        assert named.model_of(role) == role[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"provider": "openai"}, "needs a model"),
        ({"base_url": "http://user:key@host/v1"}, "holds no key"),
        ({"base_url": "host:8080"}, "base_url"),
        ({"api_key": "two words"}, "printable ASCII"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"modle": "m"}, "modle"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        LlmConfig.model_validate(given)


def test_a_key_is_not_shown() -> None:
    config = LlmConfig(provider="openai", model="m", api_key="sk-secret-1")
    assert "secret-1" not in f"{config!r} {config.model_dump_json()}"


def test_the_fingerprint_follows_what_decides_an_answer_and_nothing_else() -> None:
    def fingerprint(**changes: object) -> str:
        base = {"provider": "openai", "model": "m", "api_key": "k", "base_url": "http://127.0.0.1:1"}
        return chat_model(LlmConfig.model_validate(base | changes), "judge").fingerprint

    assert fingerprint() == fingerprint(api_key="other", base_url="http://127.0.0.1:2", timeout_seconds=3)
    decisive = [
        {},
        {"provider": "ollama"},
        {"model": "n"},
        {"roles": {"judge": "j"}},
        {"deterministic": False},
        {"max_answer_tokens": 9},
        {"context_tokens": 9},
    ]
    assert len({fingerprint(**changes) for changes in decisive}) == len(decisive)
