"""A set: a TOML file that names the sources of one registry, in the order in which they claim names.

    [[source]]
    name = "team"
    kind = "git"
    url = "https://example.org/team/skills.git"
    subfolder = "skills"

Reading a set never starts a command: repositories and servers are asked when the user says so, and
what they gave is kept under the user's cache.
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Sequence
from pathlib import Path

import tomlkit
from pydantic import ValidationError, field_validator
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from pickysteve.errors import SourceInvalid
from pickysteve.registry.models import Value
from pickysteve.registry.slugs import free_slug, plain_slug
from pickysteve.registry.sources.kinds import Source

__all__ = ["RegistrySet", "add_to_set", "read_set"]

HEADER = "The sources of one registry; bring its index up to date with: pickysteve ingest THIS-FILE"


class RegistrySet(Value):
    """The sources in order; names are unique."""

    source: tuple[Source, ...] = ()

    @field_validator("source")
    @classmethod
    def _names_are_unique(cls, value: tuple[Source, ...]) -> tuple[Source, ...]:
        names = [source.name for source in value]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f'two sources are called "{twice}"')
        return value


def read_set(path: Path) -> tuple[Source, ...]:
    """The sources of a set; raises SourceInvalid when it cannot be read as one."""
    try:
        return RegistrySet.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).source
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SourceInvalid(
            f'The set "{path}" does not fit ({where}: {first["msg"]}): correct it.'
        ) from error
    except (OSError, ValueError) as error:
        raise SourceInvalid(f'The set "{path}" cannot be read ({error}): correct it.') from error


def add_to_set(path: Path, added: Sequence[Source]) -> tuple[Source, ...]:
    """Write sources into a set, which is made when there is none; returns them as they are named there.

    One that is there already keeps its name and place and takes over what changed. Comments and order of
    the file are kept. Raises SourceInvalid when the file is no set, or cannot be written.
    """
    known = {_identity(source): source for source in (read_set(path) if path.is_file() else ())}
    taken = {source.name for source in known.values()}
    document = _document(path)
    document.setdefault("source", tomlkit.aot())
    tables = document["source"]
    if not isinstance(tables, AoT):
        raise SourceInvalid(f'The set "{path}" lists its sources in one line: write each as [[source]].')
    named = []
    for source in added:
        before = known.get(_identity(source))
        name = before.name if before else free_slug(plain_slug(source.name, otherwise="source"), taken)
        source = source.model_copy(update={"name": name})
        if before is None:
            tables.append(_table(source))
        elif before != source:
            tables[[table["name"] for table in tables].index(name)] = _table(source)
        known[_identity(source)] = source
        named.append(source)
    _write(path, f"{tomlkit.dumps(document).rstrip()}\n")
    return tuple(named)


def _identity(source: Source) -> tuple[str, ...]:
    return (type(source).__name__, *source.origin)


def _document(path: Path) -> tomlkit.TOMLDocument:
    if path.is_file():
        try:
            return tomlkit.parse(path.read_text(encoding="utf-8"))
        except (TOMLKitError, ValueError) as error:
            raise SourceInvalid(f'The set "{path}" cannot be read ({error}): correct it.') from error
    document = tomlkit.document()
    document.add(tomlkit.comment(HEADER))
    document.add(tomlkit.nl())
    return document


def _table(source: Source) -> Table:
    table = tomlkit.table()
    for key, value in source.model_dump(mode="json", exclude_defaults=True).items():
        table[key] = value
    table["kind"] = source.kind
    return table


def _write(path: Path, text: str) -> None:
    # a set that is a link into somebody's dotfiles stays one
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        raise SourceInvalid(
            f'The set "{path}" cannot be written ({error.strerror}): name another place.'
        ) from error
