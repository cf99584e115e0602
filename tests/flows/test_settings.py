import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.settings import built_in_registry, config_file, load_settings


def test_the_defaults_use_the_skills_that_come_with_the_package():
    settings = load_settings()
    assert settings.registry == built_in_registry()
    assert (settings.registry / "rust-review" / "SKILL.md").is_file()


def test_the_environment_sets_nested_fields(monkeypatch):
    monkeypatch.setenv("PS_GATE__POLICY", "abort")
    monkeypatch.setenv("PS_RETRIEVE__TOP_N", "7")
    settings = load_settings()
    assert (settings.gate.policy, settings.retrieve.top_n) == ("abort", 7)


def test_a_model_is_set_for_all_roles_and_for_one(monkeypatch):
    monkeypatch.setenv("PS_LLM__PROVIDER", "ollama")
    monkeypatch.setenv("PS_LLM__MODEL", "small")
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-secret-1")
    monkeypatch.setenv("PS_LLM__ROLES__ADJUDICATOR", "large")
    settings = load_settings()
    assert [settings.llm.model_of(role) for role in ("adjudicator", "judge")] == ["large", "small"]
    assert "secret-1" not in f"{settings!r} {settings.model_dump_json()}"
    assert settings.llm.api_key.get_secret_value() == "sk-secret-1"


def test_what_is_given_wins_over_the_environment_and_that_over_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    config_file().write_text('exclude = ["a"]\nruns_dir = "/file"\nindex_dir = "/file"\nregistry = "/file"\n')
    monkeypatch.setenv("PS_RUNS_DIR", "/environment")
    monkeypatch.setenv("PS_REGISTRY", "/environment")
    settings = load_settings(registry="/given")
    assert settings.exclude == ("a",)
    assert [str(p) for p in (settings.index_dir, settings.runs_dir, settings.registry)] == [
        "/file",
        "/environment",
        "/given",
    ]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PS_RUN_DIR", "/x", "PS_RUNS_DIR"),
        ("PS_GATE__POLICI", "drop", "PS_GATE__POLICY"),
        ("PS_GATE__POLICY", "maybe", "gate.policy"),
        ("PS_RETRIEVE__TOP_N", "0", "retrieve.top_n"),
        ("PS_LLM__PROVIDER", "ollama", "PS_LLM__MODEL"),
        ("PS_LLM__PROVIDR", "ollama", "PS_LLM__PROVIDER"),
        ("PS_LLM__ROLES__JUGDE", "m", "PS_LLM__ROLES__JUDGE"),
        ("PS_LLM__BASE_URL", "http://me:key@host", "llm.base_url"),
    ],
)
def test_a_wrong_name_or_value_is_named_with_its_remedy(monkeypatch, variable, value, said):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsInvalid, match=said):
        load_settings()


def test_a_broken_settings_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    config_file().write_text("exclude = [")
    with pytest.raises(SettingsInvalid, match=r"config\.toml"):
        load_settings()


def test_settings_do_not_change_after_they_are_built():
    with pytest.raises(ValueError, match="frozen"):
        load_settings().exclude = ("x",)
