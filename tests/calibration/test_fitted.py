"""The fitted file: the one we ship belongs to our models and data, and another is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from pickysteve.calibration.fitted import EMBEDDED, Fitted, read_fitted, uncalibrated, write_fitted
from pickysteve.errors import CalibrationMismatch
from pickysteve.tasks.engines.features import EXAMPLE_FEATURES, SCORING_VERSION, TEXT_FEATURES

DATASETS = Path(__file__).resolve().parents[2] / "datasets"
SHIPPED: dict[str, Any] = json.loads(EMBEDDED.read_text(encoding="utf-8"))


def read_changed(folder: Path, **changes: object) -> Fitted:
    """Read a fitted file like ours but for these fields."""
    path = folder / "fitted.json"
    path.write_text(json.dumps(SHIPPED | changes), encoding="utf-8")
    return read_fitted(path, encoder=SHIPPED["encoder"], scoring=SHIPPED["scoring"])


def test_the_shipped_file_is_for_the_shipped_encoder_and_scoring(encoder) -> None:
    assert read_fitted(EMBEDDED, encoder=encoder.fingerprint, scoring=SCORING_VERSION).floor > 0


def test_the_shipped_weights_name_the_features_that_are_computed() -> None:
    fitted = Fitted.model_validate(SHIPPED)
    assert list(fitted.without_examples.features) == list(TEXT_FEATURES)
    assert list(fitted.with_examples.features) == list(TEXT_FEATURES + EXAMPLE_FEATURES)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    fitted = Fitted.model_validate(SHIPPED)
    path = tmp_path / "new" / "fitted.json"
    write_fitted(fitted, path)
    assert [entry.name for entry in path.parent.iterdir()] == ["fitted.json"]
    assert read_fitted(path, encoder=fitted.encoder, scoring=fitted.scoring) == fitted


@pytest.mark.parametrize("field", ["encoder", "scoring"])
def test_a_file_for_another_model_or_scoring_is_refused_by_name(tmp_path: Path, field: str) -> None:
    with pytest.raises(CalibrationMismatch, match=r'another-one.*run "pickysteve calibrate"'):
        read_changed(tmp_path, **{field: "another-one"})


@pytest.mark.parametrize(
    "changes",
    [
        {"floor": 1.5},
        {"floor": -0.1},
        {"risk_floors": {"0.05": "high"}},
        {"probability": {"slope": -1.0, "constant": 0.0}},
        {"floor": "NaN"},
        {"set_share": 2},
        {"sure_score": None},
        {"extra": 1},
        {"second": {"features": {}}},
        {"second": {"features": {"lead": float("nan")}, "constant": 0}},
        {"second": {"features": {}, "constant": float("inf")}},
    ],
)
def test_a_file_with_a_value_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(CalibrationMismatch, match=r'cannot be read: run "pickysteve calibrate"'):
        read_changed(tmp_path, **changes)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fitted.json"
    path.write_bytes(content)
    with pytest.raises(CalibrationMismatch, match="cannot be read"):
        read_fitted(path, encoder="e", scoring="1")


def test_a_missing_file_is_refused_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(CalibrationMismatch, match="pickysteve calibrate"):
        read_fitted(tmp_path / "nowhere.json", encoder="e", scoring="1")


def test_each_mode_has_its_floor() -> None:
    fitted = Fitted.model_validate(
        SHIPPED | {"floor": 0.3, "youden_floor": 0.4, "risk_floors": {"0.05": None, "0.1": 0.9, "0.2": 0.8}}
    )
    assert fitted.floor_for("net-benefit", "0.05") == 0.3
    assert fitted.floor_for("youden", "0.05") == 0.4
    assert fitted.floor_for("risk-controlled", "0.1") == 0.9
    with pytest.raises(
        CalibrationMismatch, match=r"at most 5% wrong picks: set floor.risk to 0.1 or 0.2, set"
    ):
        fitted.floor_for("risk-controlled", "0.05")


def test_a_calibration_that_promises_nothing_names_no_other_risk() -> None:
    with pytest.raises(CalibrationMismatch, match=r"wrong picks: set floor\.mode to net-benefit"):
        uncalibrated(encoder="e", scoring="1").floor_for("risk-controlled", "0.2")


def test_without_a_calibration_everything_is_picked_and_nothing_is_sure() -> None:
    fitted = uncalibrated(encoder="e", scoring="1")
    assert (fitted.floor, fitted.sure_score, fitted.set_share, fitted.probability) == (0.0, 1.0, 0.0, None)
    assert fitted.second.constant < 0


def test_the_file_stays_small_enough_to_read() -> None:
    assert len(EMBEDDED.read_text(encoding="utf-8").splitlines()) < 120
