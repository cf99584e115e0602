"""Ingest: any folder of skills becomes an index. Only what changed is scanned and encoded again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pickysteve.errors import IndexCorrupt, IndexMissing, RegistryEmpty, SkillFormatError
from pickysteve.flows.scanning import Progress, Scanner, note_texts, quiet, scan_texts, surfaces
from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.graph import Edge, graph_file, read_graph
from pickysteve.registry.index import read_index, write_index
from pickysteve.registry.index_tables import IndexData, Vector
from pickysteve.registry.models import Problem, Skill, Unit, Verdict
from pickysteve.registry.passages import passages
from pickysteve.registry.verdicts import TextSurface
from pickysteve.tasks.engines.bm25 import count_terms
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex, text_digest
from pickysteve.tasks.gate import GateConfig
from pickysteve.tasks.knowledge import KnowledgeConfig, suggested_edges
from pickysteve.tasks.roles import OFF, Role

__all__ = ["Helpers", "Ingested", "index_own_data", "ingest_registry"]

ENCODE_AT_ONCE = 64


class Helpers(Protocol):
    """Who judges and encodes instead of this process: task runs, when a flow ingests."""

    def judge(self, texts: list[tuple[str, TextSurface]]) -> Iterable[tuple[TextSurface, Verdict]]:
        """The gate's verdicts without an auditor, as they come."""

    def encode(self, batches: Sequence[Sequence[str]]) -> Iterable[tuple[int, NDArray[np.float32]]]:
        """The number of each batch and its vectors, (texts, dimension), as they come."""


@dataclass(frozen=True)
class Ingested:
    """What an ingest did."""

    data: IndexData
    scanned: int
    """Texts that the gate judged now; the others kept their verdict."""
    encoded: int
    """Texts that were encoded now; the others kept their vector."""


def ingest_registry(
    root: Path,
    folder: Path,
    *,
    encoder: Embedder,
    defender: Guard,
    config: GateConfig,
    auditor: Role = OFF,
    overlay: Callable[[Catalogue], None] = lambda catalogue: None,
    verdicts: Path | None = None,
    strict: bool = False,
    fresh: bool = False,
    progress: Progress = quiet,
    helpers: Helpers | None = None,
) -> Ingested:
    """Read the skills of the folder, document or set `root` and write their index to `folder`.

    `overlay` may change the catalogue before it is indexed, for examples that a user keeps beside it.
    `verdicts` is the folder of kept verdicts, by default beside the index, for all registries there.
    With `helpers` the index is the same, content for content.
    Raises RegistryMissing, RegistryEmpty or SourceInvalid, WorkerMismatch for helpers of another version,
    and with `strict` SkillFormatError for the first problem.
    """
    # a pick over an index that is there needs no reader of documents or sets
    from pickysteve.registry.sources.reading import read_registry

    catalogue = build_catalogue(read_registry(root))
    overlay(catalogue)
    if strict and catalogue.problems:
        raise SkillFormatError(f"Strict ingest stopped, nothing was written. {catalogue.problems[0]}.")
    if not catalogue.skills:
        first = f" First problem: {catalogue.problems[0]}." if catalogue.problems else ""
        raise RegistryEmpty(
            f'No skill was found in "{root}": put a SKILL.md or another .md file there.{first}'
        )
    remarks: list[Problem] = []
    before = None if fresh else _previous(folder, remarks)
    scanner = Scanner(verdicts or folder.parent / "verdicts", defender, config, auditor=auditor, fresh=fresh)
    data = IndexData(
        root=str(root.resolve()),
        encoder=encoder.fingerprint,
        gate=scanner.store.gate,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    data.edges = _edges(root, catalogue)
    _scan(catalogue, data, scanner, progress, helpers)
    if strict and len(catalogue.problems) > 0:
        raise SkillFormatError(f"Strict ingest stopped, nothing was written. {catalogue.problems[0]}.")
    catalogue.problems += [*remarks, *scanner.remarks()]
    _fill(catalogue, data, before)
    encoded = _encode(data, before, encoder, progress, helpers)
    data.postings = _postings(data)
    data.edges = _with_suggestions(data)
    write_index(folder, data)
    return Ingested(data, scanner.scanned, encoded)


def index_own_data(root: Path, encoder: Embedder) -> IndexData:
    """The index of a folder of the project's own data, in memory, with no text refused.

    A fit must follow from its data, its models and its scoring alone, and not from what the gate of the day
    thinks of a file. Never deliver from such an index: nothing in it was judged.
    """
    from pickysteve.registry.sources.reading import read_registry

    catalogue = build_catalogue(read_registry(root))
    data = IndexData(root=str(root.resolve()), encoder=encoder.fingerprint, gate="unjudged", built_at="")
    for text, _ in surfaces(catalogue.units.values(), catalogue.skills.values(), ()):
        digest = text_digest(text)
        data.verdicts[digest] = Verdict(
            allowed=True, score=0.0, risk="low", sha256=digest, fingerprint=data.gate
        )
    _fill(catalogue, data, None)
    _encode(data, None, encoder, quiet)
    data.postings = _postings(data)
    return data


def _previous(folder: Path, problems: list[Problem]) -> IndexData | None:
    """The index as it is, for what can be kept of it; a damaged one is built anew, and that is said."""
    try:
        return read_index(folder)
    except IndexMissing:
        return None
    except IndexCorrupt:
        remedy = "nothing to do: it was built anew from the files"
        problems.append(
            Problem(path=str(folder), reason="the old index was damaged", remedy=remedy, fatal=False)
        )
        return None


def _scan(
    catalogue: Catalogue, data: IndexData, scanner: Scanner, progress: Progress, helpers: Helpers | None
) -> None:
    """Judge every text that may reach a model. Refused notes are removed, refused units are marked."""
    texts = surfaces(catalogue.units.values(), catalogue.skills.values(), data.edges)
    data.verdicts = scan_texts(texts, scanner, progress, helpers.judge if helpers else None)
    data.edges = tuple(_without_refused_texts(edge, data.verdicts, catalogue.problems) for edge in data.edges)
    for skill in list(catalogue.skills.values()):
        catalogue.skills[skill.skill_id] = _without_refused_notes(skill, data.verdicts, catalogue.problems)
    catalogue.problems += [
        _refusal(unit.source, verdict)
        for unit in catalogue.units.values()
        if not (verdict := data.verdicts[text_digest(unit.text)]).allowed
    ]


def _edges(root: Path, catalogue: Catalogue) -> tuple[Edge, ...]:
    """What people say is confused; an edge to a skill that is not here is passed over, and that is said."""
    path = graph_file(root)
    try:
        edges = read_graph(path)
    except SkillFormatError as error:
        remedy = "correct it: its form stands in the documentation of pickysteve graph"
        catalogue.problems.append(Problem(path=str(path), reason=str(error), remedy=remedy))
        return ()
    missing = sorted({skill for edge in edges for skill in edge.pair} - catalogue.skills.keys())
    if missing:
        reason = f"joins {', '.join(missing[:5])}, which is not here"
        remedy = "correct the id, or take the edge out"
        catalogue.problems.append(Problem(path=str(path), reason=reason, remedy=remedy, fatal=False))
    return tuple(edge for edge in edges if not set(edge.pair) & set(missing))


def _without_refused_texts(edge: Edge, verdicts: dict[str, Verdict], problems: list[Problem]) -> Edge:
    refused = [text for text in edge.texts if not verdicts[text_digest(text)].allowed]
    problems += [_refusal(f"{' and '.join(edge.pair)} (graph)", verdicts[text_digest(t)]) for t in refused]
    names = ("distinguisher", "first_signal", "second_signal")
    return edge.model_copy(update={name: "" for name in names if getattr(edge, name) in refused})


def _with_suggestions(data: IndexData) -> tuple[Edge, ...]:
    """What people say, then what nearness suggests of the other pairs."""
    said = {edge.pair for edge in data.edges}
    suggested = suggested_edges(SearchIndex(data), KnowledgeConfig())
    return (*data.edges, *(edge for edge in suggested if edge.pair not in said))


def _without_refused_notes(skill: Skill, verdicts: dict[str, Verdict], problems: list[Problem]) -> Skill:
    refused = [text for text in note_texts(skill) if not verdicts[text_digest(text)].allowed]
    if not refused:
        return skill
    problems += [
        _refusal(f"{skill.skill_id} (an example or not_for)", verdicts[text_digest(t)]) for t in refused
    ]
    kept = tuple(example for example in skill.examples if example.text not in refused)
    notes = {name: "" for name in ("not_for", "summary") if getattr(skill, name) in refused}
    return skill.model_copy(update={"examples": kept} | notes)


def _refusal(path: str, verdict: Verdict) -> Problem:
    rules = ", ".join(verdict.blocking_rules) or "not scannable"
    remedy = "it is never handed over: remove the passage, or decide with pickysteve skills review"
    return Problem(path=path, reason=f"refused by the gate ({rules})", remedy=remedy)


def _fill(catalogue: Catalogue, data: IndexData, before: IndexData | None) -> None:
    """Take over skills and units; a file that did not change keeps the time of its indexing."""
    known = before.units if before else {}
    for unit_id, unit in catalogue.units.items():
        old = known.get(unit_id)
        same = old is not None and old.sha256 == unit.sha256
        stamp = old.indexed_at if same and old else data.built_at
        data.units[unit_id] = unit.model_copy(update={"indexed_at": stamp})
    data.skills = catalogue.skills
    data.problems = tuple(catalogue.problems)


def _texts(data: IndexData) -> list[tuple[str, str, str]]:
    """(kind, owner, text) of everything that gets a vector. A refused unit gets none."""
    texts = []
    for unit in data.units.values():
        if data.verdicts[text_digest(unit.text)].allowed:
            texts += [("head", unit.unit_id, head_text(unit)), ("text", unit.unit_id, full_text(unit))]
            texts += [("passage", unit.unit_id, passage) for passage in passages(unit.body)]
    for skill in data.skills.values():
        texts += [("example", skill.skill_id, example.text) for example in skill.examples]
    return texts


def head_text(unit: Unit) -> str:
    """What a unit says of itself: title, description, tags."""
    return f"{unit.title.replace('-', ' ')}. {unit.description} {' '.join(unit.tags)}".strip()


def full_text(unit: Unit) -> str:
    """The start of a unit, as much as the encoder reads of it."""
    return f"{unit.skill_id.replace('-', ' ')} {head_text(unit)} {unit.body}"[:3000]


def _encode(
    data: IndexData,
    before: IndexData | None,
    encoder: Embedder,
    progress: Progress,
    helpers: Helpers | None = None,
) -> int:
    texts = _texts(data)
    data.vectors = tuple(Vector(kind, owner, text_digest(text)) for kind, owner, text in texts)
    known: dict[str, NDArray[np.float32]] = {}
    if before is not None and before.encoder == encoder.fingerprint:
        known = {v.text_sha256: before.matrix[row] for row, v in enumerate(before.vectors)}
    by_digest = {v.text_sha256: text for v, (_, _, text) in zip(data.vectors, texts, strict=True)}
    new = {digest: text for digest, text in by_digest.items() if digest not in known}
    # the same batches whoever encodes them: padding moves the last bits of a vector
    batches = _batches(sorted(new, key=lambda digest: len(new[digest])))
    texts_of = [[new[digest] for digest in batch] for batch in batches]
    here = ((number, encoder.encode(batch)) for number, batch in enumerate(texts_of))
    done = 0
    for number, vectors in helpers.encode(texts_of) if helpers else here:
        known.update(zip(batches[number], vectors, strict=True))
        done += len(vectors)
        progress("encoding", done, len(new))
    data.matrix = np.zeros((len(texts), encoder.dimension), np.float32)
    for row, vector in enumerate(data.vectors):
        data.matrix[row] = known[vector.text_sha256]
    return len(new)


def _batches(items: Sequence[str]) -> list[Sequence[str]]:
    return [items[start : start + ENCODE_AT_ONCE] for start in range(0, len(items), ENCODE_AT_ONCE)]


def _postings(data: IndexData) -> dict[str, dict[str, dict[str, int]]]:
    def counts(text: str) -> dict[str, Any]:
        return dict(count_terms(text))

    return {
        "text": {
            u.unit_id: counts(f"{u.skill_id.replace('-', ' ')} {head_text(u)} {u.body}")
            for u in data.units.values()
        },
        "examples": {
            s.skill_id: counts(" ".join(e.text for e in s.examples))
            for s in data.skills.values()
            if s.examples
        },
    }
