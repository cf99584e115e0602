"""`pickysteve graph`: which skills are confused with each other, drawn and edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pickysteve.connectors.cli_skills import RegistryOption, bring_up_to_date, open_registry
from pickysteve.errors import RunsUnwritable, SettingsInvalid

if TYPE_CHECKING:
    from pickysteve.registry.graph import Edge
    from pickysteve.tasks.engines.index import SearchIndex

__all__ = ["register"]

graph = typer.Typer(help="Which skills are confused with each other, and what tells them apart.")
First = Annotated[str, typer.Argument(help="A skill.")]
Second = Annotated[str, typer.Argument(help="The skill that it is confused with.")]


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(graph, name="graph")


@graph.callback(invoke_without_command=True)
def draw(
    context: typer.Context,
    registry: RegistryOption = None,
    form: Annotated[
        Literal["mermaid", "html", "json"], typer.Option("--format", help="How it is drawn.")
    ] = "mermaid",
    skill: Annotated[list[str] | None, typer.Option(help="Only pairs with this skill; repeatable.")] = None,
    people: Annotated[bool, typer.Option("--people", help="Only what people joined, no suggestion.")] = False,
    out: Annotated[Path | None, typer.Option(help="File; by default standard output.")] = None,
) -> None:
    """Draw the graph as Mermaid, as one HTML page or as JSON.

    What people say stands in confusions.yaml beside the skills: under confused_with a list of edges, each
    with skills (two ids), distinguisher and signals (a text for each id); under not_confused pairs of ids.
    """
    if context.invoked_subcommand:
        context.obj = registry
        return
    from pickysteve.flows.asking import check_skill
    from pickysteve.flows.report.graph import graph_page, mermaid

    settings, index = open_registry(registry)
    wanted = {check_skill(name, index.skills) for name in skill or []}
    edges = [
        edge
        for edge in index.data.edges
        if edge.origin in ({"registry"} if people else {"registry", "suggested"})
        and (not wanted or wanted & set(edge.pair))
    ]
    if form == "json":
        text = json.dumps([edge.model_dump() for edge in edges], ensure_ascii=False, indent=1) + "\n"
    else:
        text = mermaid(edges) if form == "mermaid" else graph_page(edges, str(settings.registry))
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunsUnwritable(
            f'"{out}" cannot be written ({error.strerror}): pass --out another file.'
        ) from error
    typer.echo(f"{len(edges)} pairs: {out}")


@graph.command("set")
def join(
    context: typer.Context,
    first: First,
    second: Second,
    distinguisher: Annotated[str, typer.Option(help="What tells them apart.")] = "",
    first_signal: Annotated[str, typer.Option(help="What a request for the first says.")] = "",
    second_signal: Annotated[str, typer.Option(help="What a request for the second says.")] = "",
) -> None:
    """Join two skills in the registry's file; what is left out is taken from the edge that is there."""
    from pickysteve.registry.graph import Edge, pair_of

    pair = pair_of(first, second)
    given = {first: first_signal, second: second_signal}

    def edited(known: Edge | None) -> Edge:
        before = known or Edge(first=pair[0], second=pair[1])
        return Edge(
            first=pair[0],
            second=pair[1],
            distinguisher=distinguisher or before.distinguisher,
            first_signal=given[pair[0]] or before.first_signal,
            second_signal=given[pair[1]] or before.second_signal,
        )

    _write(context, (first, second), edited)


@graph.command("drop")
def part(context: typer.Context, first: First, second: Second) -> None:
    """Say that two skills are not confused, however near they are."""
    _write(context, (first, second), None)


def _write(
    context: typer.Context, skills: tuple[str, str], edited: Callable[[Edge | None], Edge] | None
) -> None:
    from pydantic import ValidationError

    from pickysteve.flows.asking import check_skill
    from pickysteve.registry.graph import edit_graph, graph_file, pair_of

    settings, index = open_registry(context.obj)
    one, other = (check_skill(skill, index.skills) for skill in skills)
    if one == other:
        raise SettingsInvalid("A skill is not confused with itself: name two.")
    pair = pair_of(one, other)
    path = graph_file(settings.registry)
    try:
        edge = edited(_known(pair, index)) if edited else None
    except ValidationError as error:
        raise SettingsInvalid("A note on an edge has at most 300 characters: shorten it.") from error
    edit_graph(path, pair, edge)
    bring_up_to_date(settings)
    typer.echo(f"{' and '.join(pair)}: {'joined' if edge else 'not confused'}, written to {path}")


def _known(pair: tuple[str, str], index: SearchIndex) -> Edge | None:
    return next((edge for edge in index.data.edges if edge.pair == pair and edge.origin != "rejected"), None)
