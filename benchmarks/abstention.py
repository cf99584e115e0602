"""Whether abstaining holds where the calibration has not been: other skills, other registries, outside data.

    python benchmarks/abstention.py [suites] [clinc150] [skills] [pairs] [--shared DIR] [--rows N]

Every line is measured by the request flow on rows that no fit and no threshold has seen; intervals are
Wilson 95 %, those of an AUROC are bootstrapped over requests. BM25 is rank-bm25 over lower-case words.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pickysteve.calibration.fitted import EMBEDDED, Fitted, read_fitted, write_fitted
from pickysteve.calibration.floor import youden_floor
from pickysteve.calibration.measures import auroc, clopper_pearson_upper, wilson_interval
from pickysteve.flows.asking import read_request
from pickysteve.flows.calibrate_own import calibrate_own
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.engines import ingest, open_engines
from pickysteve.flows.evaluate import PlainBm25
from pickysteve.flows.gate_corpora import repository_root, shared_data
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite import Task, read_suite
from pickysteve.tasks.engines.embedder import MiniLM
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.route import RouteConfig, parse_request
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request, Trace

SEED = 20261130
EXAMPLES = 10
"""Example requests of each intent, from the train rows; the measured rows are val, test and out-of-scope."""
OUTSIDE = 0.2
"""Share of the rows that no intent answers."""
UNANSWERED_SKILLS = {
    "claim-denial-appeal",
    "exam-item-analysis",
    "insurance-eligibility-check",
    "marker-moderation",
    "patient-bill-review",
    "prior-authorization-packet",
    "rubric-design",
    "student-feedback-comments",
}
"""Fields that none of the 475 real files is about, by their names and a search for their words."""
TECHNICAL = {"H-203", "H-207", "H-211", "H-214", "H-220"}
"""Off-domain for the held-out skills, and possibly somebody's skill among the real ones."""


def main() -> None:
    arguments = _arguments()
    with TemporaryDirectory() as scratch:
        for part in arguments.parts or PARTS:
            PARTS[part](Path(scratch), arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=("suites", "clinc150", "skills", "pairs", []))
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--rows", type=int, default=1_500, help="rows of each half of clinc150")
    return parser.parse_args()


def suites(scratch: Path, _: argparse.Namespace) -> None:
    """The thresholds that we ship, on skills that they were not chosen on."""
    datasets = repository_root() / "datasets"
    fitted = read_fitted(EMBEDDED, encoder=MiniLM().fingerprint, scoring=SCORING_VERSION)
    print("\ncalibrate split, folds by skill (pickysteve calibrate):")
    for name, value in fitted.report.items():
        print(f"  {name:36} {value}")
    for name in ("heldout", "accuracy"):
        own = datasets / name / "skills"
        settings = _settings(scratch, own if own.is_dir() else None)
        ingest(settings)
        tasks = read_suite(datasets / name / "suite.jsonl")
        traces = _run(tasks, settings)
        print(f"\ndatasets/{name}, {len(tasks)} requests:")
        _print_aurocs(tasks, traces, settings)
        _print_floors(tasks, traces, fitted)


def clinc150(scratch: Path, arguments: argparse.Namespace) -> None:
    """Out-of-scope requests of another field: what we ship, and a calibration of one's own on one half."""
    rows = [json.loads(line) for line in _lines(arguments, "clinc150")]
    registry, halves = _intents(rows, scratch / "clinc150", arguments.rows)
    settings = _settings(scratch, registry)
    index = ingest(settings).data
    encoder = MiniLM()
    shipped = read_fitted(EMBEDDED, encoder=encoder.fingerprint, scoring=SCORING_VERSION)
    suite = scratch / "calibrate.jsonl"
    suite.write_text("".join(task.model_dump_json() + "\n" for task in halves[0]), encoding="utf-8")
    own = calibrate_own(index, suite, encoder, shipped)
    write_fitted(own, scratch / "own.json")
    print(f"\nclinc150, 150 intents with {EXAMPLES} examples each; half to calibrate: {len(halves[0])} rows")
    for name, value in own.report.items():
        print(f"  {name:36} {value}")
    attained = own.risk_floors["0.05"] is not None
    strict = settings.floor.model_copy(update={"mode": "risk-controlled" if attained else "net-benefit"})
    traces = _run(
        halves[1], settings.model_copy(update={"calibration": scratch / "own.json", "floor": strict})
    )
    print(f"\nclinc150, the other half: {len(halves[1])} rows, floors that we ship")
    _print_aurocs(halves[1], traces, settings)
    _print_floors(halves[1], traces, shipped)
    print(f"  the same, floors of the first half; in the flow with floor.mode = {strict.mode}")
    _print_floors(halves[1], traces, own)
    _print_picks(halves[1], traces)


def skills(scratch: Path, arguments: argparse.Namespace) -> None:
    """475 real skill files and requests of our held-out suites that none of them answers."""
    datasets = repository_root() / "datasets"
    tasks = [task for task in read_suite(datasets / "heldout" / "suite.jsonl") if _is_unanswered(task)]
    tasks += [
        task for task in read_suite(datasets / "accuracy" / "suite.jsonl") if task.category == "off-domain"
    ]
    # the user's own cache: reading 475 files takes minutes, once
    settings = load_settings(registry=shared_data(arguments.shared) / "skills", runs_dir=scratch / "runs")
    found = ingest(settings).data
    traces = _run(tasks, settings)
    print(f"\n{len(found.skills)} real skills, {len(tasks)} requests that none of them answers:")
    fitted = read_fitted(EMBEDDED, encoder=MiniLM().fingerprint, scoring=SCORING_VERSION)
    nothing = [task.model_copy(update={"gold": (), "accept": ()}) for task in tasks]
    for kind in ("off-domain", "of another field"):
        rows = [
            at for at, task in enumerate(tasks) if (task.category == "off-domain") == (kind == "off-domain")
        ]
        print(f" {kind}:")
        _print_floors([nothing[at] for at in rows], [traces[at] for at in rows], fitted)


def pairs(scratch: Path, _: argparse.Namespace) -> None:
    """A floor by Youden's J on labelled pairs of a request and a skill, beside the floors that we ship."""
    folder = repository_root() / "datasets" / "trap"
    settings = _settings(scratch, folder / "skills")
    ingest(settings)
    engines = open_engines(settings)
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = np.array([_pair_score(row["request"], row["skill"], engines) for row in rows])
    relevant = np.array([row["relevant"] for row in rows])
    area, low, high = _auroc(scores, relevant)
    print(f"\n{len(rows)} labelled pairs on the trap registry: AUROC {area:.3f} [{low:.3f}, {high:.3f}]")
    fitted = engines.calibration.fitted
    floors = {"youden on the pairs": youden_floor(scores, relevant), "net-benefit, shipped": fitted.floor}
    for name, floor in floors.items():
        print(f"    {name:20} floor {floor:.3f}")
        for kind in sorted({row["kind"] for row in rows}):
            over = [score >= floor for score, row in zip(scores, rows, strict=True) if row["kind"] == kind]
            print(f"      {kind:16} over it {_share(sum(over), len(over))}")


def _pair_score(request: str, skill: str, engines: Engines) -> float:
    routed = parse_request(Request(text=request), RouteConfig())
    scores, _features = engines.reranker.scores(routed.query, routed.clauses, engines.index)
    return float(scores[engines.index.skill_rows[skill]].max())


def _is_unanswered(task: Task) -> bool:
    if task.category == "off-domain":
        return task.id not in TECHNICAL
    return bool(task.gold) and {*task.gold, *task.accept} <= UNANSWERED_SKILLS


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


def _settings(scratch: Path, registry: Path | None) -> Settings:
    return load_settings(registry=registry, index_dir=scratch / "index", runs_dir=scratch / "runs")


def _run(tasks: Sequence[Task], settings: Settings) -> list[Trace]:
    engines = open_engines(settings)
    return [_pick(task, engines, settings) for task in tasks]


def _pick(task: Task, engines: Engines, settings: Settings) -> Trace:
    return pick_context(read_request(task.request, (), settings.gate), engines, settings, Direct())


def _best(trace: Trace) -> float:
    return max((candidate.score or 0.0 for candidate in trace.candidates), default=0.0)


def _first_is_right(task: Task, trace: Trace) -> bool:
    ranked = [candidate.skill_id for candidate in trace.candidates]
    return bool(ranked) and ranked[0] in {*task.gold, *task.accept}


def _print_aurocs(tasks: Sequence[Task], traces: Sequence[Trace], settings: Settings) -> None:
    matching = np.array([bool(task.gold) for task in tasks])
    bm25 = PlainBm25(open_engines(settings).index)
    readings = {
        "our best score": [_best(trace) for trace in traces],
        "BM25's best score": [bm25.rank(task.request)[1] for task in tasks],
        "number of words alone": [float(len(task.request.split())) for task in tasks],
    }
    print(f"  something fits ({matching.sum()}) against nothing does ({(~matching).sum()}):")
    for name, values in readings.items():
        area, low, high = _auroc(np.array(values), matching)
        print(f"    AUROC of {name:24} {area:.3f} [{low:.3f}, {high:.3f}]")


def _auroc(values: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    draw = np.random.default_rng(SEED)
    areas = []
    for _ in range(1_000):
        rows = draw.integers(len(values), size=len(values))
        areas.append(auroc(values[rows], labels[rows]))
    low, high = np.quantile([area for area in areas if area is not None], [0.025, 0.975])
    return auroc(values, labels) or 0.0, float(low), float(high)


def _print_floors(tasks: Sequence[Task], traces: Sequence[Trace], fitted: Fitted) -> None:
    """What each floor of a fitted file does to these rows."""
    best = np.array([_best(trace) for trace in traces])
    right = np.array([_first_is_right(*row) for row in zip(tasks, traces, strict=True)])
    nothing = np.array([not task.gold for task in tasks])
    floors = {"net-benefit": fitted.floor, "youden": fitted.youden_floor}
    floors |= {f"at most {float(risk):.0%} wrong": floor or 2.0 for risk, floor in fitted.risk_floors.items()}
    for name, floor in floors.items():
        if floor > 1:
            print(f"    {name:20} not attainable")
            continue
        picked = best >= floor
        wrong = int((picked & ~right).sum())
        print(
            f"    {name:20} floor {floor:.3f}  answered {_share(int(picked.sum()), len(tasks))}  wrong among "
            f"them {_share(wrong, int(picked.sum()))}  nothing fits, picked "
            f"{_share(int((picked & nothing).sum()), int(nothing.sum()))}"
        )


def _print_picks(tasks: Sequence[Task], traces: Sequence[Trace]) -> None:
    """What the flow itself picked: its first skill is what is right or wrong."""
    picked = [row for row in zip(tasks, traces, strict=True) if row[1].pick.status == "ok"]
    wrong = sum(trace.pick.skills[0] not in {*task.gold, *task.accept} for task, trace in picked)
    bound = clopper_pearson_upper(wrong, len(picked), 0.95)
    print(
        f"    picked by the flow   {_share(len(picked), len(tasks))}, first pick wrong "
        f"{_share(wrong, len(picked))}, Clopper-Pearson bound {bound:.3f}"
    )


def _share(count: int, n: int) -> str:
    if not n:
        return "0/0"
    low, high = wilson_interval(count, n)
    return f"{count}/{n} = {count / n:.1%} [{low:.1%}, {high:.1%}]"


PARTS = {"suites": suites, "clinc150": clinc150, "skills": skills, "pairs": pairs}

if __name__ == "__main__":
    main()
