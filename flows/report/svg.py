"""Drawing: SVG elements that the standard library escapes, and scales from values to places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

__all__ = ["Canvas", "Scale", "linear", "logarithmic", "percent"]

Scale = Callable[[float], float]


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Values from `low` to `high` onto places from `start` to `end`."""
    return lambda value: start + (value - low) / ((high - low) or 1) * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """The same by order of magnitude; values are above 0."""
    from math import log10

    scale = linear(log10(low), log10(high), start, end)
    return lambda value: scale(log10(max(value, low)))


def percent(value: float) -> str:
    """A share as an axis says it."""
    return f"{value:.0%}"


@dataclass
class Canvas:
    """One drawing. Its title and description are what a screen reader says of it."""

    slug: str
    width: int
    height: int
    title: str
    description: str

    def __post_init__(self) -> None:
        names = f"{self.slug}-title {self.slug}-desc"
        box = f"0 0 {self.width} {self.height}"
        self.root = Element("svg", {"viewBox": box, "role": "img", "aria-labelledby": names})
        SubElement(self.root, "title", id=f"{self.slug}-title").text = self.title
        SubElement(self.root, "desc", id=f"{self.slug}-desc").text = self.description

    def markup(self) -> Markup:
        """The drawing as HTML; every text in it was escaped on the way."""
        return Markup(tostring(self.root, encoding="unicode"))  # noqa: S704

    def shape(self, tag: str, classes: str, told: str = "", **places: float | str) -> None:
        """An element by its attributes; `told` appears when the pointer rests on it."""
        attributes = {name.replace("_", "-"): _written(value) for name, value in places.items()}
        element = SubElement(self.root, tag, {"class": classes, **attributes})
        if told:
            SubElement(element, "title").text = told

    def line(self, classes: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A straight line."""
        self.shape("line", classes, x1=start[0], y1=start[1], x2=end[0], y2=end[1])

    def path(self, classes: str, points: Sequence[tuple[float, float]]) -> None:
        """A line through points."""
        if points:
            self.shape("path", classes, d="M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points))

    def text(self, words: str, at: tuple[float, float], classes: str = "", anchor: str = "start") -> None:
        """Words at a place."""
        element = SubElement(
            self.root,
            "text",
            {"class": classes, "text-anchor": anchor, "x": _written(at[0]), "y": _written(at[1])},
        )
        element.text = words

    def frame(
        self,
        x: Scale,
        y: Scale,
        ticks: tuple[Sequence[float], Sequence[float]],
        labels: tuple[str, str],
        write: tuple[Callable[[float], str], Callable[[float], str]] = (percent, percent),
    ) -> None:
        """A grid with numbers along both axes and a label on each."""
        left, right, bottom, top = x(ticks[0][0]), x(ticks[0][-1]), y(ticks[1][0]), y(ticks[1][-1])
        for value in ticks[0]:
            self.line("grid", (x(value), top), (x(value), bottom))
            self.text(write[0](value), (x(value), bottom + 18), "tick", "middle")
        for value in ticks[1]:
            self.line("grid", (left, y(value)), (right, y(value)))
            self.text(write[1](value), (left - 8, y(value) + 4), "tick", "end")
        self.text(labels[0], ((left + right) / 2, bottom + 38), "label", "middle")
        self.text(labels[1], (left, top - 12), "label")


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}"
