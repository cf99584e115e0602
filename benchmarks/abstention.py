"""Whether abstaining holds where the calibration has not been: other skills, other registries, outside data.

    python benchmarks/abstention.py [suites] [clinc150] [skills] [--run DIR] [--shared DIR] [--rows N]

Every request goes through the request flow, on rows that no fit and no threshold has seen; `suites` reads the
rows of a finished trifecta (--run), or makes one. A line is one floor on one data set: how much is answered,
how much of that wrongly, and the one-sided 95 % Clopper-Pearson bound of the latter. A promise is "proven"
where this bound is under it, "kept" where the rate is, "missed within chance" where the rate is over it and
the lower bound is not, and else "broken". BM25 is rank-bm25 over lower-case words: its floors by the same
rule from the same calibration rows, where it attains any, and with as many answers as ours. Intervals of
shares are Wilson's, those of an AUROC are bootstrapped over requests.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from risk_table import RISKS, Scored, add, halvings, scored_rows, show, table_of

from pickysteve.calibration.fitted import EMBEDDED, Fitted, read_fitted
from pickysteve.calibration.risk import risk_controlled_floor
from pickysteve.flows.answering import PlainBm25
from pickysteve.flows.calibrate_own import calibrate_own
from pickysteve.flows.dag import Engines
from pickysteve.flows.engines import ingest, open_engines
from pickysteve.flows.evaluate import evaluate_suite
from pickysteve.flows.gate_corpora import repository_root, shared_data
from pickysteve.flows.ingest import index_own_data
from pickysteve.flows.scenes import registry_states
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite import Task, read_suite
from pickysteve.flows.suite_rows import read_rows
from pickysteve.flows.suite_table import choose_suites, read_table, suite_table
from pickysteve.flows.trifecta_report import read_report, suite_folder
from pickysteve.flows.trifecta_run import TrifectaPlan, run_trifecta
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.index import SearchIndex

SEED = 20261130
EXAMPLES = 10
"""Example requests of each intent, from the train rows; the measured rows are val, test and out-of-scope."""
OUTSIDE = 0.2
"""Share of the rows that no intent answers; a promise holds for the mixture that it was calibrated on."""
POSSIBLY_ANSWERED = {"H-203", "H-207", "H-211", "H-214", "H-220"}
"""Off-domain for our own skills, and possibly somebody's skill among the 475 real ones."""


def main() -> None:
    arguments = _arguments()
    with TemporaryDirectory() as scratch:
        for part in arguments.parts or PARTS:
            PARTS[part](Path(scratch), arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []))
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--run", type=Path, help="folder of a finished trifecta")
    parser.add_argument(
        "--rows", type=int, default=1_000, help="rows of clinc150 to calibrate on; twice as many measure"
    )
    return parser.parse_args()


def suites(scratch: Path, arguments: argparse.Namespace) -> None:
    """The floors that we ship, on skills that neither weights nor floors have seen."""
    bm25, out = _bm25_floors(repository_root() / "datasets"), arguments.run or scratch / "trifecta"
    if not arguments.run:
        entries = choose_suites(read_table(suite_table()), ())
        run_trifecta(TrifectaPlan(entries, out), load_settings(index_dir=scratch / "index"))
    names = [suite.name for suite in read_report(out).suites]
    parts = {name: scored_rows(read_rows(suite_folder(out, 1, name))) for name in names}
    every = sum(list(parts.values())[1:], parts[names[0]])
    table = table_of("shipped floors on skills that they were not chosen on")
    for name, part in {**parts, "all of these": every}.items():
        add(table, name, part, _floors(_shipped()), bm25)
    show(table)
    show(halvings(every))


def clinc150(scratch: Path, arguments: argparse.Namespace) -> None:
    """Out-of-scope requests of another field: what we ship, and a calibration of one's own."""
    rows = [json.loads(line) for line in _lines(arguments, "clinc150")]
    registry, parts = _intents(rows, scratch / "clinc150", arguments.rows)
    settings = _settings(scratch, registry)
    index = ingest(settings).data
    suite = scratch / "calibrate.jsonl"
    suite.write_text("".join(task.model_dump_json() + "\n" for task in parts[0]), encoding="utf-8")
    own = calibrate_own(index, suite, MiniLM(), _shipped())
    bm25 = _bm25_floors_of(parts[0], PlainBm25(SearchIndex(index)))
    measured = _run(parts[1], open_engines(settings), settings, scratch / "out")
    table = table_of(
        f"clinc150, 150 intents of {EXAMPLES} examples; {len(parts[0])} rows calibrate, others measure"
    )
    add(table, "floors that we ship", measured, _floors(_shipped()), {})
    add(table, "floors of one's own", measured, _floors(own), bm25)
    show(table)


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
    table = table_of(f"{len(engines.index.skills)} real skills, floors that we ship")
    alone = [task for task in unanswered if task.id not in POSSIBLY_ANSWERED]
    measured = _run(alone, engines, settings, scratch / "alone")
    add(table, "alone, off-domain", measured, _floors(_shipped()), {})
    asked = [task for task in heldout if task.id not in POSSIBLY_ANSWERED]
    own = index_own_data(datasets / "heldout" / "skills", engines.encoder)
    # as a user finds them: a registry without examples, and one in which a few skills have some
    for told, part in {"no examples": registry_states(own, (0.0,))[0].data, "32 with examples": own}.items():
        both = replace(engines, index=SearchIndex(_merged(engines.index.data, part)))
        measured = _run(asked, both, settings, scratch / told)
        add(table, f"with heldout's, {told}", measured, _floors(_shipped()), {})
    show(table)


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


def _run(tasks: Sequence[Task], engines: Engines, settings: Settings, out: Path) -> Scored:
    return scored_rows(evaluate_suite(tasks, engines, settings, out).rows)


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
    """A registry whose skills are the intents; rows to calibrate and to measure, none an example of it."""
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
    parts, used = [], (0, 0)
    for rows_of_part in (size, 2 * size):
        none = round(rows_of_part * OUTSIDE)
        ends = (used[0] + rows_of_part - none, used[1] + none)
        parts.append(scoped[used[0] : ends[0]] + outside[used[1] : ends[1]])
        used = ends
    return folder, (parts[0], parts[1])


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
