"""Usage: what the run records say about skills and stages, counted from their narrow columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pickysteve.registry.models import Problem, Value
from pickysteve.tasks.log import settled
from pickysteve.tasks.partitions import find_partitions, foreign, scan_partition, unreadable
from pickysteve.tasks.records import UNREADABLE, read_usage

__all__ = ["AmbiguousPair", "SkillUse", "StageTimes", "Usage", "read_usage_of"]


class SkillUse(Value):
    """How often a skill was picked, and how often it was near."""

    skill_id: str
    picked: int = 0
    ambiguous: int = 0
    """In the prediction set of an ambiguous pick."""
    near: int = 0
    """Among the nearest when nothing cleared the floor."""
    refused: int = 0
    """Retrieved and refused by the gate in a run that ended so."""


class AmbiguousPair(Value):
    """Two skills that stood in one ambiguous prediction set."""

    first: str
    second: str
    runs: int


class StageTimes(Value):
    """Milliseconds of a stage over the runs that reached it; "run" is the whole request."""

    stage: str
    n: int
    p50: float
    p95: float
    cached: int
    """Results that came from the cache."""


class Usage(Value):
    """The counts over all runs of a registry since a day."""

    runs: int = 0
    first_day: str = ""
    last_day: str = ""
    statuses: dict[str, int] = Field(default_factory=dict)
    days: dict[str, int] = Field(default_factory=dict)
    """Runs of each day."""
    skills: tuple[SkillUse, ...] = ()
    """Most picked first."""
    never_picked: tuple[str, ...] = ()
    """Skills of the registry that no run picked."""
    ambiguous_pairs: tuple[AmbiguousPair, ...] = ()
    stages: tuple[StageTimes, ...] = ()
    other_registries: int = 0
    """Runs that were left out, as they were made on another registry."""
    warnings: tuple[Problem, ...] = ()


def read_usage_of(
    runs_dir: Path, skills: Iterable[str], registry: str = "", since: date | None = None
) -> Usage:
    """Count all runs of `registry` from the day `since` on, each once; "" counts those of all registries.

    `skills` are the ids of the registry. Files that cannot be read are named in the warnings.
    """
    known = tuple(sorted(skills))
    return settled(lambda: _read(runs_dir, known, registry, since))


def _read(runs_dir: Path, skills: tuple[str, ...], registry: str, since: date | None) -> Usage:
    folders, warnings = find_partitions(runs_dir)
    heads: list[pa.Table] = []
    times: list[pa.Table] = []
    days: Counter[str] = Counter()
    other = 0
    for folder in folders:
        if since is None or _day(folder) >= since.isoformat():
            for table in _tables(folder, warnings):
                mine, left_out = _of_registry(table, registry)
                other += left_out
                heads.append(mine.filter(pc.equal(mine["seq"], 0)))
                times.append(mine.select(["seq", "stage", "milliseconds", "cached"]))
                days[_day(folder)] += heads[-1].num_rows
    usage = Usage(other_registries=other, warnings=tuple(warnings), never_picked=skills)
    counted = {day: days[day] for day in sorted(days) if days[day]}
    if not counted:
        return usage
    counts = _counts(pa.concat_tables(heads), counted, usage.never_picked)
    return usage.model_copy(update={**counts, "stages": tuple(_stage_times(pa.concat_tables(times)))})


def _day(folder: Path) -> str:
    return folder.name.removeprefix("date=")


def _tables(folder: Path, warnings: list[Problem]) -> Iterator[pa.Table]:
    """The tables of a day. A run in two files, as after a broken-off compaction, is taken from the first."""
    partition = scan_partition(folder)
    warnings += [foreign(path) for path in partition.foreign]
    seen: set[str] = set()
    for path in (*partition.loose, *partition.parts):
        try:
            table = read_usage(path)
        except FileNotFoundError:
            raise
        except UNREADABLE as error:
            warnings.append(unreadable(path, error))
            continue
        ids = set(pc.unique(table["run_id"]).to_pylist())
        if twice := ids & seen:
            table = table.filter(pc.invert(pc.is_in(table["run_id"], pa.array(sorted(twice)))))
        seen |= ids
        yield table


def _of_registry(table: pa.Table, registry: str) -> tuple[pa.Table, int]:
    """The runs of one registry, and how many others there were."""
    if not registry or set(pc.unique(table["registry"]).to_pylist()) <= {"", registry}:
        return table, 0
    heads = table.filter(pc.equal(table["seq"], 0))
    other = heads.filter(pc.not_equal(heads["registry"], registry))["run_id"]
    return table.filter(pc.invert(pc.is_in(table["run_id"], other.combine_chunks()))), len(other)


def _counts(heads: pa.Table, days: dict[str, int], skills: tuple[str, ...]) -> dict[str, object]:
    uses = _skill_uses(heads)
    picked = {use.skill_id for use in uses if use.picked}
    return {
        "runs": heads.num_rows,
        "first_day": min(days),
        "last_day": max(days),
        "days": days,
        "statuses": _tally(heads["status"]),
        "skills": uses,
        "never_picked": tuple(skill for skill in skills if skill not in picked),
        "ambiguous_pairs": _ambiguous_pairs(heads),
    }


def _tally(values: pa.ChunkedArray) -> dict[str, int]:
    """How often each value stands there, the most frequent first."""
    found = {row["values"]: row["counts"] for row in pc.value_counts(values).to_pylist()}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _skill_uses(heads: pa.Table) -> tuple[SkillUse, ...]:
    def tally(column: str, mask: pa.ChunkedArray) -> dict[str, int]:
        return _tally(pc.list_flatten(heads.filter(mask)[column]))

    counts = {
        "picked": tally("picks", pc.equal(heads["status"], "ok")),
        "ambiguous": tally("prediction_set", heads["ambiguous"]),
        "near": tally("nearest", pc.equal(heads["status"], "no_confident_match")),
        "refused": tally("nearest", pc.equal(heads["status"], "blocked_retrieved")),
    }
    names = sorted(set().union(*counts.values()))
    uses = [
        SkillUse(skill_id=name, **{kind: found.get(name, 0) for kind, found in counts.items()})
        for name in names
    ]
    return tuple(sorted(uses, key=lambda use: (-use.picked, -use.near, use.skill_id)))


def _ambiguous_pairs(heads: pa.Table) -> tuple[AmbiguousPair, ...]:
    sets = heads.filter(heads["ambiguous"])["prediction_set"].to_pylist()
    pairs = Counter(pair for members in sets for pair in combinations(sorted(set(members)), 2))
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return tuple(AmbiguousPair(first=pair[0], second=pair[1], runs=runs) for pair, runs in ranked)


def _stage_times(table: pa.Table) -> Iterator[StageTimes]:
    """The stages in the order of the flow, then the whole run."""
    wanted = [("seq", "max"), ("cached", "sum"), ("milliseconds", "list")]
    # one thread, as only that keeps lists in groups
    stages = table.group_by("stage", use_threads=False).aggregate(wanted).sort_by("seq_max")
    # seq 0 is the whole run, and stands last
    for row in (*range(1, stages.num_rows), 0):
        milliseconds = stages["milliseconds_list"][row].values
        p50, p95 = pc.quantile(milliseconds, q=[0.5, 0.95]).to_pylist()
        yield StageTimes(
            stage=stages["stage"][row].as_py(),
            n=len(milliseconds),
            p50=p50,
            p95=p95,
            cached=stages["cached_sum"][row].as_py(),
        )
