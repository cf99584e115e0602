"""Where accepted files go: into the checkout, else to the operator; never into an installed copy."""

from pathlib import Path

import pytest

from pickysteve.flows import accepted
from pickysteve.flows.accepted import accepted_file, new_accepted_file
from pickysteve.flows.trifecta_baseline import Baseline, read_baseline, write_baseline

NAME = "baselines/trifecta.json"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed copy, run in a folder that is no checkout, by an operator without accepted files."""
    copy = tmp_path / "site-packages" / "pickysteve" / "calibration"
    (copy / "baselines").mkdir(parents=True)
    (copy / NAME).write_text(Baseline().model_dump_json())
    monkeypatch.setattr(accepted, "_packaged", lambda: copy)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return copy


def checkout(folder: Path) -> Path:
    for part in ("calibration/fitted.py", "datasets/suites.toml"):
        (folder / part).parent.mkdir(parents=True)
        (folder / part).touch()
    return folder


def test_code_in_a_checkout_accepts_there_wherever_it_is_run(tmp_path, monkeypatch) -> None:
    code = checkout(tmp_path / "code") / "calibration"
    monkeypatch.setattr(accepted, "_packaged", lambda: code)
    monkeypatch.chdir(tmp_path)
    assert new_accepted_file(NAME) == tmp_path / "code" / "calibration" / NAME


def test_an_installed_copy_writes_to_the_operator_and_reads_that_first(installed: Path, tmp_path) -> None:
    before = (installed / NAME).read_text()
    assert accepted_file(NAME) == installed / NAME
    place = write_baseline(Baseline())
    assert place == tmp_path / "data" / "pickysteve" / "accepted" / NAME == accepted_file(NAME)
    place.write_text("{")
    with pytest.raises(Exception, match="damaged"):
        read_baseline()
    assert (installed / NAME).read_text() == before


def test_an_installed_copy_that_is_run_in_a_checkout_writes_to_the_checkout(
    installed: Path, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(checkout(tmp_path / "clone"))
    assert accepted_file(NAME) == installed / NAME
    assert write_baseline(Baseline()) == tmp_path / "clone" / "calibration" / NAME == accepted_file(NAME)
