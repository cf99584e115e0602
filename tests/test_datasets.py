"""The data: suites that parse and name real skills, splits that share nothing, skills that are whole."""

import json
import re
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from pickysteve.flows.suite import Task, read_suite
from pickysteve.registry.catalogue import Catalogue, build_catalogue
from pickysteve.registry.discover import discover

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ROOT / "datasets"
OWN_SKILLS = ROOT / "registry" / "skills"
SUITES = sorted(path.parent.name for path in DATASETS.glob("*/suite.jsonl"))
SPLITS = ("accuracy", "calibrate", "fit", "heldout")
CATEGORIES = {"direct", "oblique", "mirror", "terse", "compound", "single-and", "near-miss", "off-domain"}
FIELDS = {"id", "request", "gold", "accept", "traps", "category"}
GOLD_COUNT = {"compound": 2, "near-miss": 0, "off-domain": 0}
RUN = 5


@cache
def suite(name: str) -> tuple[Task, ...]:
    return read_suite(DATASETS / name / "suite.jsonl")


def skills_folder(name: str) -> Path:
    """A suite's own skills; the suites without any are about those that we ship."""
    own = DATASETS / name / "skills"
    return own if own.is_dir() else OWN_SKILLS


@cache
def catalogue(folder: Path) -> Catalogue:
    return build_catalogue(discover(folder))


REGISTRIES = sorted({OWN_SKILLS, *(skills_folder(name) for name in SUITES)})
SKILLS = [(folder, skill_id) for folder in REGISTRIES for skill_id in catalogue(folder).skills]
each_suite = pytest.mark.parametrize("name", SUITES)
each_registry = pytest.mark.parametrize("folder", REGISTRIES, ids=lambda path: str(path.relative_to(ROOT)))


def normalised(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())


def runs(text: str) -> set[tuple[str, ...]]:
    """Every five words in a row, without case and punctuation."""
    words = normalised(text)
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


def test_the_suites_that_we_promise_are_there() -> None:
    assert set(SPLITS) <= set(SUITES)


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
    lines = (DATASETS / name / "suite.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(set(json.loads(line)) == FIELDS for line in lines)
    assert len(suite(name)) == len(lines) >= 80


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
    assert 0.15 <= sum(not task.gold for task in suite(name)) / len(suite(name)) <= 0.35


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
    found = catalogue(skills_folder(name))
    texts = [unit.text for unit in found.units.values()]
    for skill in found.skills.values():
        texts += [skill.not_for, *(example.text for example in skill.examples)]
    written = set().union(*map(runs, texts))
    repeated = {task.id: runs(task.request) & written for task in suite(name)}
    assert not {task_id: shared for task_id, shared in repeated.items() if shared}


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
    assert skill.not_for


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
