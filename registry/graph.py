"""The knowledge graph: which skills are confused with each other, what tells them apart, and a sign of each.

A file of the registry that people edit, beside its skills:

    confused_with:
      - skills: [rust-review, rust-build-errors]
        distinguisher: Whether the code compiles.
        signals:
          rust-review: it compiles and should be better
          rust-build-errors: the compiler refuses it
    not_confused:
      - [brand-voice, technical-writing]
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pickysteve.errors import SettingsInvalid, SkillFormatError
from pickysteve.registry.models import Value

__all__ = ["Edge", "GraphFile", "edit_graph", "graph_file", "pair_of", "read_graph"]

NAME = "confusions.yaml"
MAX_BYTES = 1_000_000
MAX_NOTE = 300
ENDS = ("first", "second")

Pair = tuple[str, str]


def pair_of(one: str, other: str) -> Pair:
    """Two skills as an edge names them: by id, in order."""
    return (one, other) if one < other else (other, one)


class Edge(Value):
    """Two skills that are confused with each other; `first` comes before `second` by id."""

    first: str
    second: str
    distinguisher: str = Field("", max_length=MAX_NOTE)
    """What tells them apart."""
    first_signal: str = Field("", max_length=MAX_NOTE)
    """What a request for the first one says."""
    second_signal: str = Field("", max_length=MAX_NOTE)
    origin: Literal["registry", "suggested", "rejected"] = "registry"
    """From the registry's file, from how near the two are, or struck out by people."""

    @model_validator(mode="after")
    def _in_order(self) -> Edge:
        if self.first >= self.second:
            raise ValueError("an edge joins two skills, in the order of their ids")
        return self

    @property
    def pair(self) -> Pair:
        """The ids."""
        return (self.first, self.second)

    @property
    def texts(self) -> tuple[str, ...]:
        """What may reach a model, as far as it is there: what the gate must scan."""
        return tuple(text for text in (self.distinguisher, self.first_signal, self.second_signal) if text)

    def signal_of(self, skill_id: str) -> str:
        """What a request for this side says."""
        return self.first_signal if skill_id == self.first else self.second_signal

    def other_than(self, skill_id: str) -> str:
        """The other end."""
        return self.second if skill_id == self.first else self.first


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid")

    skills: tuple[str, str]
    distinguisher: str = Field("", max_length=MAX_NOTE)
    signals: dict[str, str] = {}

    @model_validator(mode="after")
    def _signals_belong(self) -> _Row:
        if self.skills[0] == self.skills[1]:
            raise ValueError("a skill is not confused with itself")
        if foreign := sorted(self.signals.keys() - set(self.skills)):
            raise ValueError(f"signals has {foreign[0]}, which is neither of the two skills")
        return self

    def edge(self) -> Edge:
        first, second = pair_of(*self.skills)
        flat = {skill: " ".join(text.split()) for skill, text in self.signals.items()}
        return Edge(
            first=first,
            second=second,
            distinguisher=" ".join(self.distinguisher.split()),
            first_signal=flat.get(first, ""),
            second_signal=flat.get(second, ""),
        )


class GraphFile(BaseModel):
    """The file as people write it."""

    model_config = ConfigDict(extra="forbid")

    confused_with: list[_Row] = []
    not_confused: list[tuple[str, str]] = []


def graph_file(registry: Path) -> Path:
    """In a folder of skills; beside a document or a set of sources."""
    return registry / NAME if registry.is_dir() else registry.with_name(f"{registry.stem}.{NAME}")


def read_graph(path: Path) -> tuple[Edge, ...]:
    """What people say of the registry's skills, sorted by pair; nothing where there is no file.

    Raises SkillFormatError, naming what is wrong with it.
    """
    try:
        if not path.is_file():
            return ()
        if path.stat().st_size > MAX_BYTES:
            raise SkillFormatError(f"is larger than {MAX_BYTES} bytes")
        file = GraphFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        struck = [
            Edge(**dict(zip(ENDS, pair_of(*pair), strict=True)), origin="rejected")
            for pair in file.not_confused
        ]
        edges = {edge.pair: edge for edge in (*struck, *(row.edge() for row in file.confused_with))}
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SkillFormatError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise SkillFormatError("is no readable YAML") from error
    return tuple(edges[pair] for pair in sorted(edges))


def edit_graph(path: Path, pair: Pair, edge: Edge | None) -> None:
    """Write an edge, or that the two are not confused; the rest of the file, comments too, stays as it is.

    Raises SkillFormatError for a file that cannot be read, and SettingsInvalid where none can be written.
    """
    from ruamel.yaml import YAML

    read_graph(path)
    yaml_file = YAML()
    yaml_file.width = 110
    document: Any = (yaml_file.load(path.read_text(encoding="utf-8")) if path.is_file() else None) or {}
    for key in ("confused_with", "not_confused"):
        rows = document.setdefault(key, [])
        pairs = [pair_of(*(row["skills"] if key == "confused_with" else row)) for row in rows]
        for at in reversed([at for at, known in enumerate(pairs) if known == pair]):
            del rows[at]
    if edge:
        document["confused_with"].append(_as_row(edge))
    else:
        document["not_confused"].append(list(pair))
    for key in ("confused_with", "not_confused"):
        if not document[key]:
            del document[key]
    written = io.StringIO()
    yaml_file.dump(document, written)
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(written.getvalue(), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise SettingsInvalid(
            f'"{path}" cannot be written ({error.strerror}): copy the registry to a folder of your own.'
        ) from error


def _as_row(edge: Edge) -> dict[str, Any]:
    signals = {edge.first: edge.first_signal, edge.second: edge.second_signal}
    row: dict[str, Any] = {"skills": list(edge.pair), "distinguisher": edge.distinguisher}
    return row | {"signals": {skill: text for skill, text in signals.items() if text}}
