"""`pickysteve ingest`: read skills from wherever they are into an index."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pickysteve.connectors.render import error_console, progress_bar, rows_table
from pickysteve.connectors.terminal import visible
from pickysteve.errors import SettingsInvalid

if TYPE_CHECKING:
    from pickysteve.flows.ingest import Ingested
    from pickysteve.flows.sources import Fetched
    from pickysteve.registry.sources.agents import FoundPlace

__all__ = ["register"]

PathArgument = Annotated[
    Path | None,
    typer.Argument(help="Folder of skills, Obsidian vault, AGENTS.md, or set of sources (.toml)."),
]
DiscoverOption = Annotated[
    bool, typer.Option("--discover", help="List the agents' own folders, here and at home.")
]
AllOption = Annotated[bool, typer.Option("--all", help="With --discover: ingest all that it lists.")]
OnlyOption = Annotated[list[str] | None, typer.Option(help="With --discover: ingest this one; repeatable.")]
GitOption = Annotated[
    list[str] | None,
    typer.Option(help="Repository as PATH_OR_URL, with #SUBFOLDER and @REV if you like; repeatable."),
]
McpOption = Annotated[
    list[str] | None, typer.Option(help="Command that starts an MCP server, for its tools; repeatable.")
]
EnvOption = Annotated[
    list[str] | None, typer.Option(help="Variable that the server may see, by name; repeatable.")
]
NameOption = Annotated[str, typer.Option(help="What the one new source is called.")]
SetOption = Annotated[
    Path | None,
    typer.Option("--set", help="Set that takes the sources; by default your own.", show_default=False),
]
RefreshOption = Annotated[
    bool, typer.Option("--refresh", help="Fetch the set's repositories and ask its servers again.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Stop at the first problem; write no index.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Keep nothing of the old index.")]
EnrichOption = Annotated[
    bool, typer.Option("--enrich", help="Have the model write examples for what is new; see enrich.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("ingest")(ingest)


def ingest(
    path: PathArgument = None,
    discover: DiscoverOption = False,
    everything: AllOption = False,
    only: OnlyOption = None,
    git: GitOption = None,
    mcp: McpOption = None,
    env: EnvOption = None,
    name: NameOption = "",
    set_file: SetOption = None,
    refresh: RefreshOption = False,
    strict: StrictOption = False,
    fresh: FreshOption = False,
    enrich: EnrichOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read skills into an index; only what changed is scanned and encoded again.

    One folder is a registry by itself. Several sources make a set, a TOML file that --registry or
    PS_REGISTRY can name like a folder.
    """
    from pickysteve.flows.engines import ingest as ingest_into_index
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.sources import Wanted, prepare_registry

    places = _places(only or [], everything=everything, discover=discover)
    if discover and not (everything or only):
        _show_places(places, as_json=as_json)
        return
    registry, fetched = prepare_registry(
        Wanted(
            path=path,
            places=tuple(place.source for place in places),
            git=tuple(git or ()),
            mcp=tuple(mcp or ()),
            env=tuple(env or ()),
            name=name,
            set_file=set_file,
            refresh=refresh,
        )
    )
    settings = load_settings(registry=registry)
    with progress_bar("ingest") as progress:
        done = ingest_into_index(settings, strict=strict, fresh=fresh, progress=progress)
    if enrich:
        from pickysteve.connectors.cli_enrich import enrich_and_tell

        enrich_and_tell(settings)
        with progress_bar("ingest") as progress:
            done = ingest_into_index(settings, progress=progress)
    _show(done, settings, fetched, as_json=as_json)


def _places(only: list[str], *, everything: bool, discover: bool) -> list[FoundPlace]:
    """The places that are asked for: all of them when none is named."""
    if not discover:
        if everything or only:
            raise SettingsInvalid("--all and --only choose from what is found: add --discover.")
        return []
    from pickysteve.registry.sources.agents import find_places, project_root

    found = find_places(project_root(Path.cwd()), Path.home())
    names = [place.source.name for place in found]
    if unknown := [name for name in only if name not in names]:
        raise SettingsInvalid(f'There is no "{unknown[0]}" here: see "pickysteve ingest --discover".')
    if everything and not found:
        raise SettingsInvalid("No agent keeps skills here or at home: name a folder.")
    return [
        place for place in found if place.source.name in only or not (only or (everything and place.same_as))
    ]


def _show_places(places: list[FoundPlace], *, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps([place.model_dump(mode="json") for place in places], ensure_ascii=False, indent=1)
        )
        return
    rows = [
        [
            place.source.name,
            place.agent,
            str(place.skills),
            str(place.left_out),
            place.source.path + (f" (the same as {place.same_as})" if place.same_as else ""),
        ]
        for place in places
    ]
    columns = ("name", "agent", "skills", "left out", "where")
    Console(highlight=False).print(rows_table(f"{len(rows)} places", columns, rows))
    if rows:
        typer.echo("Ingest them with --discover --all, or --discover --only NAME.")


def _show(done: Ingested, settings: Any, fetched: tuple[Fetched, ...], *, as_json: bool) -> None:
    report = _report(done, settings, fetched)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
        return
    for one in fetched:
        typer.echo(f"fetched {one.source}: {one.what}")
    for problem in done.data.problems:
        error_console().print(
            f"{'left out' if problem.fatal else 'remark'}: {visible(str(problem))}",
            markup=False,
            soft_wrap=True,
        )
    for source, units in report["sources"].items():
        typer.echo(f"{source}: {units} texts")
    typer.echo(
        f"{report['skills']} skills in {report['units']} files with {report['examples']} examples; "
        f"{done.scanned} texts scanned, {done.encoded} encoded, the rest was known; "
        f"{report['for_review']} to review.\n"
        f"index: {report['index']}"
    )
    if report["sources"]:
        typer.echo(f"Pick from it with --registry {report['registry']}, or set PS_REGISTRY to that.")


def _report(done: Ingested, settings: Any, fetched: tuple[Fetched, ...]) -> dict[str, Any]:
    from pickysteve.flows.engines import index_folder
    from pickysteve.registry.sources.reading import is_set

    sources = Counter(unit.source.partition("/")[0] for unit in done.data.units.values())
    return {
        "registry": str(settings.registry),
        "index": str(index_folder(settings)),
        "sources": dict(sorted(sources.items())) if is_set(settings.registry) else {},
        "fetched": [one.model_dump() for one in fetched],
        "skills": len(done.data.skills),
        "units": len(done.data.units),
        "examples": sum(len(skill.examples) for skill in done.data.skills.values()),
        "scanned": done.scanned,
        "encoded": done.encoded,
        "for_review": sum(verdict.risk == "review" for verdict in done.data.verdicts.values()),
        "problems": [problem.model_dump() for problem in done.data.problems],
    }
