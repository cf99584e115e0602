import json

from typer.testing import CliRunner

from pickysteve.connectors.cli import app


def test_the_settings_are_printed_with_their_origin_and_without_secrets(monkeypatch):
    monkeypatch.setenv("PS_LLM__API_KEY", "sk-secret-1")
    done = CliRunner().invoke(app, ["config", "show", "--changed"])
    assert done.exit_code == 0
    assert "llm.api_key" in done.stdout and "PS_LLM__API_KEY" in done.stdout
    assert "secret" not in done.stdout and "gate.policy" not in done.stdout


def test_programs_get_every_setting_as_json():
    done = CliRunner().invoke(app, ["config", "show", "--json"])
    rows = json.loads(done.stdout)
    assert {"name": "gate.policy", "value": "drop", "origin": "default"} in rows
