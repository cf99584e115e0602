from __future__ import annotations

import json
from pathlib import Path

import pytest

from pickysteve.errors import SuiteInvalid
from pickysteve.flows.redteam_report import (
    RedteamCase,
    compare_with_baseline,
    read_baseline,
    read_cases,
    redteam_report,
    write_baseline,
)
from pickysteve.registry.models import Verdict

ROOT = Path(__file__).resolve().parents[2]


def case(number: int, label: str) -> RedteamCase:
    return RedteamCase.model_validate(
        {"id": str(number), "text": f"{label} {number}", "label": label, "family": "f", "surface": "request"}
    )


CASES = (*(case(n, "attack") for n in range(10)), *(case(n, "benign") for n in range(10, 20)))


def blocking(*prefixes: str):
    def judge(text: str, surface: str) -> Verdict:
        blocked = text.startswith(prefixes)
        return Verdict(
            allowed=not blocked, score=0, risk="block" if blocked else "low", sha256="", fingerprint=""
        )

    return judge


def test_detection_and_false_positives_are_counted_apart() -> None:
    report = redteam_report(CASES, blocking("attack", "benign 10"), "gate")
    assert [(total.label, total.blocked, total.n) for total in report.totals] == [
        ("attack", 10, 10),
        ("benign", 1, 10),
    ]
    assert report.wrong == ("10",)


def test_a_gate_that_misses_many_more_has_regressed() -> None:
    good = redteam_report(CASES, blocking("attack"), "gate")
    bad = redteam_report(CASES, blocking("nothing"), "gate")
    assert compare_with_baseline(bad, good).regressed
    assert not compare_with_baseline(good, bad).regressed
    assert not compare_with_baseline(good, good).regressed


def test_reports_over_other_cases_are_not_compared() -> None:
    judge = blocking("attack")
    one, other = redteam_report(CASES, judge, "gate"), redteam_report(CASES[1:], judge, "gate")
    assert not compare_with_baseline(one, other).comparable


def test_an_accepted_baseline_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "baselines" / "redteam.json"
    assert read_baseline(path) is None
    report = redteam_report(CASES, blocking("attack"), "gate")
    write_baseline(report, path)
    assert read_baseline(path) == report
    path.write_text("{}")
    with pytest.raises(SuiteInvalid, match="--accept"):
        read_baseline(path)


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text(json.dumps({"id": "1"}) + "\n")
    with pytest.raises(SuiteInvalid, match="line 1"):
        read_cases(tmp_path)


def test_our_cases_are_many_and_their_ids_unique() -> None:
    cases = read_cases(ROOT / "datasets" / "redteam")
    assert len({case.id for case in cases}) == len(cases)
    attacks = [case for case in cases if case.label == "attack"]
    assert len({c.family for c in attacks if c.surface == "document"}) >= 14
    assert len({c.family for c in attacks if c.surface == "request"}) >= 9
