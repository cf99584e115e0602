"""Install: plans a change to one file of one agent, shows it, makes it, and takes it back."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pickysteve.connectors.agents.data import EditRefused, fitting
from pickysteve.connectors.agents.edit import State, connected, disconnected, read_config, state_of
from pickysteve.connectors.agents.files import (
    keep_copy,
    made_folders,
    read_file,
    refuse_read_only,
    remove_file,
    replace_file,
    true_path,
)
from pickysteve.connectors.agents.records import Record, digest, forget, recall, remember
from pickysteve.connectors.agents.server import ServerCommand, filled
from pickysteve.connectors.agents.table import Agent, Target
from pickysteve.errors import AgentConfigInvalid

__all__ = ["Change", "Place", "Reading", "Verb", "apply", "plan_connect", "plan_disconnect", "read_place"]

Verb = Literal["connect", "update", "disconnect", "nothing"]


@dataclass(frozen=True)
class Place:
    """One file of one agent on this machine; `folder` bounds the file of a project."""

    agent: Agent
    target: Target
    path: Path
    folder: Path | None = None

    @property
    def title(self) -> str:
        """The agent, and which of its files where it has several."""
        return f"{self.agent.title} ({self.target.name})" if self.target.name else self.agent.title

    @property
    def real(self) -> Path:
        """The file behind links; raises AgentConfigInvalid for what we will not edit."""
        return true_path(self.path, self.folder)


@dataclass(frozen=True)
class Change:
    """What will be done to a file: its bytes before and after, None where there is no file."""

    place: Place
    verb: Verb
    before: bytes | None
    after: bytes | None
    copy: Path | None = None

    def diff(self) -> str:
        """The change as a unified diff; "" when there is none."""
        texts = [(content or b"").decode("utf-8", "replace") for content in (self.before, self.after)]
        old, new = (text.splitlines(keepends=True) for text in texts)
        before, after = (
            "/dev/null" if content is None else str(self.place.path) for content in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, before, after)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )


class Reading(NamedTuple):
    """Bytes and data of a file, None where there is none; whether our entries are in it, and their form."""

    content: bytes | None
    data: Any
    state: State
    target: Target


def read_place(place: Place, server: ServerCommand) -> Reading:
    """Read a file; raises AgentConfigInvalid when it cannot be read in its form, or has no place for us."""
    content = read_file(place.real)
    with _told(place):
        data = None if content is None else read_config(content, place.target.format)
        target = fitting(place.target, data)
        return Reading(content, data, state_of(data, filled(target, server)), target)


@contextmanager
def _told(place: Place) -> Iterator[None]:
    try:
        yield
    except (EditRefused, RecursionError) as error:
        form = place.target.format.partition("-")[0].upper()
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise AgentConfigInvalid(
            f'"{place.path}" was left as it is, because as {form} for {place.agent.title} {why}:'
            f" mend the file, or add the entry by hand as docs/agents.md shows."
        ) from error


def plan_connect(place: Place, server: ServerCommand) -> Change:
    """The change that connects an agent; none when it is connected already."""
    before, _, state, target = read_place(place, server)
    verbs: dict[State, Verb] = {"same": "nothing", "absent": "connect", "other": "update"}
    if state == "same":
        return Change(place, verbs[state], before, before)
    with _told(place):
        after = connected(before or b"", target.format, filled(target, server))
    return Change(place, verbs[state], before, after)


def plan_disconnect(place: Place, server: ServerCommand) -> Change:
    """The change that takes our entries out: the file as it was, or as it is now without them."""
    before, _, state, target = read_place(place, server)
    if before is None or state == "absent":
        return Change(place, "nothing", before, before)
    record = recall(place.real)
    original = _original(place, record)
    if record is not None and record.original is not None and record.written == digest(before):
        if record.original == "":
            return Change(place, "disconnect", before, None)
        if original is not None:
            return Change(place, "disconnect", before, original)
    with _told(place):
        was = None if original is None else read_config(original, target.format) or {}
        after = disconnected(before, target.format, filled(target, server), was)
    return Change(place, "disconnect", before, after)


def _original(place: Place, record: Record | None) -> bytes | None:
    """The file from before us, if the copy of it still is that copy; b"" where there was none."""
    if record is None or not record.copy_name:
        return b"" if record is not None and record.original == "" else None
    content = read_file(place.real.with_name(record.copy_name))
    return content if digest(content) == record.original else None


def apply(change: Change, now: datetime) -> Change:
    """Make a change; returns it with the copy that was kept."""
    if change.verb == "nothing":
        return change
    return (_disconnect if change.verb == "disconnect" else _connect)(change, now)


def _connect(change: Change, now: datetime) -> Change:
    real, before, after = change.place.real, change.before, change.after or b""
    known = recall(real) if change.verb == "update" else None
    if known is not None and known.written == digest(before):
        # our edit on top of our edit: the copy from before us is there already
        replace_file(real, before, after)
        remember(known.model_copy(update={"written": digest(after)}))
        return change
    folders = made_folders(real)
    copy = _replaced(change, now)
    original = digest(before) if change.verb == "connect" else None
    record = Record(
        path=str(real), original=original, written=digest(after), folders=tuple(map(str, folders))
    )
    if copy is not None and original is not None:
        record = record.model_copy(update={"copy_name": copy.name})
    remember(record)
    return replace(change, copy=copy)


def _replaced(change: Change, now: datetime) -> Path | None:
    """Replace the file and return the copy that was kept of it."""
    real = change.place.real
    refuse_read_only(real)
    copy = None if change.before is None else keep_copy(real, change.before, now)
    try:
        replace_file(real, change.before, change.after or b"")
    except AgentConfigInvalid:
        if copy is not None:
            copy.unlink()
        raise
    return copy


def _disconnect(change: Change, now: datetime) -> Change:
    real = change.place.real
    record = recall(real)
    copy = None
    if change.after is None:
        remove_file(real, tuple(map(Path, record.folders)) if record else ())
    elif (
        record is not None
        and record.original == digest(change.after)
        and record.written == digest(change.before)
    ):
        replace_file(real, change.before, change.after)
        # the file holds those bytes again
        real.with_name(record.copy_name).unlink(missing_ok=True)
    else:
        copy = _replaced(change, now)
    forget(real)
    return replace(change, copy=copy)
