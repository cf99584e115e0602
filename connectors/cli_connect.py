"""`pickysteve connect`: put the MCP server into the agents' configuration, check it, and take it out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, rows_table
from pickysteve.connectors.terminal import visible
from pickysteve.errors import AgentConfigInvalid, RequestInvalid

if TYPE_CHECKING:
    from pickysteve.connectors.agents.doctor import Finding
    from pickysteve.connectors.agents.install import Change
    from pickysteve.connectors.agents.survey import Seen

__all__ = ["register"]

connect = typer.Typer(help="Connect coding agents to PickySteve.", invoke_without_command=True)

AgentOption = Annotated[list[str] | None, typer.Option("--agent", help="An agent's id; repeatable.")]
ProjectOption = Annotated[bool, typer.Option("--project", help="The project's file in this folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

DONE = {"connect": "connected", "update": "updated", "disconnect": "disconnected", "nothing": "nothing to do"}
PLANNED = {"connect": "would connect", "update": "would update", "disconnect": "would disconnect"}


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(connect, name="connect")


@connect.callback()
def connect_agents(
    context: typer.Context,
    listing: Annotated[bool, typer.Option("--list", help="Show agents and files; change nothing.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every agent that is here.")] = False,
    agent: AgentOption = None,
    project: ProjectOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the diff; write nothing.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Give the files back as they were.")] = False,
    docs: Annotated[bool, typer.Option("--docs", help="Print docs/agents.md.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add the MCP server to an agent's own configuration, and nothing else."""
    if context.invoked_subcommand is not None:
        return
    if docs:
        from pickysteve.connectors.agents.matrix import agents_page

        typer.echo(agents_page(), nl=False)
        return
    seen = _look(agent, project)
    if listing or not (every or agent):
        if uninstall or dry_run:
            raise RequestInvalid("It is not said which agents are meant: pass --all or --agent ID.")
        _show_list([one for one in seen if not agent or one.agent.id in agent], as_json)
        return
    from pickysteve.connectors.agents.survey import chosen

    found = chosen(seen, agent or (), uninstall=uninstall)
    results = [_change(one, uninstall=uninstall, dry_run=dry_run) for one in found]
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=1))
    else:
        _show_results(results, uninstall=uninstall)
    if any("error" in result for result in results):
        raise typer.Exit(2)


def _look(names: list[str] | None, project: bool) -> tuple[Seen, ...]:
    from pickysteve.connectors.agents.machine import this_machine
    from pickysteve.connectors.agents.server import own_command
    from pickysteve.connectors.agents.survey import survey
    from pickysteve.connectors.agents.table import agent as agent_of

    known = [agent_of(name) for name in names or ()]
    seen = survey(this_machine(), "project" if project else "user", Path.cwd(), own_command())
    without = [one.title for one in known if one.id not in {row.agent.id for row in seen}]
    if without:
        raise RequestInvalid(f"A project has no file for {', '.join(without)}: leave --project out.")
    return seen


def _show_list(seen: Iterable[Seen], as_json: bool) -> None:
    records = [
        {
            "agent": one.agent.id,
            "title": one.place.title if one.place else one.agent.title,
            "found": one.is_found,
            "connected": one.is_connected,
            "file": str(one.place.path) if one.place else "",
        }
        for one in seen
    ]
    if as_json:
        typer.echo(json.dumps(records, ensure_ascii=False, indent=1))
        return
    marks = {True: "yes", False: "-"}
    rows = [
        [str(r["agent"]), marks[bool(r["found"])], marks[bool(r["connected"])], str(r["file"] or "by hand")]
        for r in records
    ]
    Console(highlight=False).print(rows_table("", ("agent", "found", "connected", "file"), rows))


def _change(one: Seen, *, uninstall: bool, dry_run: bool) -> dict[str, Any]:
    """Plan and make the change of one file; what went wrong with it does not stop the others."""
    from pickysteve.connectors.agents.install import apply, plan_connect, plan_disconnect
    from pickysteve.connectors.agents.server import own_command

    result: dict[str, Any] = {"agent": one.agent.id, "title": one.agent.title}
    if one.place is None:
        return {**result, "change": "by hand", "steps": list(one.agent.steps)}
    result |= {"title": one.place.title, "file": str(one.place.path)}
    try:
        change = (plan_disconnect if uninstall else plan_connect)(one.place, own_command())
        if not dry_run:
            change = apply(change, datetime.now().astimezone())
    except AgentConfigInvalid as error:
        return {**result, "change": "nothing", "error": str(error)}
    return {**result, **_record(change, dry_run=dry_run)}


def _record(change: Change, *, dry_run: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"change": change.verb, "written": not dry_run and change.verb != "nothing"}
    if dry_run:
        record["diff"] = change.diff()
    if change.copy is not None:
        record["copy"] = str(change.copy)
    return record


def _show_results(results: list[dict[str, Any]], *, uninstall: bool) -> None:
    if not results:
        typer.echo("No agent is connected." if uninstall else "No agent was found.")
    for result in results:
        if "error" in result:
            error_console().print(f"pickysteve: {visible(result['error'])}", markup=False, soft_wrap=True)
        elif "steps" in result:
            steps = "".join(f"\n  {number}. {step}" for number, step in enumerate(result["steps"], 1))
            typer.echo(f"{result['title']}: to be connected by hand:{steps}")
        else:
            words = DONE if result["written"] or result["change"] == "nothing" else PLANNED
            copy = f" (copy: {result['copy']})" if "copy" in result else ""
            typer.echo(f"{result['title']}: {words[result['change']]}, {result['file']}{copy}")
            if result.get("diff"):
                _show_diff(result["diff"])


def _show_diff(diff: str) -> None:
    for line in diff.rstrip("\n").split("\n"):
        # the file is the agent's: what it holds moves no cursor
        typer.echo("\t".join(map(visible, line.rstrip("\r").split("\t"))))


@connect.command("doctor")
def doctor(
    agent: AgentOption = None,
    project: ProjectOption = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Start the server as the agent would, and call a tool.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what connected agents would start. Exit code 2 when something is to be mended."""
    from pickysteve.connectors.agents.doctor import examine
    from pickysteve.connectors.agents.server import own_command

    seen = [one for one in _look(agent, project) if one.is_connected or one.agent.id in (agent or ())]
    places = [one.place for one in seen if one.place is not None and (one.is_connected or one.is_found)]
    findings = [examine(place, own_command(), start=probe) for place in places]
    if as_json:
        typer.echo(json.dumps([_finding_record(one) for one in findings], ensure_ascii=False, indent=1))
    elif not findings:
        typer.echo('No agent is connected: run "pickysteve connect --list".')
    else:
        for finding in findings:
            _show_finding(finding)
    if any(finding.problems for finding in findings):
        raise typer.Exit(2)


def _finding_record(finding: Finding) -> dict[str, Any]:
    answer = finding.probe
    return {
        "agent": finding.place.agent.id,
        "title": finding.place.title,
        "file": str(finding.place.path),
        "problems": list(finding.problems),
        "remarks": list(finding.remarks),
        "probe": None if answer is None else {**answer._asdict(), "tools": list(answer.tools)},
    }


def _show_finding(finding: Finding) -> None:
    typer.echo(
        f"{finding.place.title}: {'to be mended' if finding.problems else 'well'}, {finding.place.path}"
    )
    for line in (*finding.problems, *finding.remarks):
        typer.echo(f"  {visible(line)}")
    if (answer := finding.probe) is not None:
        typer.echo(
            f"  handshake {answer.handshake:.0f} ms, {len(answer.tools)} tools in {answer.listing:.0f} ms, "
            f"list_skills {answer.call:.0f} ms ({answer.skills} skills)"
        )
