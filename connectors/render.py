"""What people see: tables and short sentences on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pickysteve.calibration.fitted import Fitted
from pickysteve.calibration.metrics import Summary
from pickysteve.connectors.evidence import evidence_columns, evidence_of
from pickysteve.connectors.terminal import visible
from pickysteve.flows.report.words import LABELS, OWN_ONLY, figure_of, figure_words
from pickysteve.tasks.values import Candidate, Trace

__all__ = [
    "error_console",
    "explain_table",
    "pick_json",
    "progress_bar",
    "rows_table",
    "show_evaluation",
    "show_pick",
    "show_piece",
]


def error_console() -> Console:
    """Progress and remarks go to standard error, so that output can be piped."""
    return Console(stderr=True, highlight=False)


@contextmanager
def progress_bar(title: str) -> Iterator[Any]:
    """A bar on standard error, gone when it is done; yields progress(phase, done, total)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=error_console(), transient=True)
    tasks: dict[str, Any] = {}

    def progress(phase: str, done: int, total: int) -> None:
        if phase not in tasks:
            bar.start()
            tasks[phase] = bar.add_task(f"{title}: {phase}", total=total)
        bar.update(tasks[phase], completed=done, total=total)

    try:
        yield progress
    finally:
        if tasks:
            bar.stop()


def pick_json(trace: Trace) -> dict[str, Any]:
    """The stable form for programs."""
    pick = trace.pick
    return {
        "status": pick.status,
        "picks": list(pick.skills),
        "confidence": pick.confidence,
        "low_confidence": pick.low_confidence,
        "ambiguous": pick.ambiguous,
        "prediction_set": list(pick.prediction_set),
        "question": pick.question,
        "bundle": trace.bundle.text,
        "candidates": [_candidate_json(candidate) for candidate in trace.candidates],
        "degraded": [degradation.model_dump() for degradation in trace.degraded],
        "spent": [spent.model_dump() for spent in trace.spent],
        "execution": {"state": trace.execution.state, "answer": trace.execution.answer},
        "run_id": trace.run_id,
        "milliseconds": trace.milliseconds,
        "reasons": list(pick.reasons),
        "shortlist": pick.shortlist,
        "compatibility": trace.compatibility.model_dump() if trace.compatibility else None,
    }


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {
        "skill": candidate.skill_id,
        "unit": candidate.unit_id,
        "score": candidate.score,
        "bm25": candidate.bm25,
        "dense": candidate.dense,
        "fused_rank": candidate.fused_rank,
        "gate": candidate.verdict.risk if candidate.verdict else None,
    }


def show_pick(trace: Trace, console: Console) -> None:
    """The decision in words. Text from skills is escaped: it is data here as everywhere."""
    pick = trace.pick
    if pick.status == "ok":
        marks = " ".join(mark for mark in ("ambiguous", "low_confidence") if getattr(pick, mark))
        console.print(
            f"[bold green]{escape(' + '.join(pick.skills))}[/]  [yellow]{marks.replace('_', ' ')}[/]"
        )
    elif pick.status == "no_confident_match":
        console.print("[bold yellow]no confident match[/]")
    else:
        console.print(f"[bold red]{pick.status.replace('_', ' ')}[/]")
    for reason in pick.reasons:
        console.print(f"  {escape(reason)}")
    for fallback in trace.degraded:
        console.print(f"[yellow]{escape(fallback.stage)} fell back: {escape(fallback.reason)}[/]")
    if pick.question:
        console.print(f"[cyan]{escape(pick.question)}[/]")
    for skill_id, line in pick.shortlist.items():
        console.print(f"  [bold]{escape(skill_id)}[/]  {escape(line)}")
    size = (
        f", bundle of {len(trace.bundle.text):,} characters (--bundle prints it)" if trace.bundle.text else ""
    )
    console.print(f"[dim]{trace.milliseconds:.0f} ms, run {trace.run_id}{size}[/]")


def show_piece(console: Console) -> Callable[[str], None]:
    """Print a model's answer as it comes, without what could steer a terminal."""

    def show(piece: str) -> None:
        plain = "".join(c for c in piece if c.isprintable() or c in "\n\t")
        console.print(plain, end="", markup=False, soft_wrap=True)

    return show


def explain_table(trace: Trace, fitted: Fitted, has_examples: dict[str, bool], rows: int = 5) -> Table:
    """Why this skill and not the runners-up: what each kind of evidence adds to the log-odds."""
    table = Table(title="evidence in log-odds; scores measure topical similarity, not correctness")
    columns = evidence_columns(fitted)
    for name in ("skill", "score", *columns, "gate"):
        table.add_column(name, justify="left" if name in {"skill", "gate"} else "right")
    for candidate in trace.candidates[:rows]:
        examples = has_examples.get(candidate.skill_id, False)
        parts = evidence_of(candidate, fitted, has_examples=examples)
        table.add_row(
            escape(candidate.unit_id),
            f"{candidate.score or 0:.2f}",
            *(f"{parts[column]:+.1f}" for column in columns),
            candidate.verdict.risk if candidate.verdict else "",
        )
    return table


def show_evaluation(ours: Summary, bm25: Summary, console: Console, title: str = "") -> None:
    """Every figure with its n and 95 % interval, plain BM25 beside it."""
    heading = f"{escape(title)}: {ours.n} tasks" if title else f"{ours.n} tasks"
    table = Table(title=f"{heading}; 95 % intervals")
    for name in ("figure", "PickySteve", "plain BM25"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for name, label in LABELS.items():
        figure = figure_of(ours, name)
        if figure is not None:
            beside = "" if name in OWN_ONLY else figure_words(figure_of(bm25, name))
            table.add_row(label, escape(figure_words(figure)), escape(beside))
    console.print(table)


def rows_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; its cells are data, so they are escaped for the markup and for the terminal."""
    table = Table(title=title)
    for at, column in enumerate(columns):
        table.add_column(column, no_wrap=at == 0, overflow="fold")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    return table
