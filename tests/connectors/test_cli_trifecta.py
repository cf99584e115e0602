"""`pickysteve trifecta`, `report` and `runs stats` on the tiny suite, in this process."""

import json

import pytest
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.errors import RunMissing, SettingsInvalid, SuiteInvalid


@pytest.fixture(scope="module")
def invoke(small_settings):
    def run(*words):
        variables = {"PS_INDEX_DIR": str(small_settings.index_dir), "COLUMNS": "200"}
        return CliRunner().invoke(app, [str(word) for word in words], env=variables)

    return run


@pytest.fixture(scope="module")
def accepted(invoke, tiny_table, tmp_path_factory):
    """A run that was accepted: its folder, and the baseline file."""
    folder = tmp_path_factory.mktemp("cli")
    out, baseline = folder / "out", folder / "baseline.json"
    result = invoke("trifecta", "--table", tiny_table, "--out", out, "--baseline", baseline, "--accept")
    assert result.exit_code == 0, result.output
    assert "no baseline yet" in result.output and f"accepted: {baseline}" in result.output.replace("\n", "")
    return out, baseline


def again(invoke, tiny_table, out, baseline, *more):
    """The same folder once more: its rows hold, so that nothing is run."""
    return invoke("trifecta", "--table", tiny_table, "--out", out, "--baseline", baseline, *more)


def test_the_accepted_run_passes_against_itself(invoke, tiny_table, accepted):
    out, baseline = accepted
    result = again(invoke, tiny_table, out, baseline)
    assert result.exit_code == 0, result.output
    assert "not significantly worse" in result.output and "Passed" in result.output
    assert "19 rows were there" in result.output
    assert (out / "report.html").is_file()


def test_a_regression_exits_with_one_and_names_the_rows(invoke, tiny_table, accepted, tmp_path):
    out, baseline = accepted
    content = json.loads(baseline.read_text())
    suite = content["suites"]["tiny"]
    # rows that are wrong now, and five that would be right only by another answer, were all right before
    suite["right"] |= suite.pop("wrong")
    suite["wrong"] = {}
    (tmp_path / "better.json").write_text(json.dumps(content))
    table = tmp_path / "suites.toml"
    table.write_text(
        tiny_table.read_text().replace("suite.jsonl", str(tiny_table.parent / "suite.jsonl"))
        + "at_least = { right = 0.99 }\n"
    )
    result = again(invoke, table, out, tmp_path / "better.json", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    (found,) = report["suites"]
    assert found["broken_floors"][0]["figure"] == "right"
    assert {row["id"] for row in found["comparison"]["changed"]} == set(
        json.loads(baseline.read_text())["suites"]["tiny"]["wrong"]
    )


def test_changed_data_exits_with_two_and_asks_for_accept(invoke, tiny_table, accepted, tmp_path):
    out, baseline = accepted
    content = json.loads(baseline.read_text())
    content["suites"]["tiny"]["dataset_sha256"] = "0" * 64
    (tmp_path / "old.json").write_text(json.dumps(content))
    result = again(invoke, tiny_table, out, tmp_path / "old.json")
    assert result.exit_code == 2
    assert "--accept" in result.output and "Incomparable" in result.output


def test_an_unknown_suite_and_a_missing_table_get_one_sentence(invoke, tiny_table, tmp_path):
    result = invoke("trifecta", "--table", tiny_table, "--suite", "tinny")
    assert isinstance(result.exception, SuiteInvalid) and "did you mean tiny" in str(result.exception)
    result = invoke("trifecta", "--table", tmp_path / "none.toml")
    assert isinstance(result.exception, SuiteInvalid) and "--table" in str(result.exception)


def test_dask_without_task_runs_is_no_way_to_run(invoke, tiny_table, tmp_path):
    result = invoke("trifecta", "--table", tiny_table, "--out", tmp_path / "out", "--dask", "local")
    assert isinstance(result.exception, SettingsInvalid)
    assert "--orchestrated" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_run_is_put_into_shared_storage_with_its_page(invoke, tiny_table, accepted, tmp_path, monkeypatch):
    monkeypatch.setenv("PS_SHARED", f"file://{tmp_path}")
    out, baseline = accepted
    assert again(invoke, tiny_table, out, baseline).exit_code == 0
    for name in ("report.html", "trifecta.json"):
        assert (tmp_path / "runs" / out.name / name).read_bytes() == (out / name).read_bytes()


def test_the_report_is_written_anew_and_its_place_printed(invoke, accepted):
    out, _ = accepted
    (out / "report.html").unlink()
    result = invoke("report", out)
    assert result.exit_code == 0, result.output
    assert str(out / "report.html") in result.output.replace("\n", "")
    assert (out / "report.html").is_file()
    assert json.loads(invoke("report", out, "--json").stdout)["suites"][0]["name"] == "tiny"
    missing = invoke("report", out / "nowhere")
    assert isinstance(missing.exception, RunMissing)


def test_the_runs_of_a_suite_can_be_counted(invoke, small_settings, accepted, monkeypatch):
    out, _ = accepted
    monkeypatch.setenv("PS_RUNS_DIR", str(out / "run-1" / "tiny" / "runs"))
    result = invoke("runs", "stats", "--registry", small_settings.registry)
    assert result.exit_code == 0, result.output
    assert (
        "19 runs" in result.output and "postgres-tuning" in result.output and "never picked" in result.output
    )
    usage = json.loads(invoke("runs", "stats", "--registry", small_settings.registry, "--json").stdout)
    assert usage["runs"] == 19 and usage["stages"][-1]["stage"] == "run"
    assert json.loads(invoke("runs", "stats", "--json").stdout)["other_registries"] == 19
    assert json.loads(invoke("runs", "stats", "--all", "--since", "2d", "--json").stdout)["runs"] == 19
    wrong = invoke("runs", "stats", "--since", "yesterday")
    assert isinstance(wrong.exception, SettingsInvalid) and "7d" in str(wrong.exception)


def test_lint_tells_by_its_exit_code_whether_something_must_be_mended(invoke, small_settings, tmp_path):
    clean = invoke("skills", "lint", "--registry", small_settings.registry, "--json")
    assert clean.exit_code == 0
    assert not [finding for finding in json.loads(clean.stdout) if finding["fatal"]]
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / "good.md").write_text("---\nname: good\ndescription: Does good.\n---\nBody text.\n")
    (folder / "broken.md").write_text("---\nname: [\n---\nBroken.\n")
    broken = invoke("skills", "lint", "--registry", folder)
    assert broken.exit_code == 1
    assert "1 to mend" in broken.output and "broken.md" in broken.output
