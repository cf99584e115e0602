"""The kinds of sources, as a set writes them down, and where what they gave is kept."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from platformdirs import user_cache_path
from pydantic import Field, field_validator

from pickysteve.registry.models import Value
from pickysteve.registry.slugs import plain_slug

__all__ = ["PROTOCOLS", "SCHEME", "SHORT_SSH", "FolderSource", "GitSource", "McpSource", "Source", "at_home"]

PROTOCOLS = ("file", "https", "ssh")
SCHEME = re.compile(r"([a-zA-Z][\w+.-]*)://")
SHORT_SSH = re.compile(r"(?!-)[\w.-]+@[\w.-]+:(?!//).+")
"""user@host:path, as ssh writes it."""
REV = re.compile(r"[A-Za-z0-9_][\w./+-]*")


def at_home(text: str) -> Path:
    """The path, with ~ for the home folder; one of a user who is not here stays as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


class _Named(Value):
    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)
    """Stands first in the path of every file of the source."""


class FolderSource(_Named):
    """Files of this machine: a folder of skills or rules, a vault, or a document that is cut by heading."""

    kind: Literal["skills", "vault", "document"]
    path: str
    """Absolute, from "~", or relative to the set's folder."""

    def place(self, base: Path) -> Path:
        """Where it is read; `base` is the set's folder."""
        return base / at_home(self.path)

    @property
    def origin(self) -> tuple[str, ...]:
        """What makes it the same source under another name."""
        return (self.path,)


class GitSource(_Named):
    """A repository, or a folder of it."""

    kind: Literal["git"] = "git"
    url: str
    """Of one of the PROTOCOLS, without a password; or an absolute path."""
    subfolder: str = ""
    rev: str = ""
    """A branch, a tag or a whole commit id; by default what the repository calls HEAD."""

    @field_validator("url")
    @classmethod
    def _is_allowed(cls, value: str) -> str:
        scheme = SCHEME.match(value)
        if scheme and re.match(r"[^/]*:[^/]*@", value[scheme.end() :]):
            raise ValueError("the URL holds a password; let a credential helper give it")
        short = "::" not in value and SHORT_SSH.fullmatch(value)
        if scheme[1].lower() not in PROTOCOLS if scheme else not (short or Path(value).is_absolute()):
            raise ValueError(f"no absolute path and no {', '.join(PROTOCOLS)} URL")
        return value

    @field_validator("rev")
    @classmethod
    def _is_a_rev(cls, value: str) -> str:
        if value and (not REV.fullmatch(value) or ".." in value):
            raise ValueError("no branch, tag or commit")
        return value

    @field_validator("subfolder")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError("leaves the repository")
        return "" if value in {"", "."} else path.as_posix()

    @property
    def checkout(self) -> Path:
        """Where its files are kept."""
        return _cache() / "git" / _place_name(PurePosixPath(self.url).stem, self.url, self.rev)

    def place(self, base: Path) -> Path:
        """Where it is read."""
        return self.checkout / self.subfolder

    @property
    def origin(self) -> tuple[str, ...]:
        """What makes it the same source under another name."""
        return (self.url, self.subfolder, self.rev)


class McpSource(_Named):
    """The tools of an MCP server over stdio."""

    kind: Literal["mcp"] = "mcp"
    command: tuple[str, ...] = Field(min_length=1)
    env: tuple[str, ...] = ()
    """Names of variables that it may see; their values are never written down."""

    def place(self, base: Path) -> Path:
        """The snapshot of its tools."""
        return _cache() / "mcp" / f"{_place_name(Path(self.command[0]).stem, *self.command)}.json"

    @property
    def origin(self) -> tuple[str, ...]:
        """What makes it the same source under another name."""
        return self.command


Source = Annotated[FolderSource | GitSource | McpSource, Field(discriminator="kind")]


def _cache() -> Path:
    return user_cache_path("pickysteve") / "sources"


def _place_name(told: str, *parts: str) -> str:
    """Not the source's name: two sets may share what was fetched."""
    return f"{plain_slug(told, otherwise='source')}-{sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"
