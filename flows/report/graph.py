"""The knowledge graph drawn: as Mermaid, and as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from numpy.typing import NDArray

from pickysteve.flows.report.svg import Canvas
from pickysteve.registry.graph import Edge

__all__ = ["graph_page", "graph_places", "mermaid"]

SEED = 1
ROUNDS = 200
WIDTH, HEIGHT, MARGIN = 1100, 760, 90
LABEL_CHARACTERS = 60

Floats = NDArray[Any]


def mermaid(edges: Sequence[Edge]) -> str:
    """A Mermaid flowchart: solid where people joined two skills, dotted where nearness suggests it."""
    numbers = {skill: at for at, skill in enumerate(_skills(edges))}
    lines = ["graph LR"]
    lines += [f'  n{at}["{_mermaid_text(skill)}"]' for skill, at in numbers.items()]
    for edge in edges:
        arrow = "---" if edge.origin == "registry" else "-.-"
        label = f'|"{_mermaid_text(edge.distinguisher)}"|' if edge.distinguisher else ""
        lines.append(f"  n{numbers[edge.first]} {arrow}{label} n{numbers[edge.second]}")
    return "\n".join(lines) + "\n"


def _skills(edges: Sequence[Edge]) -> list[str]:
    return sorted({skill for edge in edges for skill in edge.pair})


def _mermaid_text(text: str) -> str:
    """Plain characters as they are, and every other one as the numbered entity that Mermaid reads."""
    short = text if len(text) <= LABEL_CHARACTERS else f"{text[: LABEL_CHARACTERS - 3].rstrip()}..."
    return "".join(c if c.isalnum() or c in " .,-_" else f"#{ord(c)};" for c in short)


def graph_places(count: int, joined: Sequence[tuple[int, int]]) -> Floats:
    """Places in the unit square, the same for the same graph (Fruchterman & Reingold 1991): (count, 2)."""
    places = np.random.default_rng(SEED).random((count, 2))
    if count < 2:
        return places
    links = np.zeros((count, count))
    for one, other in joined:
        links[one, other] = links[other, one] = 1.0
    ideal = np.sqrt(1 / count)
    for step in np.linspace(0.1, 0.001, ROUNDS):
        away = places[:, None, :] - places[None, :, :]
        far = np.maximum(np.linalg.norm(away, axis=2), 1e-3)
        # together or apart, and a little towards the middle, so that separate parts stay on the sheet
        pull = (ideal**2 / far**2 - links * far / ideal)[:, :, None] * away
        force = pull.sum(axis=1) - 0.3 * (places - 0.5)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / length * np.minimum(length, step)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((places - low) / np.maximum(high - low, 1e-9))


def graph_page(edges: Sequence[Edge], registry: str) -> str:
    """The page as HTML: the drawing and the edges as a table, every text escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = (files("pickysteve.flows.report") / "graph.html").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        registry=registry, skills=_skills(edges), edges=edges, drawing=_drawing(edges).markup()
    )


def _drawing(edges: Sequence[Edge]) -> Canvas:
    skills = _skills(edges)
    numbers = {skill: at for at, skill in enumerate(skills)}
    pairs = [(numbers[edge.first], numbers[edge.second]) for edge in edges]
    spread = graph_places(len(skills), pairs) * (WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN) + MARGIN
    told = f"{len(skills)} skills and {len(edges)} pairs that are confused with each other."
    canvas = Canvas("graph", WIDTH, HEIGHT, "Skills that are confused with each other", told)
    for edge, (one, other) in zip(edges, pairs, strict=True):
        (x1, y1), (x2, y2) = spread[one].tolist(), spread[other].tolist()
        about = " | ".join([f"{edge.first} and {edge.second}", *edge.texts])
        canvas.shape("line", f"edge {edge.origin}", about, x1=x1, y1=y1, x2=x2, y2=y2)
    for skill, at in numbers.items():
        x, y = spread[at].tolist()
        canvas.shape("circle", "node", skill, cx=x, cy=y, r="6")
        canvas.text(skill, (x, y - 10), "name", "middle")
    return canvas
