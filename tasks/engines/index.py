"""The index in memory: arrays laid out for scoring every unit at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.registry.index_tables import IndexData
from pickysteve.registry.models import Skill, Unit, Verdict
from pickysteve.tasks.engines.bm25 import Bm25

__all__ = ["SearchIndex", "text_digest"]

Floats = NDArray[np.float32]


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8: the name of its vector and of its verdict."""
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class SearchIndex:
    """A registry that can be searched. Rows follow `unit_ids`; a refused unit has zero vectors."""

    def __init__(self, data: IndexData) -> None:
        self.data = data
        self.unit_ids = tuple(data.units)
        self.row_of = {unit_id: row for row, unit_id in enumerate(self.unit_ids)}
        self.skill_rows = defaultdict(list)
        for row, unit in enumerate(data.units.values()):
            self.skill_rows[unit.skill_id].append(row)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the tables."""
        return self.data.digest

    @property
    def skills(self) -> dict[str, Skill]:
        """Skills by id."""
        return self.data.skills

    def unit(self, unit_id: str) -> Unit:
        """The unit as it was indexed."""
        return self.data.units[unit_id]

    def units_of(self, skill_id: str, *, refused: bool = False) -> tuple[Unit, ...]:
        """The units of a skill, the main one first; stale where the file changed or vanished since.

        Units that the gate refused are left out, however clean their siblings are, unless asked for.
        """
        unit_ids = self.data.skills[skill_id].unit_ids if refused else self.allowed_units(skill_id)
        units = map(self.unit, unit_ids)
        return tuple(unit.model_copy(update={"stale": self._is_stale(unit)}) for unit in units)

    def allowed_units(self, skill_id: str) -> tuple[str, ...]:
        """Ids of the skill's units that the gate let through at ingest, the main one first."""
        verdicts = ((unit_id, self.verdict_of(unit_id)) for unit_id in self.data.skills[skill_id].unit_ids)
        return tuple(unit_id for unit_id, verdict in verdicts if verdict and verdict.allowed is True)

    def verdict_of(self, unit_id: str) -> Verdict | None:
        """What the gate said of the unit's text at ingest."""
        return self.data.verdicts.get(text_digest(self.data.units[unit_id].text))

    def file_of(self, unit: Unit) -> Path:
        """The file that the unit was read from."""
        return Path(self.data.root) / (unit.file or unit.source)

    def _is_stale(self, unit: Unit) -> bool:
        from hashlib import sha256

        try:
            content = self.file_of(unit).read_bytes()
        except OSError:
            return True
        return sha256(content).hexdigest() != unit.sha256

    @cached_property
    def bm25(self) -> Bm25:
        """Over the text of each unit."""
        postings = self.data.postings.get("text", {})
        return Bm25([postings.get(unit_id, {}) for unit_id in self.unit_ids])

    @cached_property
    def examples_bm25(self) -> Bm25:
        """Over the examples of each unit's skill, as one document a skill."""
        postings = self.data.postings.get("examples", {})
        return Bm25([postings.get(skill_id, {}) for skill_id in self.data.skills])

    @cached_property
    def heads(self) -> Floats:
        """Vectors of title, description and tags: (units, dimension)."""
        return self._by_unit("head")

    @cached_property
    def texts(self) -> Floats:
        """Vectors of the first 256 tokens of each unit: (units, dimension)."""
        return self._by_unit("text")

    @cached_property
    def passages(self) -> Ragged:
        """Vectors of each unit's passages; its head counts as one."""
        return self._ragged("passage", self.unit_ids, also="head")

    @cached_property
    def examples(self) -> Ragged:
        """Vectors of each skill's example requests, in the order of `skills`."""
        return self._ragged("example", tuple(self.data.skills))

    @cached_property
    def skill_row(self) -> NDArray[np.intp]:
        """For each unit the row of its skill in `skills`: (units,)."""
        rows = {skill_id: row for row, skill_id in enumerate(self.data.skills)}
        return np.array([rows[unit.skill_id] for unit in self.data.units.values()], dtype=np.intp)

    def _by_unit(self, kind: str) -> Floats:
        vectors = np.zeros((len(self.unit_ids), self.data.matrix.shape[1]), np.float32)
        for row, vector in enumerate(self.data.vectors):
            if vector.kind == kind:
                vectors[self.row_of[vector.owner]] = self.data.matrix[row]
        return vectors

    def _ragged(self, kind: str, owners: Sequence[str], also: str = "") -> Ragged:
        rows: dict[str, list[int]] = {owner: [] for owner in owners}
        for row, vector in enumerate(self.data.vectors):
            if vector.kind == kind or (also and vector.kind == also):
                rows[vector.owner].append(row)
        return Ragged(self.data.matrix, list(rows.values()))


class Ragged:
    """A varying number of vectors for each owner, scored together."""

    def __init__(self, matrix: Floats, rows: list[list[int]]) -> None:
        self.counts = np.array([len(part) for part in rows], dtype=np.intp)
        width = max(int(self.counts.max(initial=0)), 1)
        order = [row for part in rows for row in part]
        # the last row is a stand-in for padding; its similarity is overwritten below
        self.vectors = np.zeros((len(order) + 1, matrix.shape[1]), np.float32)
        if order:
            self.vectors[:-1] = matrix[order]
        self._slots = np.full((len(rows), width), len(order), dtype=np.intp)
        start = 0
        for owner, count in enumerate(self.counts):
            self._slots[owner, :count] = np.arange(start, start + count)
            start += count

    def similarities(self, queries: Floats) -> NDArray[Any]:
        """Cosines by owner, slot and query, -inf where there is no vector: (owners, slots, queries)."""
        flat = self.vectors @ queries.T
        flat[-1] = -np.inf
        return np.asarray(flat[self._slots])

    @cached_property
    def centroids(self) -> Floats:
        """The normalised centroid of each owner's vectors, zero for an owner without any."""
        sums = self.vectors[self._slots].sum(axis=1)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(norms, 1e-9), np.float32)
