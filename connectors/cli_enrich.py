"""`pickysteve enrich`: a model writes example requests for each skill, once for many requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pickysteve.connectors.cli_skills import JsonOption, ProfileOption, RegistryOption, bring_up_to_date
from pickysteve.connectors.render import error_console, progress_bar
from pickysteve.connectors.terminal import visible

if TYPE_CHECKING:
    from pickysteve.flows.enrichment import EnrichReport
    from pickysteve.flows.settings import Settings
    from pickysteve.tasks.values import Spent

__all__ = ["enrich_and_tell", "register"]


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("enrich")(enrich)


def enrich(
    registry: RegistryOption = None,
    profile: ProfileOption = None,
    skill: Annotated[list[str] | None, typer.Option(help="Only this skill; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many skills.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Write anew what is there already.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have the model of the settings write ten example requests, a summary and a not-for note for each skill.

    Kept by the skill's text: an interrupted run goes on where it stopped. See what was written with
    "pickysteve skills examples list", and why some was not kept with --dropped there.
    """
    from pickysteve.flows.settings import load_settings

    settings = load_settings(registry=registry, profile=profile)
    bring_up_to_date(settings)
    report = enrich_and_tell(settings, skills=tuple(skill or ()), limit=limit, again=again)
    if report.written:
        bring_up_to_date(settings)
    if as_json:
        typer.echo(json.dumps(_record(report), ensure_ascii=False, indent=1))


def enrich_and_tell(
    settings: Settings, *, skills: tuple[str, ...] = (), limit: int | None = None, again: bool = False
) -> EnrichReport:
    """Enrich the registry whose index is up to date, and say on standard error what came of it."""
    from pickysteve.flows.asking import check_skill
    from pickysteve.flows.engines import index_folder
    from pickysteve.flows.enrichment import enrich_registry
    from pickysteve.registry.index import read_index
    from pickysteve.tasks.engines.embedder import open_encoder
    from pickysteve.tasks.engines.guard import Guard
    from pickysteve.tasks.engines.index import SearchIndex
    from pickysteve.tasks.roles import open_roles

    index = SearchIndex(read_index(index_folder(settings)))
    with progress_bar("enrich") as progress:
        report = enrich_registry(
            settings.registry,
            index,
            encoder=open_encoder(settings.embed),
            guard=Guard(),
            role=open_roles(settings.llm).enricher,
            gate=settings.gate,
            config=settings.enrich,
            skills=[check_skill(name, index.skills) for name in skills],
            limit=limit,
            again=again,
            progress=progress,
        )
    tell = error_console().print
    for skill_id, reason in report.failed.items():
        tell(f"not enriched: {visible(f'{skill_id}: {reason}')}", markup=False, soft_wrap=True)
    record = _record(report)
    cost = f", cost {record['cost']:.4f}" if record["cost"] is not None else ", no price is set"
    tell(
        f"{record['written']} skills enriched, {record['known']} known, {len(report.failed)} failed; "
        f"{record['examples']} examples kept, {record['dropped']} not; "
        f"{record['prompt_tokens']} tokens read, {record['answer_tokens']} written{cost}.",
        markup=False,
        soft_wrap=True,
    )
    return report


def _record(report: EnrichReport) -> dict[str, object]:
    spent = report.spent
    return {
        "written": len(report.written),
        "known": report.known,
        "failed": report.failed,
        "examples": sum(len(one.examples) for one in report.written),
        "dropped": sum(len(one.dropped) for one in report.written),
        "prompt_tokens": sum(one.prompt_tokens for one in spent),
        "answer_tokens": sum(one.answer_tokens for one in spent),
        "cost": _cost(spent),
    }


def _cost(spent: tuple[Spent, ...]) -> float | None:
    """The sum, where every call has a price."""
    prices = [one.cost for one in spent if one.cost is not None]
    return sum(prices) if spent and len(prices) == len(spent) else None
