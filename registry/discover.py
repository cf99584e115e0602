"""Find the skill files of a folder, and read each once, as bytes that are safe to parse."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from pickysteve.errors import RegistryMissing
from pickysteve.registry.models import Problem
from pickysteve.registry.parse import ParsedSkill, parse_skill

__all__ = ["MAX_FILE_BYTES", "Found", "SourceFile", "discover", "read_text_file"]

MAX_FILE_BYTES = 2 * 1024 * 1024
SKIPPED_FOLDERS = {"node_modules", "__pycache__"}
EXAMPLES_SUFFIX = "examples.yaml"
# .mdc is Cursor's name for a rule
SUFFIXES = (".md", ".mdc", EXAMPLES_SUFFIX)


@dataclass(frozen=True)
class SourceFile:
    """A text of the registry, as it was read."""

    path: str
    """Relative to the root, with forward slashes; in a set of sources the source's name stands first."""
    text: str
    sha256: str
    """Of the file's bytes."""
    file: str = ""
    """Where the file lies, absolute; empty when that is `path` under the root."""
    rank: int = 0
    """Of its source in a set: of two skills with one name, that of the earlier source keeps it."""
    parse: Callable[[str], ParsedSkill] = parse_skill


@dataclass
class Found:
    """What a walk over the folder gave: each folder sorted by name, so that every run sees the same order."""

    markdown: list[SourceFile] = field(default_factory=list)
    examples: list[SourceFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def discover(
    root: Path, *, elsewhere: Mapping[str, Path] | None = None, skipped: frozenset[str] = frozenset()
) -> Found:
    """Read every .md, .mdc and examples.yaml file under `root`.

    `elsewhere` names other folders that are read too: a symlink into them needs no remedy. Folders in
    `skipped`, as paths relative to the root, are passed over.
    Raises RegistryMissing when `root` is no folder. Files that cannot be used are named in `problems`.
    """
    if not root.is_dir():
        raise RegistryMissing(
            f'There is no folder "{root}": pass --registry the folder that holds your skills.'
        )
    found = Found()
    for path in _walk(root, found.problems, elsewhere or {}, skipped):
        source = read_text_file(path, root)
        if isinstance(source, Problem):
            found.problems.append(source)
        else:
            (found.examples if path.name.endswith(EXAMPLES_SUFFIX) else found.markdown).append(source)
    return found


def _walk(
    root: Path, problems: list[Problem], elsewhere: Mapping[str, Path], skipped: frozenset[str]
) -> Iterator[Path]:
    inside = {"": root.resolve(), **{name: folder.resolve() for name, folder in elsewhere.items()}}

    def unreadable(error: OSError) -> None:
        name = _name(Path(error.filename), root)
        problems.append(Problem(path=name, reason="cannot be listed", remedy="fix its permissions"))

    for folder, folders, files in os.walk(root, onerror=unreadable):
        here = Path(folder)
        kept = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        kept = [name for name in kept if _name(here / name, root) not in skipped]
        folders[:] = [name for name in kept if not (here / name).is_symlink()]
        links = [here / name for name in kept if (here / name).is_symlink()]
        wanted = [here / name for name in sorted(files) if name.endswith(SUFFIXES)]
        links += [path for path in wanted if path.is_symlink()]
        problems.extend(_link_problem(link, root, inside) for link in links)
        yield from (path for path in wanted if not path.is_symlink())


def _link_problem(link: Path, root: Path, inside: Mapping[str, Path]) -> Problem:
    # realpath ends on a loop of links, where Path.resolve raises
    target = Path(os.path.realpath(link))
    for source, folder in inside.items():
        if target.is_relative_to(folder):
            reason = f"is a symlink into the source {source}" if source else "is a symlink inside the folder"
            remedy = "nothing to do: its target is read where it stands"
            return Problem(path=_name(link, root), reason=reason, remedy=remedy, fatal=False)
    reason, remedy = "is a symlink that leaves the folder", "copy the target here if you trust it"
    return Problem(path=_name(link, root), reason=reason, remedy=remedy)


def _name(path: Path, root: Path) -> str:
    """Relative to the root, as text that can be stored: bytes that are not UTF-8 become question marks."""
    return path.relative_to(root).as_posix().encode(errors="replace").decode()


def read_text_file(path: Path, root: Path) -> SourceFile | Problem:
    """A file under `root` as text, or why it cannot be used."""
    name = _name(path, root)
    refused = partial(Problem, path=name)
    try:
        if name != path.relative_to(root).as_posix():
            return refused(reason="has a name that is not UTF-8", remedy="rename it")
        if not path.is_file():
            return refused(reason="is not a regular file", remedy="replace it by a plain file")
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return refused(reason=f"cannot be read ({error.strerror})", remedy="fix its permissions")
    if len(content) > MAX_FILE_BYTES:
        return refused(reason="is over 2 MiB", remedy="split it into several files of one skill")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return refused(reason="is not UTF-8", remedy="save it as UTF-8")
    if "\0" in text:
        return refused(reason="contains NUL bytes", remedy="save it as plain UTF-8 text")
    return SourceFile(name, text.replace("\r\n", "\n"), sha256(content).hexdigest())
