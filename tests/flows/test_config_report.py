import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.config_report import config_rows
from pickysteve.flows.settings import config_file


@pytest.fixture
def layered(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    config_file().write_text('exclude = ["a"]\n[llm]\nprovider = "openai"\nmodel = "from-file"\n')
    monkeypatch.setenv("PS_LLM__MODEL", "from-environment")
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-secret-1")
    monkeypatch.setenv("PS_GATE", '{"policy": "abort"}')
    return {row.name: row for row in config_rows(registry=tmp_path)}


@pytest.mark.parametrize(
    ("name", "value", "origin"),
    [
        ("exclude", ["a"], "config.toml"),
        ("llm.provider", "openai", "config.toml"),
        ("llm.model", "from-environment", "PS_LLM__MODEL"),
        ("gate.policy", "abort", "PS_GATE"),
        ("llm.roles.judge", "", "default"),
        ("gate.review", None, "default"),
    ],
)
def test_each_setting_tells_its_origin(layered, name, value, origin):
    assert layered[name].value == value
    assert layered[name].origin.endswith(origin)


def test_what_was_given_is_from_the_command_line(layered, tmp_path):
    assert (layered["registry"].value, layered["registry"].origin) == (str(tmp_path), "command line")


def test_of_a_key_only_that_there_is_one_is_shown(layered):
    assert layered["llm.api_key"].origin == "PS_LLM__API_KEY"
    assert set(layered["llm.api_key"].value) == {"*"}
    assert "secret" not in str(layered)


def test_a_variable_that_is_no_json_is_named(monkeypatch):
    monkeypatch.setenv("PS_EXCLUDE", "a,b")
    with pytest.raises(SettingsInvalid, match="exclude"):
        config_rows()
