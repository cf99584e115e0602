import json
from dataclasses import replace
from hashlib import sha256

import pytest

from pickysteve.calibration.fitted import EMBEDDED, read_fitted
from pickysteve.errors import CalibrationMismatch
from pickysteve.flows.calibrate import calibrate
from pickysteve.flows.pairs import LabelledPair, Pairs
from pickysteve.flows.scenes import Split, split_digest
from pickysteve.flows.suite import Task
from pickysteve.tasks.engines.features import EXAMPLE_FEATURES, SCORING_VERSION, TEXT_FEATURES

SUITE = [
    ("the borrow checker rejects my loop", "rust-build-errors"),
    ("cargo build says trait bound not satisfied", "rust-build-errors"),
    ("review this unsafe block", "rust-review"),
    ("is my rust idiomatic", "rust-review"),
    ("query takes ten seconds on postgres", "postgres-tuning"),
    ("which index for this where clause", "postgres-tuning"),
    ("rename a column without downtime", "database-migrations"),
    ("make this copy sound like us", "brand-voice"),
    ("status codes for our endpoints", "rest-api-design"),
    ("which poem rhymes with orange", None),
    ("who won the cup in 1998", None),
    ("plan a birthday party", None),
]


def tasks(names):
    rows = [(q, g) for q, g in SUITE if g is None or g in names]
    return tuple(Task(id=str(i), request=q, gold=(g,) if g else ()) for i, (q, g) in enumerate(rows))


def part(index, names):
    data = index.data
    units = {u.unit_id: u for u in data.units.values() if u.skill_id in names}
    rows = [r for r, v in enumerate(data.vectors) if v.owner in units or v.owner in names]
    kept = replace(
        data,
        skills={name: data.skills[name] for name in names},
        units=units,
        vectors=tuple(data.vectors[row] for row in rows),
        matrix=data.matrix[rows],
    )
    return Split(kept, tasks(names), "0" * 64)


@pytest.fixture(scope="module")
def splits(small_index):
    return (
        part(small_index, ("rust-build-errors", "rust-review", "rest-api-design")),
        part(small_index, ("postgres-tuning", "database-migrations", "brand-voice")),
    )


def test_a_fit_puts_the_right_skill_before_nothing_and_is_the_same_twice(splits, encoder):
    first = calibrate(*splits, encoder)
    assert calibrate(*splits, encoder) == first
    assert first.report["top1"] > 0.8 and first.report["no_match_auroc"] > 0.8
    assert set(first.with_examples.features) == {*TEXT_FEATURES, *EXAMPLE_FEATURES}
    assert set(first.without_examples.features) == {*TEXT_FEATURES}


def test_labelled_pairs_give_the_floor_of_youden_and_move_nothing_else(splits, small_index, encoder):
    rows = [
        LabelledPair(
            id=f"{skill}-{number}",
            request=f"please: {example.text}",
            skill=skill if number % 2 else "rag-architecture",
            relevant=bool(number % 2) or skill == "rag-architecture",
            kind="positive" if number % 2 or skill == "rag-architecture" else "hard-negative",
        )
        for skill in ("security-review", "rag-architecture")
        for number, example in enumerate(small_index.skills[skill].examples)
    ]
    others = part(small_index, ("security-review", "rag-architecture")).index
    without = calibrate(*splits, encoder)
    fitted = calibrate(*splits, encoder, pairs=Pairs(others, tuple(rows), "1" * 64))
    assert fitted.pairs_sha256 == "1" * 64 and without.pairs_sha256 == ""
    kept = without.model_dump(exclude={"youden_floor", "pairs_sha256", "report"})
    assert fitted.model_dump(exclude={"youden_floor", "pairs_sha256", "report"}) == kept
    assert fitted.report["pairs"] == 20 and fitted.report["pairs_positive_over_youden"].endswith("/15")
    assert fitted.report["top1"] == without.report["top1"]


def test_pairs_of_a_split_are_refused(splits, encoder):
    with pytest.raises(ValueError, match="share skills"):
        calibrate(*splits, encoder, pairs=Pairs(splits[1].index, (), ""))


def test_splits_that_share_a_skill_are_refused(splits, encoder):
    with pytest.raises(ValueError, match="share skills"):
        calibrate(splits[0], splits[0], encoder)


def test_the_fitted_file_in_use_names_the_splits_that_it_was_fitted_on(pytestconfig, encoder):
    fitted = read_fitted(EMBEDDED, encoder=encoder.fingerprint, scoring=SCORING_VERSION)
    datasets = pytestconfig.rootpath / "datasets"
    assert fitted.fit_sha256 == split_digest(datasets / "fit")
    assert fitted.calibrate_sha256 == split_digest(datasets / "calibrate")
    assert fitted.pairs_sha256 == sha256((datasets / "trap" / "pairs.jsonl").read_bytes()).hexdigest()


def test_a_fit_for_another_encoder_or_scoring_is_refused_with_the_command():
    with pytest.raises(CalibrationMismatch, match="pickysteve calibrate"):
        read_fitted(EMBEDDED, encoder="another", scoring=SCORING_VERSION)
    with pytest.raises(CalibrationMismatch, match="pickysteve calibrate"):
        read_fitted(EMBEDDED, encoder=json.loads(EMBEDDED.read_text())["encoder"], scoring="0")


def test_the_digest_of_a_split_changes_with_any_byte(tmp_path):
    (tmp_path / "suite.jsonl").write_text("{}")
    before = split_digest(tmp_path)
    assert before == sha256(b"suite.jsonl\0{}").hexdigest()
    (tmp_path / "suite.jsonl").write_text("{ }")
    assert split_digest(tmp_path) != before
