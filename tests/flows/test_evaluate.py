import json

import pyarrow.parquet as pq
import pytest

from pickysteve.errors import RunsUnwritable, SuiteInvalid
from pickysteve.flows.answering import PlainBm25
from pickysteve.flows.evaluate import evaluate_suite
from pickysteve.flows.suite import Task
from pickysteve.tasks.log import list_traces

TASKS = [
    Task(
        id="a",
        request="cargo build fails with a borrow checker error",
        gold=("rust-build-errors",),
        category="x",
    ),
    Task(id="b", request="write a haiku about snow", gold=(), category="y"),
    Task(
        id="c",
        request="make this page sound like our brand",
        gold=("brand-voice", "gone"),
        traps=("rust-review",),
    ),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("eval") / "out"


@pytest.fixture(scope="module")
def evaluation(engines, small_settings, out):
    return evaluate_suite(TASKS, engines, small_settings, out)


def test_rows_stand_in_the_order_of_the_suite_with_the_promised_names(evaluation, out):
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    promised = {"id", "status", "picks", "prediction_set", "scores", "ambiguous", "milliseconds"}
    assert all(promised <= row.keys() for row in rows)
    assert (rows[0]["picks"], rows[1]["status"]) == (["rust-build-errors"], "no_confident_match")


def test_the_parquet_file_holds_the_same_rows(evaluation, out):
    table = pq.read_table(out / "rows.parquet")
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert table["id"].to_pylist() == [row["id"] for row in rows]
    assert [json.loads(cell) for cell in table["scores"].to_pylist()] == [row["scores"] for row in rows]


def test_the_summary_counts_what_the_rows_say(evaluation, out):
    ours = evaluation.ours
    assert (ours.n, ours.top1_picked.n, ours.no_match_rejection.successes) == (3, 2, 1)
    assert json.loads((out / "summary.json").read_text())["ours"]["n"] == 3
    assert evaluation.bm25.top1_ranked.n == 2


def test_gold_that_the_registry_lacks_is_named(evaluation):
    assert evaluation.unknown_gold == ("gone",)


def test_every_task_leaves_a_run_record_beside_the_rows(evaluation, out):
    assert len(list_traces(out / "runs").runs) == 3


def test_a_task_that_is_no_request_is_told_before_anything_runs(engines, small_settings, tmp_path):
    bad = [Task(id="z", request="   ", gold=())]
    with pytest.raises(SuiteInvalid, match="Task z"):
        evaluate_suite(bad, engines, small_settings, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unwritable_folder_is_told(engines, small_settings, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunsUnwritable, match="--out"):
        evaluate_suite(TASKS, engines, small_settings, tmp_path / "file" / "out")


def test_the_baseline_is_rank_bm25_over_plain_words(small_index):
    ranked, score = PlainBm25(small_index).rank("borrow checker cargo build error")
    assert ranked[0] == "rust-build-errors" and score > 0
    assert sorted(ranked) == sorted(small_index.skills)
