from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pickysteve.calibration.logistic import fit_logistic, read_gate_heads
from pickysteve.errors import CalibrationMismatch


def test_the_fit_finds_the_feature_that_tells() -> None:
    generator = np.random.default_rng(1)
    features = generator.normal(size=(400, 3))
    labels = (features[:, 1] + 0.1 * generator.normal(size=400) > 0).astype(float)
    weights, _ = fit_logistic(features, labels, np.ones(400), np.full(3, 1e-3), np.full(3, 1e-3))
    assert abs(weights[1]) > 10 * max(abs(weights[0]), abs(weights[2]))


def test_a_rare_flag_gets_less_weight_with_a_least_spread() -> None:
    features = np.zeros((400, 1))
    features[:4] = 1
    labels = features[:, 0].copy()
    penalties = np.full(1, 1e-2)
    free, _ = fit_logistic(features, labels, np.ones(400), penalties, np.full(1, 1e-3))
    held, _ = fit_logistic(features, labels, np.ones(400), penalties, np.full(1, 0.5))
    assert 0 < held[0] < free[0]


def test_a_constant_feature_keeps_weight_zero() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    weights, _ = fit_logistic(np.ones((4, 1)), labels, np.ones(4), np.full(1, 1e-3), np.full(1, 1e-3))
    assert weights[0] == pytest.approx(0, abs=1e-6)


def test_a_damaged_file_names_the_command_that_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text("{}")
    with pytest.raises(CalibrationMismatch, match="pickysteve gate calibrate"):
        read_gate_heads(path)
