"""`pickysteve runs report` in this process, without a server; with one it is run in tests/flows."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.errors import ServerMissing, SettingsInvalid


@pytest.fixture
def invoke(tmp_path: Path):
    variables = {"PS_RUNS_DIR": str(tmp_path / "runs")}
    return lambda *words: CliRunner().invoke(app, ["runs", "report", *words], env=variables)


def test_without_a_server_it_says_how_to_start_one(invoke) -> None:
    result = invoke()
    assert isinstance(result.exception, ServerMissing)
    assert result.exception.exit_code == 2
    assert "prefect server start" in str(result.exception)


def test_a_day_that_is_none_is_refused_before_a_server_is_asked(invoke) -> None:
    assert isinstance(invoke("--since", "yesterday").exception, SettingsInvalid)
