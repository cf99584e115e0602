"""The Prefect flow that runs the red team on a schedule and fails when the gate got worse."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from pickysteve.errors import SuiteInvalid
from pickysteve.flows.gate_corpora import repository_root
from pickysteve.flows.judging import gate_judge
from pickysteve.flows.redteam_report import (
    RedteamReport,
    compare_with_baseline,
    read_baseline,
    read_cases,
    redteam_report,
)
from pickysteve.flows.settings import load_settings

__all__ = ["redteam"]


@flow(name="redteam", log_prints=False)
def redteam(cases: str | None = None) -> RedteamReport:
    """Judge all cases and compare with the accepted baseline; a regression fails the run."""
    folder = Path(cases) if cases else repository_root() / "datasets" / "redteam"
    settings = load_settings()
    judging = gate_judge(settings.gate, settings.llm)
    report = redteam_report(read_cases(folder), judging.judge, judging.fingerprint)
    baseline = read_baseline()
    if baseline is not None and compare_with_baseline(report, baseline).regressed:
        raise SuiteInvalid(
            'The gate blocks less than the accepted baseline: run "pickysteve redteam" to see which cases.'
        )
    return report
