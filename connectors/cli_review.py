"""`pickysteve skills review`: what the gate refused or doubts, and the operator's word on it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pickysteve.connectors.cli_skills import JsonOption, RegistryOption, bring_up_to_date, open_registry
from pickysteve.connectors.terminal import visible

if TYPE_CHECKING:
    from pickysteve.flows.review import Decision, ReviewItem

__all__ = ["register"]

review = typer.Typer(help="What the gate refused or doubts, the gravest first; allow or refuse it.")
Target = Annotated[str, typer.Argument(help="The start of a hash as the list shows it, or a skill's id.")]
PAGE = 20
NAMES = {"refused": "refused", "doubtful": "for review", "decided": "decided"}


def register(skills: typer.Typer) -> None:
    """Mount the commands below `skills`."""
    skills.add_typer(review, name="review")


@review.callback(invoke_without_command=True)
def show_list(
    context: typer.Context,
    registry: RegistryOption = None,
    show_all: Annotated[bool, typer.Option("--all", help=f"Not only the {PAGE} gravest.")] = False,
    as_json: JsonOption = False,
) -> None:
    """What the gate refused, then what it doubts, with the passages found. JSON holds all of it."""
    if context.invoked_subcommand:
        context.obj = registry
        return
    from pickysteve.flows.review import read_decisions, review_list

    _, index = open_registry(registry)
    items = review_list(index.data, read_decisions())
    counts: Counter[str] = Counter(item.kind for item in items)
    if as_json:
        report = {
            "documents": len(index.data.units),
            **{kind: counts[kind] for kind in ("refused", "doubtful", "decided")},
            "items": [{"kind": item.kind, **item.model_dump()} for item in items],
        }
        # a passage is hostile text: kept in ASCII, it cannot write to a terminal
        typer.echo(json.dumps(report, indent=1))
        return
    typer.echo(_summary(items, len(index.data.units)))
    for item in items if show_all else items[:PAGE]:
        typer.echo(_shown(item))
    if len(items) > PAGE and not show_all:
        typer.echo(f"\n{len(items) - PAGE} more: pickysteve skills review --all")
    if items:
        typer.echo("\nDecide with: pickysteve skills review allow|refuse|forget HASH")


def _summary(items: tuple[ReviewItem, ...], documents: int) -> str:
    counts: Counter[str] = Counter(item.kind for item in items)
    rules = Counter(rule for item in items for rule in item.rules)
    told = ", ".join(f"{counts[kind]} {name}" for kind, name in NAMES.items())
    by_rule = ", ".join(f"{visible(rule)} {count}" for rule, count in rules.most_common(8))
    return f"{told}; {documents} documents in the registry" + (f"\nby rule: {by_rule}" if rules else "")


def _shown(item: ReviewItem) -> str:
    from pickysteve.flows.review import SHOWN_DIGITS

    kind = f"{item.decision} by you" if item.decision else NAMES[item.kind]
    where = f"{item.unit_id} ({item.source})" if item.unit_id else item.source
    return (
        f"\n{kind}  {item.sha256[:SHOWN_DIGITS]}  {visible(where)}"
        f"\n  {visible(', '.join(item.rules)) or 'nothing found'}; score {item.score:.2f}"
        + (f'\n  "{visible(item.passage)}"' if item.passage else "")
    )


@review.command("allow")
def allow(context: typer.Context, target: Target, registry: RegistryOption = None) -> None:
    """Hand this very text over from now on, whatever the gate says of it."""
    _decide(target, registry or context.obj, "allow")


@review.command("refuse")
def refuse(context: typer.Context, target: Target, registry: RegistryOption = None) -> None:
    """Never hand this very text over."""
    _decide(target, registry or context.obj, "refuse")


@review.command("forget")
def forget(context: typer.Context, target: Target, registry: RegistryOption = None) -> None:
    """Take a decision back; the gate's own word counts again."""
    _decide(target, registry or context.obj, None)


def _decide(target: str, registry: Path | None, decision: Decision | None) -> None:
    from pickysteve.flows.review import SHOWN_DIGITS, decide, find_text, read_decisions

    settings, index = open_registry(registry)
    digest = find_text(target, index.data, read_decisions(), decided=decision is None)
    decide(digest, decision)
    # cheap: only blocked texts are judged again, only what is newly allowed is encoded
    bring_up_to_date(settings)
    typer.echo(
        f"{digest[:SHOWN_DIGITS]}: {decision or 'no decision any more'}. It counts in this registry now, "
        "in others when they are used next, and only for this text: an edit needs a new decision."
    )
