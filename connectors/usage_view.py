"""What `pickysteve runs stats` shows: tables with bars of the terminal's own blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pickysteve.connectors.render import error_console

if TYPE_CHECKING:
    from pickysteve.tasks.usage import StageTimes, Usage

__all__ = ["show_usage"]

BAR_WIDTH = 24
SPARKS = "▁▂▃▄▅▆▇█"
SPARK_DAYS = 60


def show_usage(usage: Usage, console: Console, limit: int) -> None:
    """All counts, the first `limit` lines of each table."""
    for warning in usage.warnings:
        error_console().print(f"skipped: {warning}", markup=False, soft_wrap=True)
    console.print(_heading(usage))
    if not usage.runs:
        return
    for table in (_skills(usage, limit), _pairs(usage, limit), _stages(usage.stages)):
        if table.row_count:
            console.print(table)
    if usage.never_picked:
        names = ", ".join(map(escape, usage.never_picked))
        console.print(f"[bold]never picked[/] ({len(usage.never_picked)}): {names}")


def _heading(usage: Usage) -> str:
    other = (
        f"; {usage.other_registries:,} runs on other registries left out" if usage.other_registries else ""
    )
    if not usage.runs:
        return f"no runs{other}"
    statuses = ", ".join(f"{n:,} {status.replace('_', ' ')}" for status, n in usage.statuses.items())
    return (
        f"[bold]{usage.runs:,} runs[/] from {usage.first_day} to {usage.last_day}: {statuses}{other}\n"
        f"[cyan]{_sparkline(list(usage.days.values())[-SPARK_DAYS:])}[/] runs a day, "
        f"at most {max(usage.days.values()):,}"
    )


def _sparkline(counts: Sequence[int]) -> str:
    """One block a day, its height the share of the busiest day."""
    most = max(counts)
    return "".join(SPARKS[round(count / most * (len(SPARKS) - 1))] for count in counts)


def _skills(usage: Usage, limit: int) -> Table:
    table = Table(title="skills")
    for name in ("skill", "picked", "", "ambiguous", "near an abstention", "refused"):
        table.add_column(name, justify="left" if name in {"skill", ""} else "right", no_wrap=name == "skill")
    most = max((use.picked for use in usage.skills), default=0)
    for use in usage.skills[:limit]:
        cells = (use.ambiguous, use.near, use.refused)
        table.add_row(
            escape(use.skill_id),
            f"{use.picked:,}",
            _bar(0, use.picked, most, "green"),
            *(f"{cell:,}" if cell else "" for cell in cells),
        )
    return table


def _pairs(usage: Usage, limit: int) -> Table:
    table = Table(title="often ambiguous with each other")
    for name in ("skill", "skill", "runs", ""):
        table.add_column(name, justify="right" if name == "runs" else "left")
    most = max((pair.runs for pair in usage.ambiguous_pairs), default=0)
    for pair in usage.ambiguous_pairs[:limit]:
        bar = _bar(0, pair.runs, most, "yellow")
        table.add_row(escape(pair.first), escape(pair.second), f"{pair.runs:,}", bar)
    return table


def _stages(stages: Sequence[StageTimes]) -> Table:
    table = Table(title="milliseconds of each stage; the bar reaches from p50 to p95")
    for name in ("stage", "p50", "p95", "", "n", "cached"):
        table.add_column(name, justify="left" if name in {"stage", ""} else "right")
    longest = max((stage.p95 for stage in stages), default=0.0)
    for stage in stages:
        table.add_row(
            escape(stage.stage),
            f"{stage.p50:.1f}",
            f"{stage.p95:.1f}",
            _bar(stage.p50, stage.p95, longest, "cyan"),
            f"{stage.n:,}",
            f"{stage.cached:,}" if stage.cached else "",
        )
    return table


def _bar(start: float, end: float, most: float, color: str) -> Bar:
    return Bar(most or 1, start, end, width=BAR_WIDTH, color=color)
