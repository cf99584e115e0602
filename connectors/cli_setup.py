"""`pickysteve setup`: choose a model, try it, and keep what is needed to ask it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pickysteve.connectors.render import error_console
from pickysteve.connectors.terminal import visible
from pickysteve.errors import SettingsInvalid

if TYPE_CHECKING:
    from pydantic import SecretStr

    from pickysteve.flows.setup import Place
    from pickysteve.tasks.engines.llm import KeyStore

__all__ = ["register"]

SHOWN = 20


def register(app: typer.Typer) -> None:
    """Mount the command."""
    app.command("setup")(setup)


def setup(
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: take flags and what is found.")] = False,
    profile: Annotated[
        Literal["embedded", "local", "hosted"] | None, typer.Option(help="What to set up.")
    ] = None,
    base_url: Annotated[str, typer.Option(help="The host's address.")] = "",
    model: Annotated[str, typer.Option(help="The model of every role.")] = "",
    key_variable: Annotated[str, typer.Option(help="Variable that holds the key.")] = "",
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    store: Annotated[
        Literal["keyring", "file", "none"] | None,
        typer.Option(help="Where the key is kept; by default in the keyring if there is one."),
    ] = None,
    reranker: Annotated[
        str | None, typer.Option(help='A cross-encoder, or "embedded"; by default that of the profile.')
    ] = None,
    no_try: Annotated[bool, typer.Option("--no-try", help="Save without asking the model.")] = False,
) -> None:
    """Find models, try one with a real call, and save; the key goes to the keyring or to a file of yours."""
    from pickysteve.flows.setup import Choice, find_places, models_of, next_steps, save, try_model

    try:
        if profile == "embedded":
            choice = Choice("embedded")
        else:
            place = _place(find_places(os.environ), profile, base_url, yes=yes)
            key = _key(place, key_variable, stdin=key_stdin, yes=yes)
            named = model or _model(place, models_of(place, key), yes=yes)
            kept = _store(store) if key.get_secret_value() else ""
            choice = Choice(place.profile, place.base_url, named, key, kept, _reranker(place, reranker))
    except (typer.Abort, EOFError) as error:
        raise SettingsInvalid(
            "Nobody answered, and nothing was saved: pass --yes with --profile, --model and --base-url."
        ) from error
    if choice.profile != "embedded" and not no_try:
        trial = try_model(choice)
        typer.echo(
            f"{visible(choice.model)} answered in {trial.seconds:.1f} s "
            f"({trial.usage.prompt_tokens} tokens read, {trial.usage.answer_tokens} written)."
        )
    for sentence in (*save(choice), *next_steps(choice)):
        typer.echo(sentence)


def _place(found: tuple[Place, ...], profile: str | None, base_url: str, *, yes: bool) -> Place:
    """The host that is named, the only or first that fits, or the one that is chosen."""
    from pickysteve.flows.setup import Place

    if base_url:
        kind: Literal["local", "hosted"] = "local" if profile == "local" else "hosted"
        return Place(base_url, kind, base_url)
    fitting = [place for place in found if profile in (None, place.profile)]
    if not fitting:
        raise SettingsInvalid(
            "No Ollama answers here and no key variable is set: start Ollama, set OPENAI_API_KEY or the "
            "like, or pass --base-url and --model."
        )
    if yes or len(fitting) == 1:
        typer.echo(f"Found {fitting[0].name}.")
        return fitting[0]
    for number, place in enumerate(fitting, start=1):
        about = f"{len(place.models)} models" if place.profile == "local" else f"key in {place.variable}"
        typer.echo(f"  {number}  {place.name} ({about})")
    return fitting[_number(len(fitting), "Which one")]


def _model(place: Place, names: tuple[str, ...], *, yes: bool) -> str:
    if yes:
        if len(names) != 1:
            some = f" It has {', '.join(map(visible, names[:SHOWN]))}." if names else ""
            raise SettingsInvalid(f"{place.name} needs the name of a model: pass --model.{some}")
        return names[0]
    for number, name in enumerate(names[:SHOWN], start=1):
        typer.echo(f"  {number}  {visible(name)}")
    if len(names) > SHOWN:
        typer.echo(f"  ... and {len(names) - SHOWN} more: give the name.")
    answer = str(typer.prompt("Which model (number or name)"))
    at = int(answer) if answer.isdecimal() else 0
    return names[at - 1] if 1 <= at <= min(len(names), SHOWN) else answer


def _number(count: int, question: str) -> int:
    while True:
        at = int(typer.prompt(question, type=int, default=1))
        if 1 <= at <= count:
            return at - 1
        error_console().print(f"Give a number from 1 to {count}.")


def _key(place: Place, variable: str, *, stdin: bool, yes: bool) -> SecretStr:
    """The key, never from the command line, where others could read it."""
    from pydantic import SecretStr

    if stdin:
        return SecretStr(sys.stdin.readline().strip())
    variable = variable or place.variable
    if variable:
        if not os.environ.get(variable):
            raise SettingsInvalid(f"{variable} is not set: set it, or pass --key-stdin.")
        return SecretStr(os.environ[variable])
    if yes or place.profile == "local":
        return SecretStr("")
    return SecretStr(
        str(typer.prompt("Its key (empty for none)", default="", hide_input=True, show_default=False))
    )


def _store(wanted: Literal["keyring", "file", "none"] | None) -> KeyStore:
    from pickysteve.flows.keys import keyring_works

    if wanted == "keyring" and not keyring_works():
        raise SettingsInvalid(
            "This system has no keyring that works: pass --store file, or --store none and set "
            "PS_LLM__API_KEY."
        )
    if wanted is None:
        return "keyring" if keyring_works() else "file"
    return "" if wanted == "none" else wanted


def _reranker(place: Place, wanted: str | None) -> str | None:
    """What is named; without a name the profile's, where what it needs is installed."""
    from importlib.util import find_spec

    if wanted is not None:
        return "" if wanted == "embedded" else wanted
    if place.profile == "local" and find_spec("FlagEmbedding") is None:
        typer.echo("FlagEmbedding is not installed: the embedded reranker stays.")
        return ""
    return None
