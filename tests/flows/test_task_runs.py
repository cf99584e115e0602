"""Runners of task runs: what does not fit together is told before anything is started."""

import sys

import pytest

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.task_runs import open_runner


def test_threads_have_no_scheduler():
    with (
        pytest.raises(SettingsInvalid, match="choose dask"),
        open_runner("threads", 1, "tcp://10.0.0.5:8786"),
    ):
        pass


def test_dask_without_its_packages_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "prefect_dask.task_runners", None)
    with pytest.raises(SettingsInvalid, match=r"pickysteve\[dask\]"), open_runner("dask", 1):
        pass
