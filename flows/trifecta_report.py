"""What a run of the trifecta found, as it is written to its folder and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pickysteve.calibration.metrics import Summary
from pickysteve.errors import RunMissing
from pickysteve.flows.trifecta_baseline import BrokenFloor, Comparison
from pickysteve.registry.models import Value

__all__ = ["Outcome", "SuiteReport", "TrifectaReport", "read_report", "suite_folder", "write_report"]

REPORT_FILE = "trifecta.json"
Outcome = Literal["Passed", "Regression", "Incomparable"]


class SuiteReport(Value):
    """One suite: its figures from the first run, and how far the other runs were from them."""

    name: str
    dataset_sha256: str
    fingerprints: dict[str, str]
    floor: float
    """Score under which nothing is picked."""
    ours: Summary
    bm25: Summary
    unknown_gold: tuple[str, ...] = ()
    reused: int = 0
    """Rows, over all runs, that an interrupted run had left."""
    comparison: Comparison
    broken_floors: tuple[BrokenFloor, ...] = ()
    spread: dict[str, tuple[float | None, ...]] = Field(default_factory=dict)
    """A figure's value in each run; empty for a single run."""
    unstable: tuple[str, ...] = ()
    """Rows whose answer was not the same in all runs."""


class TrifectaReport(Value):
    """What a run of the trifecta found."""

    started_at: str
    finished_at: str
    version: str
    runs: int
    """Real runs: engines opened anew for each, no answer taken from a cache."""
    workers: int
    """Requests at once; with more than one, times are those of a shared machine."""
    orchestrated: bool
    suites: tuple[SuiteReport, ...]

    @property
    def outcome(self) -> Outcome:
        """How the run ends: the state's name on a Prefect server, the exit code on the command line."""
        if any(suite.comparison.regressed or suite.broken_floors for suite in self.suites):
            return "Regression"
        if any(suite.comparison.state == "dataset_changed" for suite in self.suites):
            return "Incomparable"
        return "Passed"


def suite_folder(out: Path, run: int, name: str) -> Path:
    """Where the rows of a suite's run are, from 1."""
    return out / f"run-{run}" / name


def write_report(report: TrifectaReport, out: Path) -> None:
    """Write the figures of a run to its folder."""
    (out / REPORT_FILE).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_report(out: Path) -> TrifectaReport:
    """The figures of a finished run; raises RunMissing when the folder holds none."""
    try:
        return TrifectaReport.model_validate_json((out / REPORT_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise RunMissing(f'"{out}" holds no finished run: run "pickysteve trifecta --out {out}".') from error
