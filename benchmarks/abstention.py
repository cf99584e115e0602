"""Whether abstaining holds where the calibration has not been: other skills, other registries, outside data.

    python benchmarks/abstention.py [suites] [clinc150] [skills] [--shared DIR] [--rows N]

Every request goes through the request flow, on rows that no fit and no threshold has seen. A line is one
floor on one data set: how much is answered, how much of that wrongly, and the one-sided 95 % Clopper-Pearson
bound of the latter. "kept": the bound is under the promise; "broken": even the lower bound is over it; else
the rows are too few to say. BM25 is rank-bm25 over lower-case words, its floor chosen by the same rule on the
same calibration rows. Intervals of shares are Wilson's, those of an AUROC bootstrapped over requests.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from pickysteve.calibration.fitted import EMBEDDED, Fitted, read_fitted
from pickysteve.calibration.measures import auroc, clopper_pearson_upper, wilson_interval
from pickysteve.calibration.risk import risk_controlled_floor
from pickysteve.flows.asking import read_request
from pickysteve.flows.calibrate_own import calibrate_own
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.engines import ingest, open_engines
from pickysteve.flows.evaluate import PlainBm25
from pickysteve.flows.gate_corpora import repository_root, shared_data
from pickysteve.flows.ingest import index_own_data
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.index import IndexData
from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import Direct

SEED = 20261130
RISKS = ("0.05", "0.1", "0.2")
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
EXAMPLES = 10
"""Example requests of each intent, from the train rows; the measured rows are val, test and out-of-scope."""
OUTSIDE = 0.2
"""Share of the rows that no intent answers; a promise holds for the mixture that it was calibrated on."""
POSSIBLY_ANSWERED = {"H-203", "H-207", "H-211", "H-214", "H-220"}
"""Off-domain for our own skills, and possibly somebody's skill among the 475 real ones."""


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


def main() -> None:
    arguments = _arguments()
    with TemporaryDirectory() as scratch:
        for part in arguments.parts or PARTS:
            PARTS[part](Path(scratch), arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []))
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of each half of clinc150")
    return parser.parse_args()


def suites(scratch: Path, _: argparse.Namespace) -> None:
    """The floors that we ship, on skills that neither weights nor floors have seen."""
    datasets = repository_root() / "datasets"
    fitted, bm25 = _shipped(), _bm25_floors(datasets)
    own = repository_root() / "registry" / "skills"
    trap = datasets / "trap"
    places = {
        "accuracy": (own, datasets / "accuracy" / "suite.jsonl"),
        "heldout": (datasets / "heldout" / "skills", datasets / "heldout" / "suite.jsonl"),
        **{
            f"trap-{name}": (trap / "skills", trap / f"{name}.jsonl") for name in ("base", "harder", "canary")
        },
    }
    table, parts = _table("shipped floors on other skills"), []
    for name, (registry, suite) in places.items():
        settings = _settings(scratch, registry)
        ingest(settings)
        parts.append(_run(read_suite(suite), open_engines(settings), settings))
        _add(table, name, parts[-1], _floors(fitted), bm25)
    _add(table, "all five", sum(parts[1:], parts[0]), _floors(fitted), bm25)
    _show(table)


def clinc150(scratch: Path, arguments: argparse.Namespace) -> None:
    """Out-of-scope requests of another field: what we ship, and a calibration of one's own on one half."""
    rows = [json.loads(line) for line in _lines(arguments, "clinc150")]
    registry, halves = _intents(rows, scratch / "clinc150", arguments.rows)
    settings = _settings(scratch, registry)
    index = ingest(settings).data
    suite = scratch / "calibrate.jsonl"
    suite.write_text("".join(task.model_dump_json() + "\n" for task in halves[0]), encoding="utf-8")
    own = calibrate_own(index, suite, MiniLM(), _shipped())
    bm25 = _bm25_floors_of(halves[0], PlainBm25(SearchIndex(index)))
    measured = _run(halves[1], open_engines(settings), settings)
    table = _table(f"clinc150, 150 intents of {EXAMPLES} examples; one half calibrates, the other measures")
    _add(table, "floors that we ship", measured, _floors(_shipped()), {})
    _add(table, "floors of one's own", measured, _floors(own), bm25)
    _show(table)


def skills(scratch: Path, arguments: argparse.Namespace) -> None:
    """475 real skill files: alone, on requests that none of them answers, and as distractors of our suite."""
    datasets = repository_root() / "datasets"
    heldout = read_suite(datasets / "heldout" / "suite.jsonl")
    # the user's own cache: reading 475 files takes minutes, once
    settings = load_settings(registry=shared_data(arguments.shared) / "skills", runs_dir=scratch / "runs")
    ingest(settings)
    engines = open_engines(settings)
    unanswered = [task for task in heldout if task.category == "off-domain"]
    unanswered += [
        task for task in read_suite(datasets / "accuracy" / "suite.jsonl") if task.category == "off-domain"
    ]
    table = _table(f"{len(engines.index.skills)} real skills, floors that we ship")
    alone = [task for task in unanswered if task.id not in POSSIBLY_ANSWERED]
    _add(table, "alone, off-domain", _run(alone, engines, settings), _floors(_shipped()), {})
    together = _merged(engines.index.data, index_own_data(datasets / "heldout" / "skills", engines.encoder))
    both = replace(engines, index=SearchIndex(together))
    asked = [task for task in heldout if task.id not in POSSIBLY_ANSWERED]
    _add(table, "with heldout's 32", _run(asked, both, settings), _floors(_shipped()), {})
    _show(table)


def _shipped() -> Fitted:
    return read_fitted(EMBEDDED, encoder=MiniLM().fingerprint, scoring=SCORING_VERSION)


def _floors(fitted: Fitted) -> dict[str, float | None]:
    named = {"net-benefit": fitted.floor, "youden": fitted.youden_floor}
    return named | {risk: fitted.risk_floors[risk] for risk in RISKS}


def _bm25_floors(datasets: Path) -> dict[str, float | None]:
    folder = datasets / "calibrate"
    plain = PlainBm25(SearchIndex(index_own_data(folder / "skills", MiniLM())))
    return _bm25_floors_of(read_suite(folder / "suite.jsonl"), plain)


def _bm25_floors_of(tasks: Sequence[Task], plain: PlainBm25) -> dict[str, float | None]:
    best, first = _bm25_scores(tasks, plain)
    found = {risk: risk_controlled_floor(best, first, float(risk)) for risk in RISKS}
    return {risk: one.floor if one else None for risk, one in found.items()}


def _bm25_scores(tasks: Sequence[Task], plain: PlainBm25) -> tuple[np.ndarray, np.ndarray]:
    ranked = [plain.rank(task.request) for task in tasks]
    right = [names[0] in {*task.gold, *task.accept} for task, (names, _) in zip(tasks, ranked, strict=True)]
    return np.array([score for _, score in ranked]), np.array(right)


def _run(tasks: Sequence[Task], engines: Engines, settings: Settings) -> Scored:
    """Answer every request by the flow; a request that the gate refuses scores 0, as it is not answered."""
    best, first = [], []
    for task in tasks:
        request = read_request(task.request, (), settings.gate)
        trace = pick_context(request, engines, settings, Direct())
        ranked = sorted(trace.candidates, key=lambda candidate: -(candidate.score or 0.0))
        best.append((ranked[0].score or 0.0) if ranked else 0.0)
        first.append(bool(ranked) and ranked[0].skill_id in {*task.gold, *task.accept})
    plain = _bm25_scores(tasks, PlainBm25(engines.index))
    nothing = np.array([not task.gold for task in tasks])
    return Scored(nothing, np.array(best), np.array(first), *plain)


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in (
        "data",
        "n (no match)",
        "AUROC",
        "floor",
        "answered",
        "wrong among them",
        "bound",
        "promise",
    ):
        table.add_column(name)
    table.add_column("no match picked")
    return table


def _add(
    table: Table,
    name: str,
    scored: Scored,
    floors: dict[str, float | None],
    bm25: dict[str, float | None],
) -> None:
    size = f"{len(scored.nothing)} ({int(scored.nothing.sum())})"
    ours = (scored.best, scored.first, floors, _area(scored.best, ~scored.nothing))
    plain = (scored.bm25_best, scored.bm25_first, bm25, _area(scored.bm25_best, ~scored.nothing))
    for kind, (best, first, chosen, told) in {"ours": ours, "BM25": plain}.items():
        label, shown = f"{name}, {kind}" if kind == "BM25" else name, told
        for floor_name, floor in (chosen or {"none chosen": None}).items():
            cells = _cells(best, first, scored.nothing, floor_name, floor)
            table.add_row(label, size, shown, *cells)
            label = size = shown = ""
    table.add_section()


def _cells(best: np.ndarray, first: np.ndarray, nothing: np.ndarray, name: str, floor: float | None) -> list:
    promised = float(name) if name in RISKS else None
    told = f"at most {promised:.0%} wrong" if promised else name
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
    return "kept" if upper <= promised else "broken" if lower > promised else "too few rows to say"


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
    return f"{count}/{n} = {count / n:.0%} [{low:.0%}, {high:.0%}]"


def _show(table: Table) -> None:
    Console(highlight=False, width=190).print(table)


def _merged(one: IndexData, other: IndexData) -> IndexData:
    """Both registries as one, in memory; their skills have different names."""
    return replace(
        one,
        skills={**one.skills, **other.skills},
        units={**one.units, **other.units},
        vectors=one.vectors + other.vectors,
        matrix=np.concatenate([one.matrix, other.matrix]),
        postings={kind: {**one.postings[kind], **other.postings[kind]} for kind in one.postings},
        verdicts={**one.verdicts, **other.verdicts},
    )


def _intents(
    rows: Sequence[dict[str, object]], folder: Path, size: int
) -> tuple[Path, tuple[list[Task], list[Task]]]:
    """A registry whose skills are the intents, and two halves of rows, none of them an example of it."""
    draw = random.Random(SEED)
    train: dict[str, list[str]] = {}
    scoped, outside = [], []
    for number, row in enumerate(rows):
        gold = tuple(str(skill).replace("_", "-") for skill in row["gold"])  # type: ignore[attr-defined]
        task = Task(id=str(number), request=str(row["request"]), gold=gold)
        if row["split"] == "train":
            train.setdefault(gold[0], []).append(task.request)
        else:
            (scoped if gold else outside).append(task)
    for intent, requests in train.items():
        _write_intent(folder / intent, intent, draw.sample(sorted(requests), EXAMPLES))
    draw.shuffle(scoped)
    draw.shuffle(outside)
    share = round(size * OUTSIDE)
    halves = tuple(
        scoped[at * (size - share) : (at + 1) * (size - share)] + outside[at * share : (at + 1) * share]
        for at in (0, 1)
    )
    return folder, (halves[0], halves[1])


def _write_intent(folder: Path, intent: str, examples: Sequence[str]) -> None:
    folder.mkdir(parents=True)
    about = intent.replace("-", " ")
    text = f"---\nname: {intent}\ndescription: Requests about {about}.\n---\n\nAnswers {about} requests.\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    lines = "".join(f"  - {json.dumps(example)}\n" for example in examples)
    (folder / "examples.yaml").write_text(f"examples:\n{lines}origin: author\n", encoding="utf-8")


def _lines(arguments: argparse.Namespace, name: str) -> list[str]:
    path = shared_data(arguments.shared) / name / "requests.jsonl"
    return path.read_text(encoding="utf-8").splitlines()


def _settings(scratch: Path, registry: Path) -> Settings:
    return load_settings(registry=registry, index_dir=scratch / "index", runs_dir=scratch / "runs")


PARTS = {"suites": suites, "clinc150": clinc150, "skills": skills}

if __name__ == "__main__":
    main()
