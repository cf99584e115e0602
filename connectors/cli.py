"""The command line: `pickysteve "REQUEST"` and the commands around it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pickysteve.connectors import (
    cli_cache,
    cli_calibrate,
    cli_config,
    cli_connect,
    cli_enrich,
    cli_eval,
    cli_export,
    cli_graph,
    cli_ingest,
    cli_review,
    cli_runs,
    cli_serve,
    cli_setup,
    cli_skills,
    cli_trifecta,
    cli_up,
    cli_warm,
    gate_cli,
)
from pickysteve.connectors.render import (
    explain_table,
    pick_json,
    progress_bar,
    show_pick,
    show_piece,
)

__all__ = ["app", "run"]

app = typer.Typer(
    name="pickysteve",
    help="Pick the one skill that a request needs, scanned and bounded, or say that none fits.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
cli_ingest.register(app)
cli_skills.register(app)
cli_review.register(cli_skills.skills)
cli_warm.register(app)
cli_runs.register(app)
cli_eval.register(app)
cli_calibrate.register(app)
cli_trifecta.register(app)
cli_export.register(app)
gate_cli.register(app)
cli_serve.register(app)
cli_connect.register(app)
cli_config.register(app)
cli_graph.register(app)
cli_enrich.register(app)
cli_setup.register(app)
cli_up.register(app)
cli_cache.register(app)

RegistryOption = Annotated[
    Path | None, typer.Option("--registry", help="Folder of skills.", show_default=False)
]


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(version_of("pickysteve"))
        raise typer.Exit


@app.command("pick")
@app.command("run", hidden=True)
def pick(
    request: Annotated[str, typer.Argument(help='What you need, in words; "-" reads standard input.')],
    registry: RegistryOption = None,
    profile: cli_skills.ProfileOption = None,
    exclude: Annotated[list[str] | None, typer.Option(help="A skill never to pick; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    bundle: Annotated[bool, typer.Option("--bundle", help="Print only the bounded bundle.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show why, and why not the runners-up.")] = False,
    no_exec: Annotated[bool, typer.Option("--no-exec", help="Do not hand the bundle to a model.")] = False,
    orchestrated: Annotated[
        bool, typer.Option("--orchestrated", help="Run each stage as a task run on the Prefect server.")
    ] = False,
    allow_uncalibrated: Annotated[
        bool, typer.Option("--allow-uncalibrated", help="Run on where the calibration does not fit.")
    ] = False,
) -> None:
    """Pick the skill that a request needs. Exit code 0: a pick or an abstention; 3: blocked."""
    given = {"registry": registry, "profile": profile, "allow_uncalibrated": allow_uncalibrated or None}
    console = Console(highlight=False)
    show = show_piece(console) if not (as_json or bundle) else None
    trace, engines = _pick(
        request, given, exclude or [], orchestrated=orchestrated, executes=not no_exec, show=show
    )
    if as_json:
        typer.echo(json.dumps(pick_json(trace), ensure_ascii=False, indent=1))
    elif bundle:
        typer.echo(trace.bundle.text)
    else:
        show_pick(trace, console)
    if explain and not as_json and not bundle:
        has_examples = {skill_id: bool(skill.examples) for skill_id, skill in engines.index.skills.items()}
        console.print(explain_table(trace, engines.calibration.fitted, has_examples))
    if trace.pick.status.startswith("blocked"):
        raise typer.Exit(3)


def _pick(
    request: str,
    given: dict[str, Any],
    exclude: list[str],
    *,
    orchestrated: bool,
    executes: bool,
    show: Callable[[str], None] | None,
) -> tuple[Any, Any]:
    from pickysteve.flows.asking import check_skill, read_request
    from pickysteve.flows.dag import pick_context
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.settings import load_settings
    from pickysteve.tasks.stage import Direct

    settings = load_settings(**given)
    text = sys.stdin.read() if request == "-" else request
    asked = read_request(text, (*settings.exclude, *exclude), settings.gate)
    with progress_bar("reading the registry for the first time") as progress:
        engines = open_engines(settings, progress, executes=executes)
    engines = replace(engines, show=show) if show else engines
    for skill in exclude:
        check_skill(skill, engines.index.skills)
    if orchestrated:
        from pickysteve.flows.request import pick_orchestrated

        return pick_orchestrated(asked, engines, settings), engines
    return pick_context(asked, engines, settings, Direct()), engines


COMMANDS = {command.name for command in app.registered_commands} | {
    group.name for group in app.registered_groups
}


def run(arguments: list[str]) -> None:
    """Run the command line: a first word that is no command is a request."""
    words = [word for word in arguments if not word.startswith("-")]
    top_level = not words and any(word in {"--help", "--version"} for word in arguments)
    if arguments and not top_level and (not words or words[0] not in COMMANDS):
        arguments = ["pick", *arguments]
    app(arguments, standalone_mode=True)
