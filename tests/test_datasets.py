"""The data: suites that parse and name real skills, splits that share nothing, skills that are whole."""

import json
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from pickysteve.flows.leakage import find_leaks, normalised_words
from pickysteve.flows.pairs import LabelledPair, read_pairs
from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.discover import discover

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ROOT / "datasets"
OWN_SKILLS = ROOT / "registry" / "skills"
TRAP = ("trap-base", "trap-canary", "trap-harder")
SUITES = sorted([path.parent.name for path in DATASETS.glob("*/suite.jsonl")] + list(TRAP))
SPLITS = ("accuracy", "calibrate", "fit", "heldout", "trap")
FITTED = ("calibrate", "fit")
"""What weights and thresholds are chosen on; everything else measures."""
LEAST_ROWS = {"trap-base": 26, "trap-harder": 42, "trap-canary": 30, "heldout": 60, "accuracy": 80}
CATEGORIES = {"direct", "oblique", "mirror", "terse", "compound", "single-and", "near-miss", "off-domain"}
FIELDS = {"id", "request", "gold", "accept", "traps", "category"}
GOLD_COUNT = {"compound": 2, "near-miss": 0, "off-domain": 0}


def suite_file(name: str) -> Path:
    folder, _, part = name.partition("-")
    return DATASETS / folder / f"{part or 'suite'}.jsonl"


@cache
def suite(name: str) -> tuple[Task, ...]:
    """A suite by its name; "trap" is all three of the trap registry."""
    return sum(map(suite, TRAP), ()) if name == "trap" else read_suite(suite_file(name))


def skills_folder(name: str) -> Path:
    """A suite's own skills; the suites without any are about those that we ship."""
    own = DATASETS / name.partition("-")[0] / "skills"
    return own if own.is_dir() else OWN_SKILLS


@cache
def pairs() -> tuple[LabelledPair, ...]:
    return read_pairs(DATASETS / "trap" / "pairs.jsonl")


def requests_of(name: str) -> dict[str, str]:
    return {task.id: task.request for task in suite(name)}


def documents_of(name: str) -> dict[str, str]:
    """Every text of a suite's registry, by where it stands."""
    found = catalogue(skills_folder(name))
    texts = {unit_id: unit.text for unit_id, unit in found.units.items()}
    for skill_id, skill in found.skills.items():
        texts[f"{skill_id} (not for)"] = skill.not_for
        texts |= {f"{skill_id} (example {at})": e.text for at, e in enumerate(skill.examples)}
    return texts


@cache
def catalogue(folder: Path) -> Catalogue:
    return build_catalogue(discover(folder))


REGISTRIES = sorted({OWN_SKILLS, *(skills_folder(name) for name in SUITES)})
SKILLS = [(folder, skill_id) for folder in REGISTRIES for skill_id in catalogue(folder).skills]
each_suite = pytest.mark.parametrize("name", SUITES)
each_registry = pytest.mark.parametrize("folder", REGISTRIES, ids=lambda path: str(path.relative_to(ROOT)))


def normalised(text: str) -> list[str]:
    return normalised_words(text)


def test_the_suites_that_we_promise_are_there_and_long_enough() -> None:
    assert {*SPLITS, *TRAP} - {"trap"} == set(SUITES)
    assert {name: len(suite(name)) for name, least in LEAST_ROWS.items() if len(suite(name)) < least} == {}
    assert len(catalogue(skills_folder("trap")).skills) >= 60


def test_datasets_hold_data_only() -> None:
    # with an __init__.py the folder would hide the package of that name
    assert not [path for path in DATASETS.rglob("*") if path.suffix in {".py", ".pyc", ".so", ".pth"}]


@pytest.mark.parametrize("folder", sorted(path.name for path in DATASETS.iterdir() if path.is_dir()))
def test_every_dataset_says_where_it_comes_from(folder: str) -> None:
    text = (DATASETS / folder / "PROVENANCE.md").read_text(encoding="utf-8")
    assert "MIT" in text
    assert "urpose" in text


@each_suite
def test_every_line_has_exactly_the_known_fields(name: str) -> None:
    lines = suite_file(name).read_text(encoding="utf-8").splitlines()
    assert all(set(json.loads(line)) == FIELDS for line in lines)
    assert len(suite(name)) == len(lines) >= LEAST_ROWS.get(name, 80)


@each_suite
def test_ids_and_requests_of_a_suite_are_unique(name: str) -> None:
    tasks = suite(name)
    assert len({task.id for task in tasks}) == len(tasks)
    assert len({" ".join(normalised(task.request)) for task in tasks}) == len(tasks)


@each_suite
def test_every_skill_that_a_suite_names_exists(name: str) -> None:
    known = catalogue(skills_folder(name)).skills.keys()
    unknown = [(task.id, {*task.gold, *task.accept, *task.traps} - known) for task in suite(name)]
    assert not [entry for entry in unknown if entry[1]]


@each_suite
def test_no_skill_is_at_once_right_and_a_trap(name: str) -> None:
    assert not [task.id for task in suite(name) if {*task.gold, *task.accept} & {*task.traps}]
    assert not [task.id for task in suite(name) if {*task.gold} & {*task.accept}]
    assert not [task.id for task in suite(name) if len({*task.gold}) != len(task.gold)]


@each_suite
def test_categories_are_known_and_fit_the_number_of_right_skills(name: str) -> None:
    assert {task.category for task in suite(name)} <= CATEGORIES
    wrong = [task.id for task in suite(name) if len(task.gold) != GOLD_COUNT.get(task.category, 1)]
    assert not wrong, wrong


@each_suite
def test_about_a_quarter_of_a_suite_is_answered_by_nothing(name: str) -> None:
    # the base suite is for answers: an eighth of it
    least = {"trap-base": 0.1, "heldout": 0.25}.get(name, 0.15)
    assert least <= sum(not task.gold for task in suite(name)) / len(suite(name)) <= 0.35


@pytest.mark.parametrize(("one", "other"), list(combinations(SPLITS, 2)))
def test_two_splits_share_no_request(one: str, other: str) -> None:
    texts = [{" ".join(normalised(task.request)) for task in suite(name)} for name in (one, other)]
    assert not texts[0] & texts[1]


@pytest.mark.parametrize(("one", "other"), list(combinations(SPLITS, 2)))
def test_two_splits_share_no_skill(one: str, other: str) -> None:
    ids = [catalogue(skills_folder(name)).skills.keys() for name in (one, other)]
    assert not ids[0] & ids[1]


@each_suite
def test_no_request_repeats_five_words_of_the_skills_or_their_examples(name: str) -> None:
    assert not find_leaks(requests_of(name), documents_of(name))


MEASURING = sorted({*SUITES} - {*FITTED})


@pytest.mark.parametrize("name", MEASURING)
@pytest.mark.parametrize("fitted", FITTED)
def test_what_measures_repeats_no_request_and_no_document_that_was_fitted_on(name: str, fitted: str) -> None:
    assert not find_leaks(requests_of(name), requests_of(fitted) | documents_of(fitted))


@pytest.mark.parametrize("name", MEASURING)
def test_what_measures_repeats_no_labelled_pair(name: str) -> None:
    assert not find_leaks(requests_of(name), {pair.id: pair.request for pair in pairs()})


@pytest.mark.parametrize("fitted", FITTED)
def test_a_leak_planted_into_a_suite_is_found(fitted: str) -> None:
    leaked = next(task for task in suite(fitted) if len(task.request.split()) > 12)
    words = leaked.request.split()
    planted = "By the way: " + ", ".join(words[-6:]).upper() + "!"
    found = find_leaks(requests_of("heldout") | {"PLANTED": planted}, requests_of(fitted))
    assert [(leak.measured, leak.known) for leak in found] == [("PLANTED", leaked.id)]


def test_the_labelled_pairs_are_many_hard_and_of_known_skills() -> None:
    kinds = Counter(pair.kind for pair in pairs())
    assert len(pairs()) >= 200 and kinds["hard-negative"] >= 80
    assert all(pair.relevant == (pair.kind == "positive") for pair in pairs())
    assert len({pair.id for pair in pairs()}) == len({pair.request for pair in pairs()}) == len(pairs())
    assert {pair.skill for pair in pairs()} <= catalogue(skills_folder("trap")).skills.keys()


def test_the_example_requests_are_eighteen() -> None:
    lines = (DATASETS / "examples.txt").read_text(encoding="utf-8").splitlines()
    assert len({line for line in lines if line and not line.startswith("#")}) == 18


@each_registry
def test_every_skill_file_is_read_without_a_remark(folder: Path) -> None:
    assert not catalogue(folder).problems


@each_registry
def test_no_example_is_given_for_two_skills(folder: Path) -> None:
    texts = [" ".join(normalised(e.text)) for s in catalogue(folder).skills.values() for e in s.examples]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("folder", "skill_id"), SKILLS, ids=[skill_id for _, skill_id in SKILLS])
def test_every_skill_is_whole(folder: Path, skill_id: str) -> None:
    found = catalogue(folder)
    skill, unit = found.skills[skill_id], found.units[skill_id]
    assert unit.source == f"{skill_id}/SKILL.md"
    assert skill.title == skill_id
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill_id)
    assert len(skill_id) <= 64
    assert 80 <= len(skill.description) <= 300
    assert 150 <= len(unit.body.split()) <= 500
    assert len(skill.examples) == 10
    assert {example.origin for example in skill.examples} == {"author"}
    # of the trap registry only some say what they are not for, as in the wild
    assert skill.not_for or folder == skills_folder("trap")


WRITTEN = ("english.jsonl", "multilingual.jsonl")


@cache
def written(name: str) -> tuple[dict[str, str], ...]:
    lines = (DATASETS / "gate" / name).read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_gate_is_fitted_on_has_exactly_its_fields_and_no_text_twice(name: str) -> None:
    rows = written(name)
    assert all(row.keys() == {"text", "label", "language"} for row in rows)
    assert {row["label"] for row in rows} == {"attack", "benign"}
    assert len({row["text"] for row in rows}) == len(rows)


def test_twenty_languages_and_more_have_ten_attacks_and_ten_ordinary_requests() -> None:
    counts = Counter((row["language"], row["label"]) for row in written("multilingual.jsonl"))
    languages = {language for language, _ in counts}
    assert len(languages) >= 20
    assert min(counts[language, label] for language in languages for label in ("attack", "benign")) >= 10


def test_nothing_that_the_gate_is_fitted_on_is_in_a_set_that_measures() -> None:
    fitted = {" ".join(normalised(row["text"])) for name in WRITTEN for row in written(name)}
    measured = [task.request for name in ("heldout", "accuracy") for task in suite(name)]
    redteam = (DATASETS / "redteam" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    measured += [json.loads(line)["text"] for line in redteam[1::2]]
    assert not fitted & {" ".join(normalised(text)) for text in measured}
