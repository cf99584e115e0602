"""Every fault of a host, over real sockets and on both wires, and what is said of it."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any, Literal

import model_hosts as hosts
import pytest

from pickysteve.errors import ModelUnavailable
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.llm import LlmConfig, Message, Price, chat_model

ASKED = (Message("system", "Judge."), Message("user", "The data."))
NO_CHAT = b"<html>It works!</html>"


class Answer(Value):
    word: Literal["yes", "no"]


@pytest.fixture(params=["openai", "ollama"])
def model(request: pytest.FixtureRequest, host: Any) -> Any:
    def build(**changes: Any) -> Any:
        given = {"provider": request.param, "base_url": host.url, "model": "m", "timeout_seconds": 5}
        return chat_model(LlmConfig.model_validate(given | changes), "judge")

    return build


def fault_of(model: Any) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as raised:
        model.chat(ASKED, Answer)
    return raised.value


def test_an_answer_comes_back_validated_and_counted(model: Any, host: Any) -> None:
    host.tells(hosts.says({"word": "yes"}, prompt_tokens=1000, answer_tokens=500))
    reply = model(prices={"m": Price(prompt=2, answer=4)}).chat(ASKED, Answer)
    assert reply.answer == Answer(word="yes")
    assert (reply.usage.prompt_tokens, reply.usage.answer_tokens) == (1000, 500)
    assert reply.usage.cost == pytest.approx(0.004)
    assert model().chat(ASKED, Answer).usage.cost is None
    assert [turn["content"] for turn in host.asked[0]["messages"]] == ["Judge.", "The data."]


@pytest.mark.parametrize(
    ("behaviour", "fault", "calls"),
    [
        (hosts.breaks_off, "cut-off", 1),
        (hosts.floods, "too-long", 1),
        (hosts.sends(b"", 500), "server-error", 3),
        (hosts.sends(b'{"error": "busy"}', 503, retry_after="0"), "server-error", 3),
        (hosts.sends(b'{"error": "slow down"}', 429, retry_after="0"), "rate-limited", 3),
        (hosts.sends(b'{"error": "bad key"}', 401), "key", 1),
        (hosts.sends(b'{"error": "no such model"}', 404), "missing", 1),
        (hosts.sends(b'{"error": "format?"}', 400), "rejected", 1),
        (hosts.sends(b"", 302, location="http://127.0.0.1:9/"), "rejected", 1),
        (hosts.sends(NO_CHAT, content_type="text/html"), "broken", 1),
        (hosts.sends(b"[]"), "broken", 1),
        (hosts.sends(b'{"choices": [], "message": 3}'), "broken", 1),
        (hosts.sends(b"\x1f\x8b", content_encoding="gzip"), "broken", 1),
        (hosts.says(""), "empty", 1),
        (hosts.says(None), "empty", 1),
        (hosts.says('{"word": "ye', finish="length"), "unfinished", 1),
        (hosts.says('{"word": "yes"}', finish="content_filter"), "unfinished", 1),
        (hosts.says('{"word": "ye'), "invalid-answer", 1),
        (hosts.says({"word": "maybe"}), "invalid-answer", 1),
        (hosts.says("Yes, certainly."), "invalid-answer", 1),
    ],
)
def test_each_fault_is_named_and_only_passing_ones_are_tried_again(
    model: Any, host: Any, behaviour: Any, fault: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickysteve.tasks.engines.llm_host.BACKOFF_SECONDS", 0.01)
    host.tells(behaviour)
    error = fault_of(model())
    assert error.fault == fault
    assert str(error).startswith(f"The model m at {host.url} ") and str(error).endswith(".")
    assert ": " in str(error)
    assert len(host.asked) == calls


@pytest.mark.parametrize("behaviour", [hosts.hangs, hosts.dribbles])
def test_a_deadline_ends_a_call_however_slowly_it_goes_on(model: Any, host: Any, behaviour: Any) -> None:
    host.tells(behaviour)
    assert fault_of(model(timeout_seconds=0.3)).fault == "timeout"


def test_a_wait_that_outlasts_the_deadline_is_not_begun(model: Any, host: Any) -> None:
    host.tells(hosts.sends(b"{}", 429, retry_after="3600"))
    assert fault_of(model()).fault == "rate-limited"
    assert len(host.asked) == 1


def test_a_fault_that_passes_is_survived(model: Any, host: Any) -> None:
    host.tells(hosts.sends(b"{}", 429, retry_after="0"), hosts.says({"word": "no"}))
    assert model().chat(ASKED, Answer).answer.word == "no"


def test_two_callers_do_not_try_again_at_the_same_moment(
    model: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("anyio.sleep", sleep)
    for _ in range(2):
        host.tells(hosts.sends(b"{}", 503))
        fault_of(model())
    assert len(set(waited)) == 4
    assert all(0.5 <= first < 1 <= second < 2 for first, second in (waited[:2], waited[2:]))


def test_nobody_listening_is_refused(model: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    error = fault_of(model(base_url=url))
    assert error.fault == "refused"
    assert "PS_LLM__BASE_URL" in str(error)


def test_an_answer_in_prose_is_repaired_once_and_said_to_be(model: Any, host: Any) -> None:
    host.tells(hosts.says('Here: {"word": "yes"}.'))
    assert model().chat(ASKED, Answer).repaired
    with pytest.raises(ModelUnavailable):
        model().chat(ASKED, Answer, exact=True)


def test_the_key_is_sent_and_never_logged(model: Any, host: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    host.tells(hosts.sends(b"{}", 401))
    error = fault_of(model(api_key="sk-secret-1"))
    sent = {name.lower(): value for name, value in host.headers[0].items()}
    assert sent["authorization"] == "Bearer sk-secret-1"
    assert "secret-1" not in f"{caplog.text} {error} {error.__cause__!r}"


def test_a_caller_inside_a_running_loop_may_ask(model: Any, host: Any) -> None:
    host.tells(hosts.says({"word": "yes"}))

    async def asking() -> Any:
        return model().chat(ASKED, Answer)

    assert asyncio.run(asking()).answer.word == "yes"


def test_a_prompt_that_filled_the_context_was_not_read_whole(host: Any) -> None:
    host.tells(hosts.says({"word": "yes"}, prompt_tokens=4096))
    config = LlmConfig(provider="ollama", base_url=host.url, model="m", context_tokens=4096)
    assert fault_of(chat_model(config, "judge")).fault == "unread"


def test_ollama_is_asked_with_thinking_off_and_the_schema_as_format(host: Any) -> None:
    host.tells(hosts.says({"word": "yes"}))
    config = LlmConfig(provider="ollama", base_url=host.url, model="m", max_answer_tokens=64)
    chat_model(config, "judge").chat(ASKED, Answer)
    (asked,) = host.asked
    assert (asked["think"], asked["stream"]) == (False, False)
    assert asked["format"]["properties"]["word"]["enum"] == ["yes", "no"]
    assert asked["options"] == {"num_ctx": 16_384, "num_predict": 64, "temperature": 0, "seed": 1}


def test_an_openai_host_is_asked_with_a_strict_schema(host: Any) -> None:
    host.tells(hosts.says({"word": "yes"}))
    config = LlmConfig(provider="openai", base_url=host.url, model="m", deterministic=False)
    chat_model(config, "judge").chat(ASKED, Answer)
    (asked,) = host.asked
    assert asked["response_format"]["json_schema"]["strict"] is True
    assert asked["max_completion_tokens"] == 2_000
    assert not {"temperature", "seed"} & asked.keys()
