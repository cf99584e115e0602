import os

import pytest


@pytest.fixture
def variables(engines, small_settings, tmp_path, monkeypatch):
    """The small registry for processes that the test starts, with a place of their own to listen."""
    values = {
        "PS_REGISTRY": str(small_settings.registry),
        "PS_INDEX_DIR": str(small_settings.index_dir),
        "PS_RUNS_DIR": str(tmp_path / "runs"),
        "XDG_RUNTIME_DIR": str(tmp_path),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return {**os.environ}
