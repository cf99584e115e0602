"""What `pickysteve skills lint` shows: what must be mended in full, the first remarks of each rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from pickysteve.connectors.terminal import visible

if TYPE_CHECKING:
    from pickysteve.flows.lint import LintFinding

__all__ = ["show_findings"]


def show_findings(findings: Sequence[LintFinding], console: Console, limit: int) -> None:
    """Every finding that must be mended, then at most `limit` remarks of each rule."""
    mend = [finding for finding in findings if finding.fatal]
    remarks = [finding for finding in findings if not finding.fatal]
    console.print(f"[bold]{len(mend)} to mend, {len(remarks)} remarks[/]")
    _show_rules(mend, console, len(mend), "red")
    _show_rules(remarks, console, limit, "yellow")


def _show_rules(findings: Sequence[LintFinding], console: Console, limit: int, style: str) -> None:
    by_rule: dict[str, list[LintFinding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    for rule, mine in by_rule.items():
        console.print(f"\n[bold {style}]{rule}[/] ({len(mine)})")
        # one remedy for all is told once
        shared = {finding.remedy for finding in mine} if len(mine) > 1 else set()
        for finding in mine[:limit]:
            _line(console, f"  {finding.path}: {finding.reason}")
            if len(shared) != 1:
                _line(console, f"    -> {finding.remedy}")
        if len(mine) > limit:
            _line(console, f"  and {len(mine) - limit} more: --all or --json shows them")
        if len(shared) == 1:
            _line(console, f"  -> {mine[0].remedy}")


def _line(console: Console, text: str) -> None:
    # paths and passages come from files of others
    console.print(visible(text), markup=False, soft_wrap=True)
