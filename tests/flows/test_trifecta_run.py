"""The trifecta without a server: what it writes, what it resumes, and that a regression is caught."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from pickysteve.errors import RunMissing, SuiteInvalid
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.trifecta_baseline import Baseline
from pickysteve.flows.trifecta_report import read_report, suite_folder
from pickysteve.flows.trifecta_run import accepted, run_trifecta
from pickysteve.tasks.engines.reranker import Calibration, EmbeddedReranker


@pytest.fixture(scope="module")
def baseline(tiny_run):
    report, out = tiny_run
    return accepted(report, out, Baseline())


def with_weights_swapped(engines, one="centroid", other="text.z"):
    """The embedded reranker with two of its weights in each other's place."""
    fitted = engines.calibration.fitted
    weights = dict(fitted.with_examples.features)
    weights[one], weights[other] = weights[other], weights[one]
    swapped = fitted.model_copy(
        update={"with_examples": fitted.with_examples.model_copy(update={"features": weights})}
    )
    calibration = Calibration(swapped)
    return replace(engines, calibration=calibration, reranker=EmbeddedReranker(engines.encoder, calibration))


def test_a_run_leaves_rows_as_lines_and_as_a_table_and_its_report(tiny_run):
    report, out = tiny_run
    folder = suite_folder(out, 1, "tiny")
    rows = read_rows(folder)
    table = pq.read_table(folder / "rows.parquet")
    assert table["id"].to_pylist() == [row.id for row in rows]
    assert table["right"].to_pylist() == [row.right for row in rows]
    assert [dict(cell) for cell in table["stages"].to_pylist()] == [row.stages for row in rows]
    assert read_report(out) == report
    assert report.suites[0].ours.n == len(rows) == 19
    assert report.suites[0].ours.stages["total"].n == 19
    assert report.outcome == "Passed"


def test_an_equal_run_is_no_regression(tiny_plan, small_settings, baseline, tmp_path):
    report = run_trifecta(tiny_plan(tmp_path / "out", baseline=baseline), small_settings)
    (suite,) = report.suites
    assert report.outcome == "Passed"
    assert (suite.comparison.state, suite.comparison.changed) == ("compared", ())
    assert suite.comparison.paired.p_value == 1.0


def test_a_reranker_with_two_weights_swapped_is_caught_and_the_rows_are_named(
    tiny_plan, small_settings, engines, baseline, tmp_path
):
    plan = tiny_plan(tmp_path / "out", baseline=baseline, opener=lambda *_: with_weights_swapped(engines))
    report = run_trifecta(plan, small_settings)
    (suite,) = report.suites
    assert report.outcome == "Regression"
    assert suite.comparison.adjusted_p < 0.05
    named = set(suite.comparison.paired.newly_wrong)
    wrong_now = {row.id for row in read_rows(suite_folder(plan.out, 1, "tiny")) if not row.right}
    assert len(named) >= 5
    assert named == wrong_now - set(baseline.suites["tiny"].wrong)
    assert named <= {row.id for row in suite.comparison.changed if not row.now_right}
    assert suite.fingerprints["calibration"] != baseline.suites["tiny"].fingerprints["calibration"]


def test_other_data_cannot_be_compared(tiny_plan, small_settings, baseline, tmp_path):
    changed = baseline.suites["tiny"].model_copy(update={"dataset_sha256": "0" * 64})
    plan = tiny_plan(tmp_path / "out", baseline=Baseline(suites={"tiny": changed}))
    report = run_trifecta(plan, small_settings)
    assert report.outcome == "Incomparable"
    assert report.suites[0].comparison.paired is None


def test_an_interrupted_run_goes_on_where_it_ended(tiny_plan, small_settings, tiny_run, tmp_path):
    finished = suite_folder(tiny_run[1], 1, "tiny") / "rows.jsonl"
    lines = finished.read_text().splitlines()
    folder = suite_folder(tmp_path, 1, "tiny")
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text("\n".join(lines[:7]) + "\n" + lines[7][:40])
    report = run_trifecta(tiny_plan(tmp_path), small_settings)
    rows = read_rows(folder)
    assert report.suites[0].reused == 7
    assert [row.id for row in rows] == [json.loads(line)["id"] for line in lines]
    assert [row.run_id for row in rows[:7]] == [json.loads(line)["run_id"] for line in lines[:7]]
    assert rows[7].run_id != json.loads(lines[7])["run_id"]


def test_rows_of_other_engines_are_run_again(tiny_plan, small_settings, engines, tiny_run, tmp_path):
    finished = suite_folder(tiny_run[1], 1, "tiny") / "rows.jsonl"
    folder = suite_folder(tmp_path, 1, "tiny")
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text(finished.read_text())
    plan = tiny_plan(tmp_path, opener=lambda *_: with_weights_swapped(engines))
    assert run_trifecta(plan, small_settings).suites[0].reused == 0


def test_rows_that_were_written_survive_an_interruption(tiny_plan, small_settings, tmp_path):
    def stop_after_five(name, done, total):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trifecta(tiny_plan(tmp_path), small_settings, stop_after_five)
    assert len(read_rows(suite_folder(tmp_path, 1, "tiny"))) == 5
    with pytest.raises(RunMissing, match="trifecta --out"):
        read_report(tmp_path)


def test_several_runs_are_real_ones_and_their_spread_is_told(tiny_plan, small_settings, engines, tmp_path):
    opened = []

    def opener(settings, progress):
        opened.append(len(opened))
        return with_weights_swapped(engines) if len(opened) == 2 else engines

    (suite,) = run_trifecta(tiny_plan(tmp_path, runs=2, opener=opener), small_settings).suites
    assert opened == [0, 1]
    first, second = (read_rows(suite_folder(tmp_path, run, "tiny")) for run in (1, 2))
    assert not {row.run_id for row in first} & {row.run_id for row in second}
    assert suite.spread["right"] == (
        sum(row.right for row in first) / 19,
        sum(row.right for row in second) / 19,
    )
    differing = {a.id for a, b in zip(first, second, strict=True) if a.given != b.given}
    assert set(suite.unstable) == differing != set()


def test_threads_give_the_same_rows_as_one_after_the_other(tiny_plan, small_settings, tiny_run, tmp_path):
    run_trifecta(tiny_plan(tmp_path, workers=4), small_settings)
    once = {"run_id", "milliseconds", "stages"}
    alone = [row.model_dump(exclude=once) for row in read_rows(suite_folder(tiny_run[1], 1, "tiny"))]
    together = [row.model_dump(exclude=once) for row in read_rows(suite_folder(tmp_path, 1, "tiny"))]
    assert together == alone


def test_missing_data_is_told_before_anything_runs(tiny_plan, small_settings, tmp_path):
    plan = tiny_plan(tmp_path / "out")
    gone = plan.entries[0].model_copy(update={"suite": tmp_path / "nowhere.jsonl"})
    with pytest.raises(SuiteInvalid, match="nowhere"):
        run_trifecta(replace(plan, entries=(*plan.entries, gone)), small_settings)
    assert not (tmp_path / "out").exists()


def test_an_accepted_suite_replaces_its_own_and_leaves_the_others(tiny_run, baseline):
    report, out = tiny_run
    other = baseline.suites["tiny"].model_copy(update={"accepted_at": "long ago"})
    again = accepted(report, out, Baseline(suites={"other": other, "tiny": other}))
    assert again.suites["other"] == other
    assert again.suites["tiny"] == baseline.suites["tiny"]
