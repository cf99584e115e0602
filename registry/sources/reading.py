"""Read a registry, whatever it is: a folder, a vault, a document, or a set of several sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pickysteve.errors import RegistryMissing
from pickysteve.registry.discover import Found, SourceFile, discover
from pickysteve.registry.models import Problem
from pickysteve.registry.slugs import plain_slug
from pickysteve.registry.sources.headings import read_document
from pickysteve.registry.sources.kinds import FolderSource, GitSource, McpSource, Source
from pickysteve.registry.sources.sets import read_set
from pickysteve.registry.sources.tools import read_tools
from pickysteve.registry.sources.vault import is_vault, read_vault

__all__ = ["SET_SUFFIX", "folder_source", "is_set", "read_registry", "read_source"]

SET_SUFFIX = ".toml"


def read_registry(root: Path) -> Found:
    """Every file of the registry at a path.

    Raises RegistryMissing when nothing is there, and SourceInvalid for a set that is none.
    """
    if is_set(root):
        if not root.is_file():
            raise RegistryMissing(
                f'There is no set "{root}": make one with "pickysteve ingest --set {root} DIR".'
            )
        return _read_set(root)
    return _read_place(root, {})


def is_set(path: Path) -> bool:
    """Whether a registry is, or would be, a set: a TOML file."""
    return path.suffix == SET_SUFFIX and not path.is_dir()


def folder_source(path: Path, name: str = "") -> FolderSource:
    """The source of a path, its kind told by what is there; raises RegistryMissing for nothing."""
    if not path.exists():
        raise RegistryMissing(f'There is no "{path}": name a folder of skills, a vault or a document.')
    kind = "document" if path.is_file() else "vault" if is_vault(path) else "skills"
    given = {"name": name or _named_for(path.resolve()), "kind": kind, "path": str(path.resolve())}
    return FolderSource.model_validate(given)


def read_source(source: Source, base: Path, elsewhere: dict[str, Path], again: str) -> Found:
    """The files of one source, with paths below it.

    `base` is the set's folder, `elsewhere` the places of the other sources, `again` what fetches anew.
    Raises RegistryMissing when its place is gone.
    """
    place = source.place(base)
    if isinstance(source, McpSource):
        return read_tools(place, source.name, again)
    if isinstance(source, GitSource) and not source.checkout.is_dir():
        return Found(problems=[Problem(path="", reason="was not fetched yet", remedy=again)])
    if isinstance(source, FolderSource) and source.kind == "vault":
        return read_vault(place)
    return _read_place(place, elsewhere)


def _read_place(place: Path, elsewhere: dict[str, Path]) -> Found:
    if place.is_file():
        return read_document(place)
    return read_vault(place) if is_vault(place) else discover(place, elsewhere=elsewhere)


def _read_set(path: Path) -> Found:
    sources = read_set(path)
    base = path.resolve().parent
    places = {source.name: source.place(base) for source in sources}
    whole = Found()
    for rank, source in enumerate(sources):
        elsewhere = {name: place for name, place in places.items() if name != source.name and place.is_dir()}
        try:
            found = read_source(source, base, elsewhere, f'run "pickysteve ingest {path} --refresh"')
        except RegistryMissing:
            reason = f'is gone: there is no "{places[source.name]}"'
            remedy = f"correct its path, or take it out of {path.name}"
            found = Found(problems=[Problem(path="", reason=reason, remedy=remedy)])
        _merge(whole, found, source.name, places[source.name], rank)
    return whole


def _merge(whole: Found, found: Found, name: str, place: Path, rank: int) -> None:
    def moved(file: SourceFile) -> SourceFile:
        path = file.file or str((place / file.path).resolve())
        return replace(file, path=f"{name}/{file.path}", file=path, rank=rank)

    whole.markdown += map(moved, found.markdown)
    whole.examples += map(moved, found.examples)
    whole.problems += [
        problem.model_copy(update={"path": f"{name}/{problem.path}".rstrip("/")})
        for problem in found.problems
    ]


def _named_for(path: Path) -> str:
    """By the folder that tells what it is: .claude for .claude/skills, the project for its AGENTS.md."""
    telling = path.parent if path.is_file() or path.parent.name.startswith(".") else path
    return plain_slug(telling.name, otherwise="source")
