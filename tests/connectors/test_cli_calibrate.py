"""`pickysteve calibrate`, and a calibration that does not fit, as a user meets them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pickysteve.calibration.fitted import EMBEDDED, read_fitted
from pickysteve.connectors.cli import app
from pickysteve.errors import CalibrationMismatch, RegistryMissing, SettingsInvalid, SuiteInvalid
from pickysteve.tasks.engines.features import SCORING_VERSION


@pytest.fixture
def command(engines, small_settings, monkeypatch):
    """Run a command in this process on the small registry, whose index is there already."""
    monkeypatch.setenv("PS_REGISTRY", str(small_settings.registry))
    monkeypatch.setenv("PS_INDEX_DIR", str(small_settings.index_dir))
    monkeypatch.setenv("PS_RUNS_DIR", str(small_settings.runs_dir))

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


@pytest.fixture
def foreign(tmp_path, monkeypatch) -> Path:
    """The setting names a calibration made for another model."""
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(json.loads(EMBEDDED.read_text()) | {"encoder": "another-model"}))
    monkeypatch.setenv("PS_CALIBRATION", str(path))
    return path


@pytest.mark.parametrize("words", [("--registry", "x"), ("--suite", "x"), ("--weights",)])
def test_half_of_what_a_calibration_of_ones_own_needs_is_refused(command, words):
    result = command("calibrate", *words)
    assert isinstance(result.exception, SettingsInvalid)
    assert "--registry DIR and --suite FILE" in str(result.exception)


def test_outside_a_checkout_the_splits_are_missed_by_name(command, tmp_path):
    result = command("calibrate", "--datasets", tmp_path)
    assert isinstance(result.exception, RegistryMissing)
    assert "--datasets" in str(result.exception)


def test_too_few_rows_of_ones_own_are_counted(command, small_settings, tmp_path):
    suite = tmp_path / "suite.jsonl"
    suite.write_text(json.dumps({"request": "tune this slow query", "gold": ["postgres-tuning"]}))
    result = command("calibrate", "--registry", small_settings.registry, "--suite", suite)
    assert isinstance(result.exception, SuiteInvalid)
    assert "at least 40 and 10" in str(result.exception)


def test_ones_own_calibration_is_written_and_its_setting_told(
    command, small_settings, small_index, tmp_path, encoder
):
    rows = [
        {"request": f"please: {example.text}", "gold": [skill.skill_id]}
        for skill in small_index.skills.values()
        for example in skill.examples[:6]
    ]
    rows += [{"request": f"write poem number {number}", "gold": []} for number in range(12)]
    suite, out = tmp_path / "suite.jsonl", tmp_path / "deep" / "own.json"
    suite.write_text("\n".join(map(json.dumps, rows)))
    result = command("calibrate", "--registry", small_settings.registry, "--suite", suite, "--out", out)
    assert result.exit_code == 0, result.output
    assert f"PS_CALIBRATION={out}" in result.stdout and "lac coverage" in result.stdout
    assert read_fitted(out, encoder=encoder.fingerprint, scoring=SCORING_VERSION).report["requests"] == len(
        rows
    )


def test_a_calibration_for_another_model_is_refused(command, foreign):
    result = command("pick", "tune this slow query")
    assert isinstance(result.exception, CalibrationMismatch)
    assert "another-model" in str(result.exception) and "--allow-uncalibrated" in str(result.exception)


def test_whoever_allows_an_uncalibrated_pick_is_told_so(command, foreign):
    shown = command("pick", "tune this slow query", "--allow-uncalibrated")
    assert shown.exit_code == 0, shown.output
    assert "low confidence" in shown.stdout and "rerank fell back: uncalibrated" in shown.stdout
    answer = json.loads(command("pick", "tune this slow query", "--allow-uncalibrated", "--json").stdout)
    assert answer["low_confidence"] is True and answer["confidence"] is None
    assert [fallback["stage"] for fallback in answer["degraded"]] == ["rerank"]


def test_an_uncalibrated_evaluation_is_refused_or_allowed_alike(command, foreign, tmp_path):
    suite = tmp_path / "suite.jsonl"
    suite.write_text(json.dumps({"request": "tune this slow query", "gold": ["postgres-tuning"]}))
    words = ("eval", "--suite", suite, "--out", tmp_path / "out", "--json")
    assert isinstance(command(*words).exception, CalibrationMismatch)
    allowed = command(*words, "--allow-uncalibrated")
    assert allowed.exit_code == 0, allowed.output
    assert json.loads(allowed.stdout)["ours"]["n"] == 1


def test_a_calibrated_pick_says_how_often_such_a_score_was_right(command):
    answer = json.loads(command("pick", "tune this slow postgres query", "--json").stdout)
    assert answer["picks"] == ["postgres-tuning"]
    assert 0.5 < answer["confidence"] <= 1
