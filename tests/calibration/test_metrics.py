"""The measures against their definitions, and the summary over a small suite."""

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.measures import (
    auroc,
    auroc_interval,
    bootstrap_interval,
    clopper_pearson_upper,
    coverage_at_risk,
    exact_set,
    mcnemar_exact,
    recall_at,
    reciprocal_rank,
    set_f1,
    top1,
    wilson_interval,
)
from pickysteve.calibration.metrics import Row, summarise

counts = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
scored = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5001, 1.0]), st.booleans()), max_size=40)


def row(**changes: object) -> Row:
    fields: dict[str, object] = {
        "id": "r",
        "category": "base",
        "gold": ("a",),
        "status": "ok",
        "picks": ("a",),
        "ranked": ("a", "b"),
        "score": 0.9,
        "milliseconds": 10.0,
    }
    return Row.model_validate(fields | changes)


def test_wilson_agrees_with_the_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263, 0.2553 to 0.3662
    low, high = wilson_interval(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@given(counts)
def test_wilson_holds_the_share_and_stays_within_0_and_1(count: tuple[int, int]) -> None:
    low, high = wilson_interval(*count)
    assert 0 <= low <= high <= 1
    if count[1]:
        assert low <= count[0] / count[1] <= high


@given(counts, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_exact_bound_leaves_the_tail_it_promises(count: tuple[int, int], confidence: float) -> None:
    errors, n = count
    bound = clopper_pearson_upper(errors, n, confidence)
    tail = sum(math.comb(n, i) * bound**i * (1 - bound) ** (n - i) for i in range(errors + 1))
    assert bound == 1.0 if errors == n else tail == pytest.approx(1 - confidence, rel=1e-6)


def test_no_errors_in_59_is_the_rule_of_thumb_for_5_percent() -> None:
    assert clopper_pearson_upper(0, 58, 0.95) > 0.05 > clopper_pearson_upper(0, 59, 0.95)


@pytest.mark.parametrize("count", [(-1, 3), (4, 3)])
def test_an_impossible_count_is_refused(count: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson_interval(*count)
    with pytest.raises(ValueError, match="between 0 and n"):
        clopper_pearson_upper(*count, 0.95)


def test_top1_counts_a_contested_label_and_not_an_empty_ranking() -> None:
    assert top1(["b", "a"], ["a"], ["b"])
    assert not top1(["b", "a"], ["a"])
    assert not top1([], ["a"])


def test_recall_counts_each_gold_label_once() -> None:
    assert recall_at(2, ["a", "x", "b"], ["a", "b"]) == 0.5
    assert recall_at(3, ["a", "x", "b"], ["a", "b"]) == 1.0
    assert recall_at(1, ["c", "a"], ["a"], ["c"]) == 1.0
    assert recall_at(3, ["a", "c", "d"], ["a"], ["c", "d"]) == 1.0


def test_recall_without_gold_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out the rows"):
        recall_at(5, ["a"], [])


def test_reciprocal_rank_is_that_of_the_first_right_label() -> None:
    assert reciprocal_rank(["x", "b", "a"], ["a"], ["b"]) == 0.5
    assert reciprocal_rank(["x"], ["a"]) == 0.0


def test_sets_ignore_order_and_reward_overlap() -> None:
    assert exact_set(("b", "a"), ("a", "b"))
    assert not exact_set(("a",), ("a", "b"))
    assert set_f1(("a", "x"), ("a", "b")) == 0.5
    assert set_f1((), ("a",)) == 0.0
    assert set_f1((), ()) == 1.0


@given(scored)
def test_auroc_is_the_share_of_pairs_in_order(rows: Sequence[tuple[float, bool]]) -> None:
    positive = [score for score, label in rows if label]
    negative = [score for score, label in rows if not label]
    pairs = [(p > n) + (p == n) / 2 for p in positive for n in negative]
    found = auroc([score for score, _ in rows], [label for _, label in rows])
    assert found is None if not pairs else found == pytest.approx(np.mean(pairs))


@given(scored, st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_coverage_is_the_best_of_all_thresholds(rows: Sequence[tuple[float, bool]], risk: float) -> None:
    found = coverage_at_risk([score for score, _ in rows], [right for _, right in rows], risk)
    allowed = [0.0]
    for threshold in {score for score, _ in rows}:
        answered = [right for score, right in rows if score >= threshold]
        if answered.count(False) / len(answered) <= risk:
            allowed.append(len(answered) / len(rows))
    assert found is None if not rows else found == pytest.approx(max(allowed))


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="leave its row out"):
        auroc([0.1, math.nan], [True, False])


@pytest.mark.parametrize(
    ("b", "c", "two_sided", "greater"),
    [
        (0, 0, 1.0, 1.0),
        (5, 1, 14 / 64, 7 / 64),  # by hand: (1 + 6) / 2^6
        (5, 0, 2 / 32, 1 / 32),
        (1, 5, 14 / 64, 63 / 64),
        (8, 2, 112 / 1024, 56 / 1024),  # (1 + 10 + 45) / 2^10
        (3, 3, 1.0, 42 / 64),
    ],
)
def test_mcnemar_is_the_binomial_tail(b: int, c: int, two_sided: float, greater: float) -> None:
    assert mcnemar_exact(b, c) == pytest.approx(two_sided)
    assert mcnemar_exact(b, c, "greater") == pytest.approx(greater)


def test_mcnemar_refuses_counts_that_are_none() -> None:
    with pytest.raises(ValueError, match="not negative"):
        mcnemar_exact(-1, 3)


@given(st.floats(0, 1), st.integers(2, 200), st.integers(2, 200))
def test_the_interval_of_an_auroc_holds_it_and_turns_with_it(area: float, hits: int, misses: int) -> None:
    low, high = auroc_interval(area, hits, misses)
    assert 0 <= low <= area <= high <= 1
    turned = auroc_interval(1 - area, hits, misses)
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_the_interval_of_an_auroc_is_that_of_hanley_and_mcneil_for_many_rows() -> None:
    area, n = 0.8, 2000
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (n - 1) * (q1 - area**2) + (n - 1) * (q2 - area**2)) / n**2
    low, high = auroc_interval(area, n, n)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.01)


def test_the_bootstrap_is_reproducible_and_holds_the_mean() -> None:
    values = np.linspace(0, 1, 50)
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values)
    assert low < values.mean() < high


def test_an_empty_suite_has_no_figures() -> None:
    summary = summarise([])
    assert summary.n == 0
    empty = summary.model_dump(exclude={"n", "stages", "categories", "right_by_category"})
    assert set(empty.values()) == {None}
    assert not summary.stages


def test_an_abstention_costs_the_pick_and_not_the_ranking() -> None:
    summary = summarise([row(), row(status="no_confident_match", picks=())])
    assert summary.top1_ranked is not None
    assert summary.top1_ranked.successes == 2
    assert summary.top1_picked is not None
    assert summary.top1_picked.successes == 1
    assert (summary.top1_picked.low, summary.top1_picked.high) == wilson_interval(1, 2)


def test_picks_of_a_blocked_run_do_not_count() -> None:
    summary = summarise([row(status="blocked_retrieved", traps=("a",))])
    assert summary.top1_picked is not None
    assert summary.top1_picked.successes == 0
    assert summary.trap_leak is not None
    assert summary.trap_leak.successes == 0
    assert summary.blocked is not None
    assert summary.blocked.value == 1.0


def test_requests_without_a_right_skill_are_judged_apart() -> None:
    rows = [
        row(),
        row(gold=(), score=0.2),
        row(gold=(), picks=(), status="no_confident_match", score=None),
    ]
    summary = summarise(rows)
    assert summary.top1_ranked is not None
    assert summary.top1_ranked.n == 1
    assert summary.no_match_rejection is not None
    assert (summary.no_match_rejection.successes, summary.no_match_rejection.n) == (1, 2)
    assert summary.false_pick is not None
    assert (summary.false_pick.successes, summary.false_pick.n) == (1, 2)
    assert summary.no_match_auroc is not None
    assert (summary.no_match_auroc.value, summary.no_match_auroc.n) == (1.0, 3)
    assert summary.coverage_at_5_risk is not None
    assert summary.coverage_at_5_risk.value == pytest.approx(1 / 3)


def test_compounds_are_judged_as_sets() -> None:
    rows = [row(gold=("a", "b"), picks=("b", "a")), row(gold=("a", "b"), picks=("a",), ranked=("a",)), row()]
    summary = summarise(rows)
    assert summary.compound_exact is not None
    assert (summary.compound_exact.successes, summary.compound_exact.n) == (1, 2)
    assert summary.compound_f1 is not None
    assert summary.compound_f1.value == pytest.approx((1 + 2 / 3) / 2)
    assert summary.recall_at_5 is not None
    assert (summary.recall_at_5.successes, summary.recall_at_5.n) == (4, 5)


def test_a_trap_leaks_when_it_is_picked_first() -> None:
    rows = [row(traps=("b",), picks=("b",)), row(traps=("b",), picks=("a", "b")), row()]
    leak = summarise(rows).trap_leak
    assert leak is not None
    assert (leak.successes, leak.n) == (1, 2)


def test_an_empty_prediction_set_does_not_cover() -> None:
    rows = [row(prediction_set=("b", "a")), row(), row(gold=("c",), accept=("d",), prediction_set=("d",))]
    summary = summarise(rows)
    assert summary.set_coverage is not None
    assert (summary.set_coverage.successes, summary.set_coverage.n) == (2, 3)
    assert summary.set_size is not None
    assert summary.set_size.value == 1.0


def test_categories_and_times_are_reported() -> None:
    rows = [row(), row(category="oblique", ranked=("b",), ambiguous=True, milliseconds=30.0)]
    summary = summarise(rows)
    shares = {name: share and share.successes for name, share in summary.categories.items()}
    assert shares == {"base": 1, "oblique": 0}
    assert summary.p50_milliseconds == 20.0
    assert summary.p95_milliseconds == pytest.approx(29.0)
    assert summary.ambiguous is not None
    assert summary.ambiguous.value == 0.5


def test_right_is_what_was_asked_for_and_nothing_beside_it() -> None:
    assert row().right
    assert row(gold=("c",), accept=("a",)).right
    assert not row(picks=("a", "b")).right
    assert row(gold=("a", "b"), picks=("b", "a")).right
    assert not row(gold=("a", "b")).right
    assert row(gold=(), status="no_confident_match", picks=()).right
    assert not row(gold=(), status="blocked_request", picks=()).right
    assert not row(status="no_confident_match").right


def test_rows_that_the_gate_must_refuse_bear_on_no_other_figure() -> None:
    rows = [
        row(),
        row(must_block=True, gold=(), status="blocked_request", picks=(), ranked=(), score=None),
        row(must_block=True, gold=(), picks=("a",), category="injected"),
    ]
    summary = summarise(rows)
    assert summary.injected_passed is not None
    assert (summary.injected_passed.successes, summary.injected_passed.n) == (1, 2)
    assert summary.right is not None
    assert (summary.right.successes, summary.right.n) == (2, 3)
    assert summary.false_pick is None
    assert summary.blocked is not None
    assert (summary.blocked.successes, summary.blocked.n) == (0, 1)
    assert (rows[1].asked, rows[1].given, rows[2].given) == ("(blocked)", "(blocked)", "a")


def test_wrong_picks_are_counted_among_the_answered_with_the_exact_bound() -> None:
    rows = [row(), row(picks=("b",)), row(gold=()), row(status="no_confident_match", picks=())]
    summary = summarise(rows)
    assert summary.answered is not None
    assert (summary.answered.successes, summary.answered.n) == (3, 4)
    assert summary.wrong_pick is not None
    assert (summary.wrong_pick.errors, summary.wrong_pick.n) == (2, 3)
    assert summary.wrong_pick.upper == clopper_pearson_upper(2, 3, 0.95)


def test_stages_stand_in_the_order_of_the_flow_with_their_own_n() -> None:
    rows = [
        row(stages={"gate-request": 1.0}, status="blocked_request", milliseconds=2.0),
        row(stages={"gate-request": 3.0, "route": 5.0}, milliseconds=10.0),
    ]
    stages = summarise(rows).stages
    assert list(stages) == ["gate-request", "route", "total"]
    assert (stages["gate-request"].p50, stages["gate-request"].n) == (2.0, 2)
    assert (stages["route"].n, stages["total"].p50) == (1, 6.0)
    low, high = stages["total"].p95_interval
    assert 2.0 <= low <= stages["total"].p95 <= high <= 10.0


def test_importing_loads_no_statistics_library() -> None:
    code = "import sys, pickysteve.calibration.metrics; print({'scipy', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
