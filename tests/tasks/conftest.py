"""Small hand-made indexes and calibrations for the tests of the stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from pickysteve.calibration.fitted import EMBEDDED, Fitted
from pickysteve.registry.index_tables import IndexData, Vector
from pickysteve.registry.models import Example, Skill, Unit, Verdict
from pickysteve.tasks.engines.bm25 import count_terms
from pickysteve.tasks.engines.index import SearchIndex, text_digest
from pickysteve.tasks.engines.reranker import Calibration


@dataclass
class Sketch:
    """A skill as a test draws it: the direction of each unit, and of each example."""

    skill_id: str
    units: Mapping[str, Sequence[float]]
    bodies: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    not_for: str = ""
    refused: Sequence[str] = ()


def unit_vector(direction: Sequence[float]) -> np.ndarray:
    vector = np.asarray(direction, np.float32)
    return vector / np.linalg.norm(vector)


def draw_index(*sketches: Sketch, root: str = "", dimension: int = 3) -> SearchIndex:
    data = IndexData(root=root, encoder="table", gate="test", built_at="2026-01-01T00:00:00+00:00")
    rows: list[tuple[Vector, np.ndarray]] = []
    for sketch in sorted(sketches, key=lambda s: s.skill_id):
        units = _units(sketch)
        data.units |= {unit.unit_id: unit for unit in units}
        examples = tuple(Example(skill_id=sketch.skill_id, text=text) for text in sketch.examples)
        data.skills[sketch.skill_id] = Skill(
            skill_id=sketch.skill_id,
            title=sketch.skill_id,
            description=units[0].description,
            unit_ids=tuple(unit.unit_id for unit in units),
            not_for=sketch.not_for,
            examples=examples,
        )
        for unit in units:
            allowed = unit.unit_id not in sketch.refused
            digest = text_digest(unit.text)
            data.verdicts[digest] = Verdict(
                allowed=allowed,
                score=0.0 if allowed else 1.0,
                risk="low" if allowed else "block",
                sha256=digest,
                fingerprint="test",
            )
            direction = unit_vector(sketch.units[unit.unit_id])
            kinds = ("head", "text", "passage") if allowed else ()
            rows += [(Vector(kind, unit.unit_id, digest), direction) for kind in kinds]
        rows += [
            (Vector("example", sketch.skill_id, text_digest(text)), unit_vector(direction))
            for text, direction in sketch.examples.items()
        ]
    data.units = dict(sorted(data.units.items()))
    data.vectors = tuple(vector for vector, _ in rows)
    data.matrix = (
        np.stack([direction for _, direction in rows]) if rows else np.zeros((0, dimension), np.float32)
    )
    data.postings = {
        "text": {u.unit_id: dict(count_terms(f"{u.skill_id} {u.body}")) for u in data.units.values()},
        "examples": {
            s.skill_id: dict(count_terms(" ".join(e.text for e in s.examples)))
            for s in data.skills.values()
            if s.examples
        },
    }
    data.digest = "drawn"
    return SearchIndex(data)


def _units(sketch: Sketch) -> list[Unit]:
    return [
        Unit(
            unit_id=unit_id,
            skill_id=sketch.skill_id,
            title=unit_id,
            description=sketch.descriptions.get(unit_id, f"About {unit_id}."),
            body=sketch.bodies.get(unit_id, f"The body of {unit_id}."),
            source=f"{unit_id}.md",
            sha256=text_digest(unit_id),
        )
        for unit_id in sketch.units
    ]


class TableEncoder:
    """Looks each text's direction up; what is not in the table points away from every skill."""

    fingerprint = "table"

    def __init__(self, table: Mapping[str, Sequence[float]], dimension: int = 3) -> None:
        self.table = table
        self.dimension = dimension

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        away = -np.ones(self.dimension)
        return np.stack([unit_vector(self.table.get(text, away)) for text in texts])


@pytest.fixture(scope="session")
def sketch() -> type[Sketch]:
    return Sketch


@pytest.fixture(scope="session")
def index_of() -> Callable[..., SearchIndex]:
    return draw_index


@pytest.fixture(scope="session")
def table_encoder() -> type[TableEncoder]:
    return TableEncoder


@pytest.fixture(scope="session")
def calibration_with() -> Callable[..., Calibration]:
    """The embedded calibration with some of its figures replaced."""
    embedded = Fitted.model_validate_json(EMBEDDED.read_bytes())

    def build(**changes: Any) -> Calibration:
        return Calibration(embedded.model_copy(update=changes))

    return build
