from __future__ import annotations

import pytest

from pickysteve.calibration.metrics import summarise
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.suite_rows import SuiteRow
from pickysteve.flows.suite_table import SuiteEntry
from pickysteve.flows.trifecta_baseline import (
    AcceptedSuite,
    Baseline,
    adjust,
    broken_floors,
    compare,
    read_baseline,
    write_baseline,
)


def row(number: int, **changes: object) -> SuiteRow:
    fields: dict[str, object] = {
        "id": f"r{number}",
        "category": "direct",
        "gold": ("a",),
        "status": "ok",
        "picks": ("a",),
        "ranked": ("a",),
        "milliseconds": 1.0,
        "request": "r",
        "run_id": "x",
        "task_sha256": "",
        "fingerprint": "",
    }
    return SuiteRow.model_validate(fields | changes)


def wrong(number: int) -> SuiteRow:
    return row(number, picks=("b",))


def accepted(rows: list[SuiteRow], digest: str = "d") -> AcceptedSuite:
    return AcceptedSuite(
        dataset_sha256=digest,
        fingerprints={},
        accepted_at="then",
        right={row.id: row.given for row in rows if row.right},
        wrong={row.id: row.given for row in rows if not row.right},
    )


def entry(**changes: object) -> SuiteEntry:
    return SuiteEntry.model_validate({"name": "s", "registry": "r", "suite": "s"} | changes)


def test_five_of_five_changed_rows_wrong_is_a_regression_and_four_are_none() -> None:
    before = accepted([row(n) for n in range(20)])
    for count, expected in ((4, False), (5, True)):
        rows = [wrong(n) if n < count else row(n) for n in range(20)]
        compared = compare(rows, "d", before)
        assert compared.paired is not None
        assert compared.paired.p_value == 0.5**count
        assert compared.regressed is expected


def test_a_changed_row_says_what_was_given_before_and_now() -> None:
    compared = compare([wrong(1), row(2)], "d", accepted([row(1), wrong(2)]))
    assert [(c.id, c.now_right, c.asked, c.before, c.now) for c in compared.changed] == [
        ("r1", False, "a", "a", "b"),
        ("r2", True, "a", "b", "a"),
    ]
    assert not compared.regressed


def test_other_data_or_other_rows_are_not_paired() -> None:
    assert compare([row(1)], "other", accepted([row(1)])).state == "dataset_changed"
    assert compare([row(1)], "d", accepted([row(1), row(2)])).state == "dataset_changed"
    assert compare([row(1)], "d", None).state == "no_baseline"


def test_p_values_are_adjusted_over_the_suites_that_were_compared() -> None:
    five_worse = compare([wrong(n) for n in range(5)], "d", accepted([row(n) for n in range(5)]))
    equal = compare([row(1)], "d", accepted([row(1)]))
    new = compare([row(1)], "d", None)
    alone, (adjusted, _, third) = adjust([five_worse]), adjust([five_worse, equal, new])
    assert alone[0].adjusted_p == pytest.approx(1 / 32)
    assert alone[0].regressed
    assert adjusted.adjusted_p == pytest.approx(2 / 32)
    assert not adjusted.regressed
    assert third == new


def test_an_injected_request_that_passes_breaks_a_floor_by_name() -> None:
    rows = [row(1), row(2, must_block=True), row(3, must_block=True, status="blocked_request", picks=())]
    (broken,) = broken_floors(entry(must_block=("injected",)), summarise(rows), rows)
    assert (broken.figure, broken.rows) == ("injected_passed", ("r2",))


def test_figures_beyond_their_limits_break_floors() -> None:
    rows = [row(1), wrong(2), row(3, gold=())]
    limits = entry(
        at_least={"top1_picked": 0.6, "right": 0.3, "compound_exact": 0.5},
        at_most={"false_pick": 0.5, "blocked": 0.1},
    )
    broken = broken_floors(limits, summarise(rows), rows)
    assert [(one.figure, one.value) for one in broken] == [
        ("top1_picked", 0.5),
        ("compound_exact", None),
        ("false_pick", 1.0),
    ]


def test_a_baseline_is_read_back_and_a_damaged_one_names_its_remedy(tmp_path) -> None:
    path = tmp_path / "baselines" / "trifecta.json"
    assert read_baseline(path) == Baseline()
    baseline = Baseline(suites={"s": accepted([row(1), wrong(2)])})
    write_baseline(baseline, path)
    assert read_baseline(path) == baseline
    path.write_text("{}]")
    with pytest.raises(SuiteInvalid, match="--accept"):
        read_baseline(path)
