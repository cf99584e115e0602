"""`pickysteve cache`: what the cache of orchestrated runs holds, and clearing it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pickysteve.connectors.render import rows_table
from pickysteve.errors import SettingsInvalid

if TYPE_CHECKING:
    from pickysteve.flows.cache import CacheReport, StageCache

__all__ = ["register"]

cache = typer.Typer(help="See and clear the cached results of orchestrated runs.")

UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def register(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(cache, name="cache")


@cache.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """What is cached, for how long, what is in each key, and what is never cached."""
    if context.invoked_subcommand:
        return
    from pickysteve.flows.cache import describe_cache

    report = describe_cache()
    if as_json:
        typer.echo(report.model_dump_json(indent=1))
        return
    console = Console(highlight=False)
    console.print(_summary(report), markup=False, soft_wrap=True)
    cached = [stage for stage in report.stages if stage.cached]
    columns = ("cached stage", "files", "size", "retries", "time limit")
    console.print(rows_table("results", columns, [_row(stage) for stage in cached]))
    never = [(stage.stage, stage.never_because) for stage in report.stages if not stage.cached]
    for title, lines in (("in each key", report.key.items()), ("never cached", never)):
        console.print(f"{title}:", markup=False)
        for name, words in lines:
            console.print(f"  {name}: {words}", markup=False, soft_wrap=True)
    console.print(f"never used: {report.never_used}", markup=False, soft_wrap=True)


@cache.command("clear")
def clear(
    older_than: Annotated[
        str, typer.Option(help="Only results older than 2d, 12h or 30m.", show_default=False)
    ] = "",
    stage: Annotated[str | None, typer.Option(help="Only results of this stage.", show_default=False)] = None,
    expired: Annotated[bool, typer.Option("--expired", help="Only results too old to be used.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Remove results. A run that would have used one computes it again."""
    from pickysteve.flows.cache import clear_cache

    done = clear_cache(older_than=_age(older_than), stage=stage, expired=expired)
    typer.echo(done.model_dump_json() if as_json else f"removed {done.files} files, {_size(done.bytes)}")


def _summary(report: CacheReport) -> str:
    days = f"{report.expires_after_seconds / 86400:g} d"
    if not report.files:
        return f"The cache in {report.folder} is empty. A result is used for {days}."
    old = f", {report.older_versions} of older versions" if report.older_versions else ""
    return (
        f"{report.files} results, {_size(report.bytes)}, in {report.folder}\n"
        f"written from {report.oldest} to {report.newest}; a result is used for {days}: "
        f"{report.expired} expired{old} (pickysteve cache clear --expired)"
    )


def _row(stage: StageCache) -> list[str]:
    limit = f"{stage.timeout_seconds:g} s"
    return [stage.stage, str(stage.files), _size(stage.bytes), str(stage.retries), limit]


def _size(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:,.1f} KiB" if size < 2**20 else f"{size / 2**20:,.1f} MiB"


def _age(text: str) -> timedelta | None:
    if not text:
        return None
    if not re.fullmatch(r"\d{1,5}[dhm]", text):
        raise SettingsInvalid(
            f"--older-than {text} is no age: write days, hours or minutes, as 2d, 12h or 30m."
        )
    return timedelta(**{UNITS[text[-1]]: int(text[:-1])})
