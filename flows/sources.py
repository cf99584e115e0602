"""Sources: what a user names becomes a set, and what it needs from outside is fetched when they say so."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_config_path

from pickysteve.errors import SettingsInvalid, SourceInvalid
from pickysteve.registry.models import Value
from pickysteve.registry.slugs import plain_slug
from pickysteve.registry.sources.git import fetch_repository, parse_repository
from pickysteve.registry.sources.kinds import GitSource, McpSource, Source, at_home
from pickysteve.registry.sources.mcp_client import ask_server
from pickysteve.registry.sources.reading import SET_SUFFIX, folder_source, is_set
from pickysteve.registry.sources.sets import add_to_set, read_set
from pickysteve.registry.sources.tools import Snapshot, write_snapshot

__all__ = ["Fetched", "Wanted", "default_set", "fetch", "prepare_registry", "refresh_set"]


class Fetched(Value):
    """What came from outside for one source."""

    source: str
    what: str
    """A commit, or how many tools."""


@dataclass(frozen=True)
class Wanted:
    """What a user asked to ingest."""

    path: Path | None = None
    """A folder, a vault, a document, or a set."""
    places: tuple[Source, ...] = ()
    """Agents' own folders."""
    git: tuple[str, ...] = ()
    """PATH_OR_URL[#subfolder][@rev]"""
    mcp: tuple[str, ...] = ()
    """Command lines that start a server."""
    env: tuple[str, ...] = ()
    """Variables that the servers may see."""
    name: str = ""
    set_file: Path | None = None
    refresh: bool = False


def default_set() -> Path:
    """The account's own set."""
    return user_config_path("pickysteve") / f"registry{SET_SUFFIX}"


def prepare_registry(wanted: Wanted) -> tuple[Path, tuple[Fetched, ...]]:
    """The registry to ingest, with everything that it needs fetched.

    A folder, vault or document alone is a registry by itself; anything more is added to a set. Nothing is
    added when something cannot be fetched.
    Raises SettingsInvalid when the options do not fit, and what reading and fetching the sources raises.
    """
    paths = (wanted.path,) if wanted.path and not is_set(wanted.path) else ()
    remote = len(wanted.git) + len(wanted.mcp)
    if wanted.name and len(paths) + remote != 1:
        raise SettingsInvalid("--name is for one source: name one folder, one --git or one --mcp.")
    if wanted.env and not wanted.mcp:
        raise SettingsInvalid("--env is for a server: add --mcp.")
    set_file = wanted.set_file or (wanted.path if wanted.path and not paths else None)
    if not (paths or remote or wanted.places or set_file or wanted.refresh):
        raise SettingsInvalid("Nothing was named: name a folder, or use --discover, --git or --mcp.")
    if paths and not (remote or wanted.places or set_file or wanted.refresh):
        return paths[0], ()
    set_file = set_file or default_set()
    if not is_set(set_file):
        raise SettingsInvalid(f'A set is a TOML file: call it "{set_file}{SET_SUFFIX}".')
    again = refresh_set(set_file) if wanted.refresh else ()
    return set_file, (*again, *_add(wanted, paths, set_file))


def _add(wanted: Wanted, paths: Sequence[Path], set_file: Path) -> tuple[Fetched, ...]:
    name = plain_slug(wanted.name, otherwise="")
    new: list[tuple[Source, str]] = [(place, "") for place in wanted.places]
    new += [(folder_source(path, name), "") for path in paths]
    for spec in wanted.git:
        repository = parse_repository(spec)
        new.append((repository.model_copy(update={"name": name or repository.name}), fetch(repository)))
    for line in wanted.mcp:
        server = McpSource(name="server", command=_words(line), env=wanted.env)
        tools = _asked(server)
        own = plain_slug(tools.server, otherwise="server", longest=30)
        new.append((server.model_copy(update={"name": name or own}), f"{len(tools.tools)} tools"))
    named = add_to_set(set_file, [source for source, _ in new]) if new else ()
    return tuple(
        Fetched(source=source.name, what=what) for source, (_, what) in zip(named, new, strict=True) if what
    )


def fetch(source: Source) -> str:
    """Bring what a source gives from outside into the cache; says what came, "" for files of this machine.

    Raises SourceUnavailable or SourceInvalid when it cannot be fetched; what was there before then stays.
    """
    if isinstance(source, GitSource):
        return f"commit {fetch_repository(source)[:12]}"
    return f"{len(_asked(source).tools)} tools" if isinstance(source, McpSource) else ""


def refresh_set(set_file: Path) -> tuple[Fetched, ...]:
    """Fetch every repository of a set and ask every server again."""
    fetched = [(source.name, fetch(source)) for source in read_set(set_file)]
    return tuple(Fetched(source=name, what=what) for name, what in fetched if what)


def _asked(server: McpSource) -> Snapshot:
    snapshot = ask_server(server.command, server.env)
    write_snapshot(server.place(Path()), snapshot)
    return snapshot


def _words(line: str) -> tuple[str, ...]:
    """The words of a command line, as the shell of this system parts them."""
    try:
        words = shlex.split(line, posix=os.name == "posix")
    except ValueError as error:
        raise SourceInvalid(f"The command {line} cannot be read ({error}): correct its quotes.") from error
    if not words:
        raise SourceInvalid("The command is empty: pass --mcp the words that start the server.")
    if os.sep in words[0]:
        # another time it may be started from another folder
        words[0] = str(at_home(words[0]).absolute())
    return tuple(words)
