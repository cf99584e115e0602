"""`pickysteve skills`: look at the registry, its examples, and what could be better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, rows_table
from pickysteve.connectors.terminal import visible
from pickysteve.errors import SettingsInvalid

if TYPE_CHECKING:
    from pickysteve.flows.settings import Settings
    from pickysteve.tasks.engines.index import SearchIndex

__all__ = [
    "JsonOption",
    "ProfileOption",
    "RegistryOption",
    "bring_up_to_date",
    "open_registry",
    "register",
    "skills",
]

skills = typer.Typer(help="List, show and check the skills of a registry.", no_args_is_help=True)
examples = typer.Typer(help="List, add and remove example requests.", no_args_is_help=True)
skills.add_typer(examples, name="examples")

RegistryOption = Annotated[
    Path | None, typer.Option("--registry", help="Folder of skills.", show_default=False)
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile", help="Settings that go together: embedded, local or hosted.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(skills, name="skills")


def open_registry(registry: Path | None) -> tuple[Settings, SearchIndex]:
    """Settings and index of a registry, which is ingested first where it has none."""
    from pickysteve.flows.engines import open_engines
    from pickysteve.flows.settings import load_settings

    settings = load_settings(registry=registry)
    with progress_bar("reading the registry for the first time") as progress:
        return settings, open_engines(settings, progress).index


def _known(skill_id: str, index: SearchIndex) -> str:
    from pickysteve.flows.asking import check_skill

    return check_skill(skill_id, index.skills)


@skills.command("list")
def list_skills(registry: RegistryOption = None, as_json: JsonOption = False) -> None:
    """Every skill with its files, examples and the gate's word on it."""
    from pickysteve.flows.catalogue import skill_records

    _, index = open_registry(registry)
    records = skill_records(index)
    if as_json:
        typer.echo(json.dumps(records, ensure_ascii=False, indent=1))
        return
    rows = [
        [r["id"], str(r["units"]), str(r["examples"]), r["gate"], r["description"][:120]] for r in records
    ]
    columns = ("skill", "files", "examples", "gate", "description")
    Console(highlight=False).print(rows_table(f"{len(rows)} skills", columns, rows))


@skills.command("show")
def show_skill(skill_id: str, registry: RegistryOption = None, as_json: JsonOption = False) -> None:
    """One skill: its files, examples, neighbours, and what the gate found."""
    from pickysteve.flows.catalogue import skill_record

    _, index = open_registry(registry)
    record = skill_record(_known(skill_id, index), index)
    if as_json:
        typer.echo(json.dumps(record, ensure_ascii=False, indent=1))
        return
    console = Console(highlight=False)
    for name, value in record.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        console.print(f"{name}:", style="bold", end=" ")
        console.print("\n".join(map(visible, shown.split("\n"))), markup=False)


REMARKS = 5
"""Remarks of each rule that are shown unless all are asked for."""


@skills.command("lint")
def lint(
    registry: RegistryOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every remark.")] = False,
    as_json: JsonOption = False,
) -> None:
    """What makes skills hard to find or unusable. Exit code 1: something must be mended; 0: remarks only."""
    from pickysteve.flows.engines import ingest, open_engines
    from pickysteve.flows.lint import lint_registry
    from pickysteve.flows.settings import load_settings

    settings = load_settings(registry=registry)
    with progress_bar("lint") as progress:
        ingest(settings, progress=progress)
        found = lint_registry(open_engines(settings), settings, progress)
    mend = sum(finding.fatal for finding in found)
    if as_json:
        typer.echo(json.dumps([finding.model_dump() for finding in found], ensure_ascii=False, indent=1))
    else:
        from pickysteve.connectors.lint_view import show_findings

        show_findings(found, Console(highlight=False), len(found) if everything else REMARKS)
    if mend:
        raise typer.Exit(1)


@examples.command("list")
def list_examples(
    skill_id: Annotated[str, typer.Argument(help="A skill; all of them without.")] = "",
    registry: RegistryOption = None,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="What a model wrote and was not kept, with the reason.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Example requests with their origin: the author, a user, or the model that wrote them."""
    settings, index = open_registry(registry)
    if dropped:
        _list_dropped(settings, _known(skill_id, index) if skill_id else "", as_json=as_json)
        return
    wanted = [_known(skill_id, index)] if skill_id else list(index.skills)
    found = [example for skill in wanted for example in index.skills[skill].examples]
    if as_json:
        typer.echo(json.dumps([example.model_dump() for example in found], ensure_ascii=False, indent=1))
        return
    rows = [[example.skill_id, example.origin, example.text] for example in found]
    Console(highlight=False).print(rows_table(f"{len(rows)} examples", ("skill", "origin", "request"), rows))


def _list_dropped(settings: Settings, skill_id: str, *, as_json: bool) -> None:
    from pickysteve.flows.enrichment import read_enriched

    kept = [one for one in read_enriched(settings.registry).values() if skill_id in ("", one.skill_id)]
    found = [
        {"skill_id": one.skill_id, "origin": one.model, **dropped.model_dump()}
        for one in sorted(kept, key=lambda one: one.skill_id)
        for dropped in one.dropped
    ]
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=True, indent=1))
        return
    columns = ("skill_id", "origin", "kind", "reason", "text")
    rows = [[one[name] for name in columns] for one in found]
    Console(highlight=False).print(rows_table(f"{len(rows)} not kept", columns, rows))


@examples.command("add")
def add_example(skill_id: str, text: str, registry: RegistryOption = None) -> None:
    """Add a request that the skill is for; the gate scans it first. Exit code 3 when it is refused."""
    from pickysteve.flows.examples import add_example as add

    settings, index = open_registry(registry)
    verdict = add(settings, _known(skill_id, index), text)
    if not verdict.allowed:
        rules = ", ".join(finding.rule for finding in verdict.findings)
        error_console().print(
            f"pickysteve: the gate refused the example ({rules}); nothing was kept.", markup=False
        )
        raise typer.Exit(3)
    bring_up_to_date(settings)
    typer.echo(f"{skill_id} has one more example.")


@examples.command("remove")
def remove_example(skill_id: str, text: str, registry: RegistryOption = None) -> None:
    """Remove an example by its text, as `examples list` shows it."""
    from pickysteve.flows.examples import remove_example as remove

    settings, index = open_registry(registry)
    if text not in {example.text for example in index.skills[_known(skill_id, index)].examples}:
        raise SettingsInvalid(
            f'{skill_id} has no such example: see "pickysteve skills examples list {skill_id}".'
        )
    remove(settings.registry, skill_id, text)
    bring_up_to_date(settings)
    typer.echo(f"{skill_id} has one example less.")


def bring_up_to_date(settings: Settings) -> None:
    """Ingest what changed, with a bar where it takes long."""
    from pickysteve.flows.engines import ingest

    with progress_bar("ingest") as progress:
        ingest(settings, progress=progress)
