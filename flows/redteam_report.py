"""Red team: our own attacks and hard ordinary texts against the gate, family by family."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pickysteve.calibration.measures import mcnemar_exact, wilson_interval
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.accepted import accepted_file, new_accepted_file
from pickysteve.registry.models import Verdict

__all__ = [
    "BASELINE_FILE",
    "Comparison",
    "FamilyFigure",
    "RedteamCase",
    "RedteamReport",
    "compare_with_baseline",
    "read_baseline",
    "read_cases",
    "redteam_report",
    "write_baseline",
]

Judge = Callable[[str, str], Verdict]
"""Takes a text and its surface."""
BASELINE_FILE = "baselines/redteam.json"
SIGNIFICANT = 0.05


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RedteamCase(_Figures):
    """One text, and whether it should be blocked."""

    id: str
    text: str
    label: Literal["attack", "benign"]
    family: str
    surface: Literal["request", "document"]


class FamilyFigure(_Figures):
    """Blocked of n in one family, with the Wilson 95 % interval."""

    surface: str
    family: str
    label: str
    blocked: int
    review: int
    """Of those that passed, the ones on the review list."""
    n: int
    low: float
    high: float


class RedteamReport(_Figures):
    """The figures of one run, and every case that went wrong."""

    gate: str
    """Fingerprint of the gate that judged."""
    cases_sha256: str
    totals: tuple[FamilyFigure, ...]
    """Detection and false positives by surface; the family is "all"."""
    families: tuple[FamilyFigure, ...]
    wrong: tuple[str, ...]
    """Ids of missed attacks and of blocked ordinary texts."""


class Comparison(_Figures):
    """A paired comparison with the accepted baseline (exact McNemar over the same cases)."""

    comparable: bool
    """False when the cases are not the baseline's."""
    newly_wrong: tuple[str, ...] = ()
    newly_right: tuple[str, ...] = ()
    p_value: float = 1.0

    @property
    def regressed(self) -> bool:
        """More went wrong than before, beyond chance."""
        return len(self.newly_wrong) > len(self.newly_right) and self.p_value < SIGNIFICANT


def read_cases(folder: Path) -> tuple[RedteamCase, ...]:
    """Read requests.jsonl and documents.jsonl; raises SuiteInvalid, naming the line, for what is no case."""
    cases = []
    for name in ("requests.jsonl", "documents.jsonl"):
        path = folder / name
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise SuiteInvalid(
                f'The red-team cases "{path}" cannot be read: pass --cases their folder.'
            ) from error
        for number, line in enumerate(lines, start=1):
            try:
                cases.append(RedteamCase.model_validate_json(line))
            except ValidationError as error:
                raise SuiteInvalid(
                    f"{name} line {number} is not a case: give it id, text, label, family and surface."
                ) from error
    return tuple(cases)


def redteam_report(
    cases: Sequence[RedteamCase],
    judge: Judge,
    gate: str,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> RedteamReport:
    """Judge every case on its surface and count by family."""
    verdicts = {}
    for done, case in enumerate(cases):
        progress(done, len(cases))
        verdicts[case.id] = judge(case.text, case.surface)
    families = sorted({(case.surface, case.label, case.family) for case in cases})
    surfaces = sorted({(case.surface, case.label) for case in cases})
    wrong = [case.id for case in cases if verdicts[case.id].allowed == (case.label == "attack")]
    return RedteamReport(
        gate=gate,
        cases_sha256=_digest(cases),
        totals=tuple(
            _figure("all", [c for c in cases if (c.surface, c.label) == key], verdicts) for key in surfaces
        ),
        families=tuple(
            _figure(key[2], [c for c in cases if (c.surface, c.label, c.family) == key], verdicts)
            for key in families
        ),
        wrong=tuple(sorted(wrong)),
    )


def _figure(family: str, cases: Sequence[RedteamCase], verdicts: dict[str, Verdict]) -> FamilyFigure:
    mine = [verdicts[case.id] for case in cases]
    blocked = sum(not verdict.allowed for verdict in mine)
    low, high = wilson_interval(blocked, len(mine))
    return FamilyFigure(
        surface=cases[0].surface,
        family=family,
        label=cases[0].label,
        blocked=blocked,
        review=sum(verdict.allowed and verdict.risk == "review" for verdict in mine),
        n=len(mine),
        low=round(low, 4),
        high=round(high, 4),
    )


def _digest(cases: Iterable[RedteamCase]) -> str:
    return sha256("\n".join(case.model_dump_json() for case in cases).encode()).hexdigest()


def read_baseline(path: Path | None = None) -> RedteamReport | None:
    """The accepted report, or None when there is none yet; raises SuiteInvalid when it is damaged."""
    path = path or accepted_file(BASELINE_FILE)
    if not path.is_file():
        return None
    try:
        return RedteamReport.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise SuiteInvalid(f'"{path}" is damaged: run "pickysteve redteam --accept".') from error


def write_baseline(report: RedteamReport, path: Path | None = None) -> Path:
    """Accept a report as the one that later runs are compared with; returns where it was written."""
    path = path or new_accepted_file(BASELINE_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(report.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def compare_with_baseline(report: RedteamReport, baseline: RedteamReport) -> Comparison:
    """What goes wrong now and did not before, and the other way round."""
    if report.cases_sha256 != baseline.cases_sha256:
        return Comparison(comparable=False)
    worse = tuple(sorted(set(report.wrong) - set(baseline.wrong)))
    better = tuple(sorted(set(baseline.wrong) - set(report.wrong)))
    return Comparison(
        comparable=True,
        newly_wrong=worse,
        newly_right=better,
        p_value=mcnemar_exact(len(worse), len(better)),
    )
