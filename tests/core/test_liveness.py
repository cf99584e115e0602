"""A process that ended, and one that only looks like it."""

import os

import psutil
import pytest

from pickysteve.liveness import has_ended


def test_a_process_that_runs_has_not_ended():
    assert not has_ended(psutil.Process(os.getpid()))


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_a_child_is_buried_once_it_ended(pause, wait_until):
    process = psutil.Popen(["sleep", str(pause)])
    wait_until(lambda: has_ended(process), pause=0.01)
    assert not psutil.pid_exists(process.pid)
    process.wait()
