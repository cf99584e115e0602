"""Profiles: what each one sets, what wins over it, and what cannot work together."""

from __future__ import annotations

import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.config_report import config_rows
from pickysteve.flows.settings import config_file, load_settings


@pytest.fixture
def settings_file(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    return config_file()


def test_the_default_needs_nothing_but_this_machine():
    settings = load_settings()
    assert (settings.profile, settings.llm.provider, settings.rerank.model) == ("embedded", "none", "")


def test_local_is_ollama_and_bge(monkeypatch):
    monkeypatch.setenv("PS_PROFILE", "local")
    monkeypatch.setenv("PS_LLM__MODEL", "qwen3:4b")
    settings = load_settings()
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "qwen3:4b")
    assert settings.llm.address == "http://127.0.0.1:11434"
    assert settings.rerank.model == "BAAI/bge-reranker-base"


def test_hosted_is_any_openai_compatible_host(monkeypatch):
    monkeypatch.setenv("PS_PROFILE", "hosted")
    monkeypatch.setenv("PS_LLM__BASE_URL", "https://models.example.org/v1")
    monkeypatch.setenv("PS_LLM__MODEL", "large")
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-secret-1")
    settings = load_settings()
    assert (settings.llm.provider, settings.llm.address) == ("openai", "https://models.example.org/v1")
    assert settings.llm.model_of("judge") == "large"
    assert settings.llm.api_key.get_secret_value() == "sk-secret-1"
    assert settings.rerank.model == ""


def test_a_setting_of_ones_own_wins_over_the_profile_in_every_layer(monkeypatch, settings_file):
    settings_file.write_text(
        'profile = "local"\n[llm]\nmodel = "m"\n[rerank]\nmodel = "BAAI/bge-reranker-v2-m3"\n'
    )
    assert load_settings().rerank.model == "BAAI/bge-reranker-v2-m3"
    monkeypatch.setenv("PS_RERANK__MODEL", "/models/mine")
    assert load_settings().rerank.model == "/models/mine"
    monkeypatch.setenv("PS_LLM__PROVIDER", "none")
    assert load_settings().llm.provider == "none"


def test_the_command_line_chooses_over_the_environment_and_that_over_the_file(monkeypatch, settings_file):
    settings_file.write_text('profile = "local"\n[llm]\nmodel = "m"\n')
    assert load_settings().profile == "local"
    monkeypatch.setenv("PS_PROFILE", "hosted")
    assert load_settings().llm.provider == "openai"
    assert load_settings(profile="local").llm.provider == "ollama"


def test_the_report_says_what_comes_from_the_profile(monkeypatch):
    monkeypatch.setenv("PS_PROFILE", "local")
    monkeypatch.setenv("PS_LLM__MODEL", "m")
    origins = {row.name: row.origin for row in config_rows()}
    assert origins["profile"] == "PS_PROFILE"
    assert origins["llm.provider"] == origins["rerank.model"] == "profile local"
    assert (origins["llm.model"], origins["llm.base_url"]) == ("PS_LLM__MODEL", "default")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"PS_PROFILE": "locl"}, r"profile does not fit .*'embedded', 'local' or 'hosted'"),
        ({"PS_PROFIL": "local"}, "did you mean PS_PROFILE"),
        ({"PS_PROFILE": "local"}, r"a provider needs a model: set PS_LLM__MODEL"),
        ({"PS_PROFILE": "hosted"}, r"a provider needs a model: set PS_LLM__MODEL"),
        ({"PS_LLM__MODEL": "m"}, "the profile embedded asks no model: set PS_PROFILE to local"),
        ({"PS_LLM__BASE_URL": "http://127.0.0.1:1/v1"}, r"llm\.base_url is set.*hosted"),
        ({"PS_RERANK__MODL": "m"}, "did you mean PS_RERANK__MODEL"),
        ({"PS_EMBED__MODLE": "m"}, "did you mean PS_EMBED__MODEL"),
    ],
)
def test_what_cannot_work_is_said_with_its_remedy(monkeypatch, variables, said):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsInvalid, match=said):
        load_settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('profil = "local"', r"no setting profil .*did you mean profile\?"),
        ('[llm]\nmodle = "m"', r"no setting llm\.modle .*did you mean llm\.model\?"),
        ('[llm.roles]\njugde = "m"', r"no setting llm\.roles\.jugde .*did you mean llm\.roles\.judge\?"),
        ("qqqqqqqq = 1", r"no setting qqqqqqqq .*take it out"),
    ],
)
def test_a_misspelt_name_in_the_file_is_named_with_the_nearest_right_one(settings_file, text, said):
    settings_file.write_text(text)
    with pytest.raises(SettingsInvalid, match=said):
        load_settings()
