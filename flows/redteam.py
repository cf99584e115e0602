"""The Prefect flow that runs the red team on a schedule and fails when the gate got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from pickysteve.flows.gate_corpora import repository_root
from pickysteve.flows.judging import gate_judge
from pickysteve.flows.redteam_report import (
    Comparison,
    RedteamReport,
    compare_with_baseline,
    read_baseline,
    read_cases,
    redteam_report,
)
from pickysteve.flows.settings import load_settings

__all__ = ["REGRESSION", "redteam"]

REGRESSION = "Regression"
"""Name of the failed state when the gate got worse than its accepted baseline."""
NAMED = 50
"""How many cases a state's message names."""


@flow(name="redteam", log_prints=False, persist_result=False)
def redteam(cases: str | None = None, baseline: str | None = None) -> State[Any]:
    """Judge all cases and compare with the accepted baseline; a regression fails the run.

    The failed state is named Regression, and its message names the cases that went wrong anew. Raises
    SuiteInvalid for cases or a baseline that cannot be read.

    Args:
        cases: Folder with requests.jsonl and documents.jsonl; the checkout's when left out.
        baseline: Report to compare with; the accepted one when left out.
    """
    folder = Path(cases) if cases else repository_root() / "datasets" / "redteam"
    accepted = read_baseline(Path(baseline) if baseline else None)
    settings = load_settings()
    judging = gate_judge(settings.gate, settings.llm)
    report = redteam_report(read_cases(folder), judging.judge, judging.fingerprint)
    _publish(report)
    if accepted is not None and (compared := compare_with_baseline(report, accepted)).regressed:
        return Failed(name=REGRESSION, message=_newly_wrong(compared))
    return Completed(name="Passed", message=_found(report), data=report)


def _publish(report: RedteamReport) -> None:
    """The figures as a table: names of families and numbers, no text of a case."""
    rows = [figure.model_dump() for figure in (*report.totals, *report.families)]
    create_table_artifact(key="redteam", table=rows, description="Blocked of n, Wilson 95 % intervals")


def _found(report: RedteamReport) -> str:
    return ", ".join(f"{f.surface} {f.label}: {f.blocked} of {f.n} blocked" for f in report.totals)


def _newly_wrong(compared: Comparison) -> str:
    """The cases by id: never by their text, which is hostile."""
    worse, better = compared.newly_wrong, compared.newly_right
    more = f" and {len(worse) - NAMED} more" if len(worse) > NAMED else ""
    return (
        f"{len(worse)} cases went wrong that did not before, {len(better)} the other way round "
        f"(exact McNemar, p = {compared.p_value:.2g}): {', '.join(worse[:NAMED])}{more}"
    )
