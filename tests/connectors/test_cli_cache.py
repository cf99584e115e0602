"""`pickysteve cache` in this process."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.errors import SettingsInvalid
from pickysteve.flows.cache import NEVER_CACHED
from pickysteve.tasks.cache_files import cache_folder


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder().mkdir(parents=True)
    for stage in ("route", "judge"):
        (cache_folder() / f"{stage}-{'0' * 64}").write_bytes(b"12345")
    return lambda *words: CliRunner().invoke(app, ["cache", *words], env={"COLUMNS": "200"})


def test_it_says_what_is_there_what_is_in_a_key_and_what_is_never_cached(invoke) -> None:
    result = invoke()
    assert result.exit_code == 0, result.output
    assert f"2 results, 10 bytes, in {cache_folder()}" in result.output
    assert "a result is used for 1 d" in result.output
    for stage, reason in NEVER_CACHED.items():
        assert f"{stage}: {reason}" in result.output


def test_programs_read_json(invoke) -> None:
    report = json.loads(invoke("--json").output)
    assert (report["files"], report["bytes"], report["expired"]) == (2, 10, 0)
    assert {stage["stage"] for stage in report["stages"] if not stage["cached"]} == set(NEVER_CACHED)


def test_clearing_says_how_many_files_and_how_much(invoke) -> None:
    assert invoke("clear", "--older-than", "2d").output == "removed 0 files, 0 bytes\n"
    assert invoke("clear", "--stage", "judge").output == "removed 1 files, 5 bytes\n"
    assert json.loads(invoke("clear", "--json").output) == {"files": 1, "bytes": 5}
    assert "is empty" in invoke().output


@pytest.mark.parametrize("words", [("--older-than", "soon"), ("--older-than", "-1d"), ("--stage", "log")])
def test_a_mistake_removes_nothing(invoke, words: tuple[str, ...]) -> None:
    result = invoke("clear", *words)
    assert isinstance(result.exception, SettingsInvalid)
    assert len(list(cache_folder().iterdir())) == 2
