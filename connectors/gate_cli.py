"""Commands of the gate: scan, redteam, and the calibration of its heads."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pickysteve.errors import RequestInvalid
from pickysteve.registry.models import Verdict

__all__ = ["BLOCKED", "register"]

BLOCKED = 3
"""Exit code when the gate refuses."""


def register(app: typer.Typer) -> None:
    """Mount the gate's commands on an application."""
    app.command("scan")(scan)
    app.command("redteam")(redteam)
    gate = typer.Typer(no_args_is_help=True, help="The gate's fitted heads.")
    gate.command("calibrate")(calibrate)
    app.add_typer(gate, name="gate")


def scan(
    file: Annotated[str, typer.Argument(help="A file, or - for standard input.")] = "",
    surface: Annotated[str, typer.Option(help="request or document")] = "request",
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    jsonl: Annotated[
        tuple[Path, Path] | None, typer.Option("--jsonl", help="Judge a file of JSON lines into another.")
    ] = None,
) -> None:
    """Judge a text as the gate would; exit code 0 when it is allowed, 3 when it is blocked."""
    from pickysteve.flows.judging import gate_judge, judge_lines, verdict_record
    from pickysteve.flows.settings import load_settings

    if surface not in ("request", "document"):
        raise RequestInvalid(f'There is no surface "{surface}": pass --surface request or document.')
    if jsonl is None and not file:
        raise RequestInvalid("There is nothing to scan: name a file, or - for standard input.")
    settings = load_settings()
    judging = gate_judge(settings.gate, settings.llm)
    if jsonl is not None:
        rows = [line for line in _text(str(jsonl[0])).split("\n") if line.strip()]
        _write_verdicts(judge_lines(rows, judging), jsonl[1], len(rows))
        return
    verdict = judging.judge(_text(file), surface)
    typer.echo(json.dumps(verdict_record(verdict)) if as_json else _shown(verdict))
    if not verdict.allowed:
        raise typer.Exit(BLOCKED)


def _write_verdicts(verdicts: Iterator[str], path: Path, total: int) -> None:
    """Write each verdict as it is made; what is there when the work is stopped is whole lines."""
    from pickysteve.connectors.render import progress_bar

    try:
        output = path.open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        raise RequestInvalid(f'"{path}" cannot be written ({error.strerror}): name another file.') from error
    with output, progress_bar("scan") as progress:
        for done, verdict in enumerate(verdicts, start=1):
            output.write(f"{verdict}\n")
            progress("lines", done, total)


def _text(name: str) -> str:
    """The input as text; bytes that are none become lone surrogates, which the gate refuses."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise RequestInvalid(f'"{name}" cannot be read ({error.strerror}): name a readable file.') from error
    return data.decode("utf-8", "surrogateescape")


def _shown(verdict: Verdict) -> str:
    lines = [f"{'allowed' if verdict.allowed else 'blocked'}  risk {verdict.risk}  score {verdict.score:.3f}"]
    # A passage is hostile text: without escapes it could write to the terminal.
    lines += [f"  {found.severity:6} {found.rule}: {json.dumps(found.passage)}" for found in verdict.findings]
    return "\n".join(lines)


def redteam(
    cases: Annotated[
        Path | None, typer.Option(help="Folder with requests.jsonl and documents.jsonl.")
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Make this run the baseline.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Run our own attacks against the gate; exit code 1 when it blocks less than the accepted baseline."""
    from pickysteve.flows.gate_corpora import repository_root
    from pickysteve.flows.judging import gate_judge
    from pickysteve.flows.redteam_report import (
        compare_with_baseline,
        read_baseline,
        read_cases,
        redteam_report,
        write_baseline,
    )
    from pickysteve.flows.settings import load_settings

    settings = load_settings()
    judging = gate_judge(settings.gate, settings.llm)
    folder = cases or repository_root() / "datasets" / "redteam"
    report = redteam_report(read_cases(folder), judging.judge, judging.fingerprint)
    baseline = read_baseline()
    compared = compare_with_baseline(report, baseline) if baseline else None
    if as_json:
        compared_json = compared.model_dump(mode="json") if compared else None
        typer.echo(json.dumps({"report": report.model_dump(mode="json"), "comparison": compared_json}))
    else:
        for figure in (*report.families, *report.totals):
            typer.echo(
                f"{figure.surface:9} {figure.label:7} {figure.family:28} "
                f"blocked {figure.blocked:3} of {figure.n:3} "
                f"[{figure.low:.2f}, {figure.high:.2f}]  for review {figure.review}"
            )
        if compared is not None and compared.comparable:
            typer.echo(
                f"newly wrong: {', '.join(compared.newly_wrong) or 'none'} (p = {compared.p_value:.3f})"
            )
    if accept:
        typer.echo(f"accepted: {write_baseline(report)}", err=as_json)
    elif compared is not None and compared.regressed:
        raise typer.Exit(1)


def calibrate(
    shared: Annotated[Path | None, typer.Option(help="Folder with gate/ and skills/.")] = None,
) -> None:
    """Fit the gate's heads on the outside corpora and write calibration/gate.json."""
    from pickysteve.flows.calibrate_gate import calibrate_gate, write_gate

    heads = calibrate_gate(shared, progress=lambda phase: typer.echo(phase, err=True))
    write_gate(heads)
    typer.echo(f"request block {heads.request.block}, document block {heads.document.block}")
