"""The accepted baseline of the trifecta, and what a run is worse in: row by row, or under a floor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pickysteve.calibration.metrics import Summary
from pickysteve.calibration.paired import Paired, compare_paired, holm
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.accepted import accepted_file, new_accepted_file
from pickysteve.flows.suite_rows import SuiteRow
from pickysteve.flows.suite_table import SuiteEntry
from pickysteve.registry.models import Value

__all__ = [
    "BASELINE_FILE",
    "SIGNIFICANT",
    "AcceptedSuite",
    "Baseline",
    "BrokenFloor",
    "ChangedRow",
    "Comparison",
    "adjust",
    "broken_floors",
    "compare",
    "figure_value",
    "read_baseline",
    "write_baseline",
]

BASELINE_FILE = "baselines/trifecta.json"
SIGNIFICANT = 0.05


class AcceptedSuite(Value):
    """One suite as it was accepted: what was given for each row, apart by whether it was right."""

    dataset_sha256: str
    fingerprints: dict[str, str]
    accepted_at: str
    right: dict[str, str]
    wrong: dict[str, str]


class Baseline(Value):
    """The accepted suites by name."""

    suites: dict[str, AcceptedSuite] = Field(default_factory=dict)


class ChangedRow(Value):
    """A row that was right and is wrong, or the other way round."""

    id: str
    now_right: bool
    asked: str
    before: str
    now: str


class Comparison(Value):
    """A suite against its baseline: exact McNemar over the same rows, one-sided."""

    state: Literal["no_baseline", "dataset_changed", "compared"]
    paired: Paired | None = None
    adjusted_p: float = 1.0
    """Holm's adjustment over the suites of the run."""
    changed: tuple[ChangedRow, ...] = ()
    accepted_at: str = ""

    @property
    def regressed(self) -> bool:
        """More went wrong than chance explains."""
        return self.state == "compared" and self.adjusted_p < SIGNIFICANT


class BrokenFloor(Value):
    """A figure beyond the value that the table of suites allows."""

    figure: str
    value: float | None
    """None where no row of the suite bears on the figure."""
    allowed: str
    rows: tuple[str, ...] = ()


def compare(rows: Sequence[SuiteRow], dataset_sha256: str, accepted: AcceptedSuite | None) -> Comparison:
    """Pair the rows with the accepted ones; other data cannot be paired."""
    if accepted is None:
        return Comparison(state="no_baseline")
    before = dict.fromkeys(accepted.right, True) | dict.fromkeys(accepted.wrong, False)
    if dataset_sha256 != accepted.dataset_sha256 or before.keys() != {row.id for row in rows}:
        return Comparison(state="dataset_changed", accepted_at=accepted.accepted_at)
    paired = compare_paired(before, {row.id: row.right for row in rows})
    given = accepted.right | accepted.wrong
    changed = tuple(
        ChangedRow(id=row.id, now_right=row.right, asked=row.asked, before=given[row.id], now=row.given)
        for row in sorted(rows, key=lambda row: (row.right, row.id))
        if row.right != before[row.id]
    )
    return Comparison(
        state="compared",
        paired=paired,
        adjusted_p=paired.p_value,
        changed=changed,
        accepted_at=accepted.accepted_at,
    )


def adjust(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The same with p-values adjusted for how many suites were compared."""
    tested = [comparison for comparison in comparisons if comparison.paired]
    adjusted = iter(holm([comparison.paired.p_value for comparison in tested if comparison.paired]))
    return tuple(
        comparison.model_copy(update={"adjusted_p": next(adjusted)}) if comparison.paired else comparison
        for comparison in comparisons
    )


def broken_floors(entry: SuiteEntry, summary: Summary, rows: Sequence[SuiteRow]) -> tuple[BrokenFloor, ...]:
    """Figures beyond the table's floors, and requests that the gate had to refuse and let pass."""
    broken = []
    if passed := tuple(row.id for row in rows if row.must_block and not row.blocked):
        broken.append(BrokenFloor(figure="injected_passed", value=len(passed), allowed="none", rows=passed))
    for limits, sign, words in ((entry.at_least, 1, "at least"), (entry.at_most, -1, "at most")):
        for name, limit in limits.items():
            value = figure_value(summary, name)
            if value is None or sign * (value - limit) < 0:
                broken.append(BrokenFloor(figure=name, value=value, allowed=f"{words} {limit:g}"))
    return tuple(broken)


def figure_value(summary: Summary, name: str) -> float | None:
    """A figure of the summary as one number."""
    figure = getattr(summary, name)
    return float(getattr(figure, "value", figure)) if figure is not None else None


def read_baseline(path: Path | None = None) -> Baseline:
    """The suites accepted there or here, if any; raises SuiteInvalid for a damaged file."""
    path = path or accepted_file(BASELINE_FILE)
    if not path.is_file():
        return Baseline()
    try:
        return Baseline.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise SuiteInvalid(
            f'"{path}" is damaged: restore it, or delete it and run "pickysteve trifecta --accept".'
        ) from error


def write_baseline(baseline: Baseline, path: Path | None = None) -> Path:
    """Accept the suites as what later runs are compared with; returns where they were written.

    One line a row, so that a diff reads well.
    """
    path = path or new_accepted_file(BASELINE_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(baseline.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
    return path
