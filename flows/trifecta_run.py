"""The trifecta without Prefect: every suite of the table through the request flow, and what that shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_data_path

from pickysteve.flows.dag import Engines, fingerprints
from pickysteve.flows.engines import ingest, open_engines
from pickysteve.flows.evaluate import Evaluation, Mapper, evaluate_suite, on_threads
from pickysteve.flows.fetching import publish_engines
from pickysteve.flows.settings import Settings
from pickysteve.flows.suite import Task, read_suite
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.suite_table import SuiteEntry, dataset_digest
from pickysteve.flows.trifecta_baseline import (
    AcceptedSuite,
    Baseline,
    Comparison,
    adjust,
    broken_floors,
    compare,
    figure_value,
)
from pickysteve.flows.trifecta_report import SuiteReport, TrifectaReport, suite_folder, write_report

__all__ = ["TrifectaPlan", "accepted", "new_run_folder", "run_trifecta"]

SPREAD = (
    "right",
    "top1_picked",
    "recall_at_5",
    "mrr",
    "compound_exact",
    "no_match_auroc",
    "false_pick",
    "trap_leak",
    "p50_milliseconds",
    "p95_milliseconds",
)
Progress = Callable[[str, int, int], None]


def open_fresh(settings: Settings, progress: Progress) -> Engines:
    """Engines over the registry as it is now."""
    ingest(settings, progress=progress)
    return open_engines(settings)


@dataclass(frozen=True)
class TrifectaPlan:
    """What to run, where to write it, and how the rows are spread."""

    entries: tuple[SuiteEntry, ...]
    out: Path
    runs: int = 1
    workers: int = 1
    mapper: Mapper | None = None
    """None spreads over threads in this process."""
    baseline: Baseline = field(default_factory=Baseline)
    opener: Callable[[Settings, Progress], Engines] = open_fresh


@dataclass
class _Suite:
    """One suite with the evaluations of all its runs."""

    entry: SuiteEntry
    digest: str
    fingerprints: dict[str, str] = field(default_factory=dict)
    floor: float = 0.0
    evaluations: list[Evaluation] = field(default_factory=list)


def run_trifecta(
    plan: TrifectaPlan, settings: Settings, progress: Progress = lambda *_: None
) -> TrifectaReport:
    """Run all suites, compare them with the baseline, and write the report's figures to `plan.out`.

    An interrupted run loses no row: the same plan with the same folder takes up where it ended.
    Raises SuiteInvalid for data that is missing or damaged, before anything is run.
    """
    started = _now()
    suites = [_Suite(entry, dataset_digest(entry)) for entry in plan.entries]
    tasks = {suite.entry.name: read_suite(suite.entry.suite) for suite in suites}
    for run in range(1, plan.runs + 1):
        for suite in suites:
            _evaluate(suite, tasks[suite.entry.name], run, plan, settings, progress)
    report = TrifectaReport(
        started_at=started,
        finished_at=_now(),
        version=version("pickysteve"),
        runs=plan.runs,
        workers=plan.workers,
        orchestrated=plan.mapper is not None,
        suites=_reports(suites, plan.baseline),
    )
    write_report(report, plan.out)
    return report


def _evaluate(
    suite: _Suite, tasks: Sequence[Task], run: int, plan: TrifectaPlan, settings: Settings, progress: Progress
) -> None:
    name = suite.entry.name if plan.runs == 1 else f"{suite.entry.name}, run {run} of {plan.runs}"
    own = settings.model_copy(update={"registry": suite.entry.registry})
    # opened anew for each run: an engine remembers texts, and a remembered answer would count twice
    engines = plan.opener(own, lambda phase, done, total: progress(f"{name}, {phase}", done, total))
    publish_engines(engines, own)
    suite.fingerprints = fingerprints(engines, own)
    suite.floor = engines.calibration.fitted.floor_for(own.floor.mode, own.floor.risk)
    suite.evaluations.append(
        evaluate_suite(
            tasks,
            engines,
            own,
            suite_folder(plan.out, run, suite.entry.name),
            lambda done, total: progress(name, done, total),
            mapper=plan.mapper or on_threads(plan.workers),
            resume=True,
            must_block=suite.entry.must_block,
        )
    )


def _reports(suites: Sequence[_Suite], baseline: Baseline) -> tuple[SuiteReport, ...]:
    compared = adjust(
        [
            compare(suite.evaluations[0].rows, suite.digest, baseline.suites.get(suite.entry.name))
            for suite in suites
        ]
    )
    return tuple(_report(suite, comparison) for suite, comparison in zip(suites, compared, strict=True))


def _report(suite: _Suite, comparison: Comparison) -> SuiteReport:
    first, several = suite.evaluations[0], len(suite.evaluations) > 1
    spread = {name: tuple(figure_value(e.ours, name) for e in suite.evaluations) for name in SPREAD}
    given = zip(*([row.given for row in e.rows] for e in suite.evaluations), strict=True)
    unstable = [row.id for row, answers in zip(first.rows, given, strict=True) if len(set(answers)) > 1]
    return SuiteReport(
        name=suite.entry.name,
        dataset_sha256=suite.digest,
        fingerprints=suite.fingerprints,
        floor=suite.floor,
        ours=first.ours,
        bm25=first.bm25,
        unknown_gold=first.unknown_gold,
        reused=sum(evaluation.reused for evaluation in suite.evaluations),
        comparison=comparison,
        broken_floors=broken_floors(suite.entry, first.ours, first.rows),
        spread=spread if several else {},
        unstable=tuple(unstable),
    )


def accepted(report: TrifectaReport, out: Path, baseline: Baseline) -> Baseline:
    """The baseline with the suites of this report in place of its own; other suites stay."""
    suites = {}
    for suite in report.suites:
        rows = read_rows(suite_folder(out, 1, suite.name))
        suites[suite.name] = AcceptedSuite(
            dataset_sha256=suite.dataset_sha256,
            fingerprints=suite.fingerprints,
            accepted_at=report.finished_at,
            right={row.id: row.given for row in rows if row.right},
            wrong={row.id: row.given for row in rows if not row.right},
        )
    return Baseline(suites=baseline.suites | suites)


def new_run_folder(name: str = "") -> Path:
    """The folder of a run that was not given one: of the name, or of the time."""
    return user_data_path("pickysteve") / "trifecta" / (name or f"{datetime.now(UTC):%Y%m%dT%H%M%S}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
