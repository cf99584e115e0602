"""`pickysteve setup`: what it finds, asks and saves, and that nothing is saved that does not work."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from typing import Any

import keyring
import model_hosts as hosts
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.errors import ModelUnavailable, PickyError, SettingsInvalid
from pickysteve.flows.keys import key_file
from pickysteve.flows.settings import config_file, load_settings
from pickysteve.flows.setup import ollama_address

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


class Served(hosts.Host):
    """Lists its models as Ollama does and as OpenAI does."""

    names: tuple[str, ...] = ("qwen3:4b",)

    def tags(self) -> dict[str, Any]:
        listed = [{"name": name, "model": name} for name in self.names]
        return {
            "models": listed,
            "object": "list",
            "data": [{"id": n, "object": "model"} for n in self.names],
        }


@pytest.fixture
def served() -> Any:
    with hosts.running(Served()) as host:
        yield host.tells(hosts.says({"word": "ready"}))


@pytest.fixture(autouse=True)
def nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{free.getsockname()[1]}")
    yield
    keyring.set_keyring(before)


def run(*words: str, answers: str = "") -> Any:
    return CliRunner().invoke(app, ["setup", *words], input=answers)


def saved() -> dict[str, Any]:
    return tomllib.loads(config_file().read_text())


def refusal(done: Any) -> str:
    assert isinstance(done.exception, PickyError) and not config_file().exists()
    return str(done.exception)


def test_a_running_ollama_is_found_tried_and_saved(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", served.url)
    done = run("--yes")
    assert done.exit_code == 0, done.output
    assert "Found Ollama." in done.stdout and "qwen3:4b answered in" in done.stdout
    assert served.asked[0]["think"] is False and len(served.asked) == 1
    assert saved() == {"profile": "local", "llm": {"model": "qwen3:4b", "base_url": served.url}}
    monkeypatch.delenv("OLLAMA_HOST")
    settings = load_settings()
    assert (settings.llm.provider, settings.llm.address) == ("ollama", served.url)
    assert settings.rerank.model == "BAAI/bge-reranker-base"
    assert 'has no floor yet: run "pickysteve calibrate"' in done.stdout


def test_it_asks_which_of_several_and_takes_a_number_or_a_name(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.names = ("small", "large")
    monkeypatch.setenv("OLLAMA_HOST", served.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
    done = run(answers="9\n1\n2\n")
    assert "1  Ollama (2 models)" in done.stdout and "2  OpenAI (key in OPENAI_API_KEY)" in done.stdout
    assert saved()["llm"]["model"] == "large"
    run(answers="1\nsmall\n")
    assert saved()["llm"]["model"] == "small"


def test_a_host_with_a_key_from_a_variable(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-1")
    url = f"{served.url}/v1"
    done = run("--yes", "--base-url", url, "--model", "large", "--key-variable", "MY_KEY")
    assert done.exit_code == 0, done.output
    assert served.headers[0]["authorization"] == "Bearer sk-secret-1"
    assert saved() == {
        "profile": "hosted",
        "llm": {"model": "large", "base_url": url, "key_store": "file"},
    }
    assert key_file().stat().st_mode & 0o777 == 0o600
    assert "secret-1" not in done.output + config_file().read_text()
    assert load_settings().llm.api_key.get_secret_value() == "sk-secret-1"


def test_a_key_is_typed_unseen_or_read_from_standard_input(served: Any) -> None:
    url = f"{served.url}/v1"
    typed = run("--base-url", url, answers="sk-typed\n1\n")
    assert typed.exit_code == 0 and "sk-typed" not in typed.output
    assert load_settings().llm.api_key.get_secret_value() == "sk-typed"
    run("--yes", "--base-url", url, "--model", "m", "--key-stdin", answers="sk-piped\n")
    assert load_settings().llm.api_key.get_secret_value() == "sk-piped"
    config_file().unlink()
    key_file().unlink()
    run("--yes", "--base-url", url, "--model", "m", "--key-stdin", "--store", "none", answers="sk-piped\n")
    assert not key_file().exists() and "key_store" not in saved()["llm"]


def test_the_rest_of_the_settings_file_stays(served: Any) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text(
        '# mine\nexclude = ["a"]\n\n[llm]\nprovider = "ollama"\nmodel = "old"\ntimeout_seconds = 9\n'
        '\n[gate]\npolicy = "abort"  # strict\n'
    )
    run("--yes", "--base-url", f"{served.url}/v1", "--model", "new", "--reranker", "embedded")
    text = config_file().read_text()
    assert "# mine" in text and "# strict" in text
    settings = load_settings()
    assert (settings.profile, settings.llm.provider, settings.llm.model) == ("hosted", "openai", "new")
    assert (settings.exclude, settings.llm.timeout_seconds, settings.gate.policy) == (("a",), 9, "abort")


def test_back_to_the_embedded_profile(served: Any) -> None:
    run("--yes", "--base-url", f"{served.url}/v1", "--model", "m")
    assert run("--profile", "embedded").exit_code == 0
    assert saved() == {"profile": "embedded"}
    assert load_settings().llm.provider == "none"


def test_a_model_that_does_not_answer_is_not_saved(served: Any) -> None:
    served.tells(hosts.sends(b"{}", 404))
    done = run("--yes", "--base-url", f"{served.url}/v1", "--model", "absent")
    assert isinstance(done.exception, ModelUnavailable) and "correct PS_LLM__MODEL" in refusal(done)
    assert run("--yes", "--base-url", f"{served.url}/v1", "--model", "absent", "--no-try").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--yes",), "No Ollama answers here and no key variable is set"),
        (("--yes", "--base-url", "http://127.0.0.1:9/v1"), "pass --model"),
        (("--yes", "--base-url", "nowhere", "--model", "m"), "base_url"),
        (("--yes", "--base-url", "http://h/v1", "--model", "m", "--key-variable", "NO_KEY"), "NO_KEY is not"),
        (("--base-url", "http://127.0.0.1:9/v1"), "Nobody answered, and nothing was saved"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_saved(words: tuple[str, ...], said: str) -> None:
    assert said in refusal(run(*words))


def test_scripts_with_several_models_are_told_their_names(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.names = ("small", "large")
    monkeypatch.setenv("OLLAMA_HOST", served.url)
    assert "It has small, large." in refusal(run("--yes"))


def test_a_missing_keyring_is_said(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    words = ("--yes", "--base-url", f"{served.url}/v1", "--model", "m", "--key-variable", "MY_KEY")
    assert "no keyring that works" in refusal(run(*words, "--store", "keyring"))


def test_a_variable_that_wins_over_the_file_is_named(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PS_LLM__MODEL", "other")
    done = run("--yes", "--base-url", f"{served.url}/v1", "--model", "m")
    assert "PS_LLM__MODEL is set and wins over the file: unset it." in done.stdout


def test_a_settings_file_that_is_broken_is_left_as_it_is(served: Any) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("exclude = [")
    done = run("--yes", "--base-url", f"{served.url}/v1", "--model", "m")
    assert isinstance(done.exception, SettingsInvalid) and config_file().read_text() == "exclude = ["


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", ""),
        ("http://box:1", "http://box:1"),
        ("box:1", "http://box:1"),
        ("box", "http://box:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:9", "http://[::1]:9"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    assert ollama_address(host) == address
