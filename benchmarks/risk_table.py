"""Tables of what a floor does to requests: how much it answers, how much of that wrongly, and its promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from pickysteve.calibration.measures import auroc, clopper_pearson_upper, top1, wilson_interval
from pickysteve.calibration.risk import risk_controlled_floor
from pickysteve.flows.suite_rows import SuiteRow

__all__ = ["RISKS", "Scored", "add", "halvings", "scored_rows", "show", "table_of"]

SEED = 20261130
RISKS = ("0.05", "0.1", "0.2")
HALVINGS = 200
COLUMNS = (
    "data",
    "n (no match)",
    "AUROC",
    "floor",
    "answered",
    "wrong among them",
    "bound",
    "promise",
    "no match picked",
)


@dataclass(frozen=True)
class Scored:
    """Requests with a best score and whether the first ranked is right; ours and BM25's."""

    nothing: np.ndarray
    best: np.ndarray
    first: np.ndarray
    bm25_best: np.ndarray
    bm25_first: np.ndarray

    def __add__(self, other: Scored) -> Scored:
        return Scored(*(np.concatenate([getattr(part, name) for part in (self, other)]) for name in _NAMES))

    def part(self, rows: np.ndarray) -> Scored:
        """The same for some of the rows."""
        return Scored(*(getattr(self, name)[rows] for name in _NAMES))


_NAMES = ("nothing", "best", "first", "bm25_best", "bm25_first")


def scored_rows(rows: Sequence[SuiteRow]) -> Scored:
    """A request that the gate refuses scores 0, as it is not answered."""
    return Scored(
        nothing=np.array([not row.gold for row in rows]),
        best=np.array([row.score or 0.0 for row in rows]),
        first=np.array([row.first_is_right for row in rows]),
        bm25_best=np.array([row.bm25_score for row in rows]),
        bm25_first=np.array([top1(row.bm25_ranked, row.gold, row.accept) for row in rows]),
    )


def halvings(scored: Scored) -> Table:
    """The method on exchangeable rows: a floor from one half of the rows, measured on the other.

    A halving over the promise is no broken promise yet: the measuring half has its own luck.
    """
    table = Table(
        title=f"all {len(scored.best)} rows, halved {HALVINGS} times: one half chooses, the other measures"
    )
    for name in ("promise", "attained", "mean answered", "mean wrong among them", "halvings over it"):
        table.add_column(name)
    for risk in RISKS:
        draw, found = np.random.default_rng(SEED), []
        for _ in range(HALVINGS):
            order = draw.permutation(len(scored.best))
            one, other = scored.part(order[::2]), scored.part(order[1::2])
            chosen = risk_controlled_floor(one.best, one.first, float(risk))
            if chosen:
                picked = other.best >= chosen.floor
                found.append((picked.mean(), (picked & ~other.first).sum() / max(picked.sum(), 1)))
        answered, wrong = np.array(found).reshape(-1, 2).T
        cells = [f"at most {float(risk):.0%} wrong", f"{len(found)}/{HALVINGS}"]
        # of all halvings: a promise that is rarely attained is attained by luck, and often broken then
        over = _share(int((wrong > float(risk)).sum()), HALVINGS)
        table.add_row(*cells, *([f"{answered.mean():.1%}", f"{wrong.mean():.1%}", over] if found else []))
    return table


def table_of(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in COLUMNS:
        table.add_column(name)
    return table


def add(
    table: Table,
    name: str,
    scored: Scored,
    floors: Mapping[str, float | None],
    bm25: Mapping[str, float | None],
) -> None:
    size = f"{len(scored.nothing)} ({int(scored.nothing.sum())})"
    _add_lines(table, name, size, (scored.best, scored.first, scored.nothing), floors)
    strict = floors["0.05"]
    if strict is not None and (answered := int((scored.best >= strict).sum())):
        as_many = float(np.sort(scored.bm25_best)[-answered])
        bm25 = {**{risk: floor for risk, floor in bm25.items() if floor is not None}, "as many": as_many}
    plain = (scored.bm25_best, scored.bm25_first, scored.nothing)
    _add_lines(table, f"{name}, BM25", "", plain, bm25)
    table.add_section()


def _add_lines(table: Table, name: str, size: str, scored: tuple, floors: Mapping[str, float | None]) -> None:
    best, first, nothing = scored
    told = _area(best, ~nothing)
    for at, (floor_name, floor) in enumerate(floors.items()):
        cells = _cells(best, first, nothing, floor_name, floor)
        table.add_row(*((name, size, told) if at == 0 else ("", "", "")), *cells)


def _cells(best: np.ndarray, first: np.ndarray, nothing: np.ndarray, name: str, floor: float | None) -> list:
    promised = float(name) if name in RISKS else None
    told = f"≤ {promised:.0%} wrong" if promised else name
    if floor is None:
        return [told, "cannot be promised" if promised else "", "", "", "", ""]
    picked = best >= floor
    answered, wrong = int(picked.sum()), int((picked & ~first).sum())
    upper = clopper_pearson_upper(wrong, answered, 0.95) if answered else 1.0
    return [
        f"{told} ({floor:.3g})",
        _share(answered, len(best)),
        _share(wrong, answered),
        f"{upper:.1%}" if answered else "",
        _kept(wrong, answered, upper, promised) if promised else "",
        _share(int((picked & nothing).sum()), int(nothing.sum())),
    ]


def _kept(wrong: int, answered: int, upper: float, promised: float) -> str:
    if not answered:
        return "nothing answered"
    lower = 1 - clopper_pearson_upper(answered - wrong, answered, 0.95)
    if upper <= promised:
        return "proven"
    if wrong / answered <= promised:
        return "kept"
    return "broken" if lower > promised else "missed within chance"


def _area(values: np.ndarray, labels: np.ndarray) -> str:
    if labels.all() or not labels.any():
        return ""
    draw = np.random.default_rng(SEED)
    rows = (draw.integers(len(values), size=len(values)) for _ in range(1_000))
    areas = [found for drawn in rows if (found := auroc(values[drawn], labels[drawn])) is not None]
    low, high = np.quantile(areas, [0.025, 0.975])
    return f"{auroc(values, labels):.3f} [{low:.3f}, {high:.3f}]"


def _share(count: int, n: int) -> str:
    if not n:
        return "0/0"
    low, high = wilson_interval(count, n)
    return f"{count}/{n} = {count / n:.0%} [{100 * low:.0f}, {100 * high:.0f}]"


def show(table: Table) -> None:
    Console(highlight=False, width=190).print(table)
