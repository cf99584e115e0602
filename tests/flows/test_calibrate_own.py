"""A calibration of one's own: what it needs, where it goes, and that a request uses it."""

import json
from pathlib import Path

import pytest

from pickysteve.calibration.fitted import EMBEDDED, read_fitted, write_fitted
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.calibrate_own import calibrate_own, own_calibration_file, read_own_suite
from pickysteve.flows.dag import pick_context
from pickysteve.flows.engines import open_engines
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request

UNANSWERED = (
    "write a haiku about {}",
    "who won the cup in {}",
    "plan a party for {}",
    "tell a joke about {}",
)


def write_suite(path: Path, index, answered: int, unanswered: int) -> Path:
    """The registry's examples with a word more as rows: not honest, and enough for the mechanics."""
    texts = [(f"please: {e.text}", [s.skill_id]) for s in index.skills.values() for e in s.examples]
    rows = texts[:answered]
    rows += [(UNANSWERED[n % 4].format(f"number {n}"), []) for n in range(unanswered)]
    lines = [json.dumps({"id": str(n), "request": text, "gold": gold}) for n, (text, gold) in enumerate(rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shipped(encoder):
    return read_fitted(EMBEDDED, encoder=encoder.fingerprint, scoring=SCORING_VERSION)


@pytest.fixture(scope="module")
def own(tmp_path_factory, small_index, encoder, shipped):
    suite = write_suite(tmp_path_factory.mktemp("own") / "suite.jsonl", small_index, 60, 20)
    return calibrate_own(small_index.data, suite, encoder, shipped)


def test_thresholds_are_ones_own_and_weights_stay_ours(own, shipped):
    assert (own.with_examples, own.without_examples, own.request, own.second) == (
        shipped.with_examples,
        shipped.without_examples,
        shipped.request,
        shipped.second,
    )
    assert own.report["requests"] == 80
    assert own.floor != shipped.floor
    assert own.calibrate_sha256 != shipped.calibrate_sha256


def test_no_registry_is_part_of_the_fingerprint(own, small_index):
    text = own.model_dump_json()
    assert small_index.data.root not in text and small_index.fingerprint not in text


def test_a_request_uses_the_calibration_that_the_setting_names(own, small_settings, tmp_path):
    path = tmp_path / "own.json"
    write_fitted(own.model_copy(update={"floor": 0.9999}), path)
    engines = open_engines(small_settings.model_copy(update={"calibration": path}))
    trace = pick_context(Request(text="is my rust idiomatic"), engines, small_settings, Direct())
    assert "the best score is under the floor of 1.00" in trace.pick.reasons
    assert trace.degraded == ()


@pytest.mark.parametrize(("answered", "unanswered"), [(39, 10), (40, 9)])
def test_too_few_rows_are_refused_with_how_many_are_needed(small_index, tmp_path, answered, unanswered):
    suite = write_suite(tmp_path / "suite.jsonl", small_index, answered, unanswered)
    with pytest.raises(SuiteInvalid, match=rf"{answered} requests.*{unanswered} without.*at least 40 and 10"):
        read_own_suite(suite, small_index.data, weights=False)


def test_weights_need_more_rows_than_thresholds(small_index, tmp_path):
    suite = write_suite(tmp_path / "suite.jsonl", small_index, 60, 20)
    assert len(read_own_suite(suite, small_index.data, weights=False)) == 80
    with pytest.raises(SuiteInvalid, match="at least 400 rows"):
        read_own_suite(suite, small_index.data, weights=True)


def test_weights_of_ones_own_come_from_one_half_and_thresholds_from_the_other(
    small_index, tmp_path, encoder, shipped, monkeypatch
):
    suite = write_suite(tmp_path / "suite.jsonl", small_index, 75, 25)
    monkeypatch.setattr("pickysteve.flows.calibrate_own.LEAST_FOR_WEIGHTS", 100)
    fitted = calibrate_own(small_index.data, suite, encoder, shipped, weights=True)
    assert fitted.with_examples != shipped.with_examples
    assert fitted.report["requests"] == 37 + 12
    assert fitted.report["no_match_auroc"] > 0.9
    assert (fitted.encoder, fitted.scoring) == (shipped.encoder, shipped.scoring)


def test_requests_that_are_examples_of_the_registry_are_refused(small_index, tmp_path):
    suite = write_suite(tmp_path / "suite.jsonl", small_index, 60, 20)
    suite.write_text(suite.read_text().replace("please: ", "  "))
    with pytest.raises(SuiteInvalid, match=r"60 requests.*examples of the registry.*the first is 0"):
        read_own_suite(suite, small_index.data, weights=False)


def test_a_suite_of_another_registry_is_refused(small_index, tmp_path):
    path = tmp_path / "suite.jsonl"
    path.write_text(json.dumps({"request": "fly a kite", "gold": ["kites"]}), encoding="utf-8")
    with pytest.raises(SuiteInvalid, match="has no kites"):
        read_own_suite(path, small_index.data, weights=False)


def test_the_file_is_found_by_the_registrys_name(own_home):
    path = own_calibration_file(Path("somewhere/skills"))
    assert path.name == "skills.json" and own_home in path.parents
