"""Opening the engines: a calibration that does not fit is refused, or its absence is said in every trace."""

import json

import pytest

from pickysteve.calibration.fitted import EMBEDDED
from pickysteve.errors import CalibrationMismatch
from pickysteve.flows.dag import pick_context
from pickysteve.flows.engines import open_engines
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request

REQUEST = Request(text="review my Rust endpoint for security and REST design")


@pytest.fixture
def foreign(tmp_path, small_settings, engines):
    """Settings that name a calibration made for another model; the index is there already."""
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(json.loads(EMBEDDED.read_text()) | {"encoder": "another-model"}))
    return small_settings.model_copy(update={"calibration": path})


def test_a_calibration_of_another_model_is_refused_with_both_ways_out(foreign):
    with pytest.raises(
        CalibrationMismatch, match=r'another-model.*"pickysteve calibrate".*--allow-uncalibrated'
    ):
        open_engines(foreign)


def test_a_file_that_is_not_there_is_no_reason_to_use_ours(small_settings, tmp_path):
    with pytest.raises(CalibrationMismatch, match="cannot be read"):
        open_engines(small_settings.model_copy(update={"calibration": tmp_path / "none.json"}))


def test_whoever_allows_it_runs_uncalibrated_and_is_told(foreign):
    allowed = foreign.model_copy(update={"allow_uncalibrated": True})
    trace = pick_context(REQUEST, open_engines(allowed), allowed, Direct())
    (fallback,) = trace.degraded
    assert fallback.stage == "rerank"
    assert "uncalibrated" in fallback.reason and "another-model" in fallback.reason
    assert trace.pick.status == "ok" and trace.pick.low_confidence
    assert trace.pick.confidence is None
    assert trace.fingerprints["reranker"].startswith("fusion:")


def test_where_the_calibration_fits_the_allowance_changes_nothing(small_settings, engines):
    opened = open_engines(small_settings.model_copy(update={"allow_uncalibrated": True}))
    assert opened.reranker.fingerprint == engines.reranker.fingerprint
    assert opened.reranker.degraded == ""


def test_a_risk_that_cannot_be_promised_is_said_before_any_request(tmp_path, small_settings):
    path = tmp_path / "few.json"
    few = json.loads(EMBEDDED.read_text()) | {"risk_floors": {"0.05": None}}
    path.write_text(json.dumps(few))
    strict = small_settings.floor.model_copy(update={"mode": "risk-controlled"})
    asked = small_settings.model_copy(
        update={"calibration": path, "floor": strict, "allow_uncalibrated": True}
    )
    with pytest.raises(CalibrationMismatch, match="too few rows"):
        open_engines(asked)
