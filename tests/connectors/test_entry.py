"""The console script: what it sets for the process before anything is loaded."""

import os
import sys

import pytest

from pickysteve.connectors.entry import main


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("4", "4")])
def test_openblas_takes_one_thread_unless_the_user_says_otherwise(monkeypatch, capsys, given, kept) -> None:
    # set first, so that what main leaves behind is undone
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr(sys, "argv", ["pickysteve", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert os.environ["OPENBLAS_NUM_THREADS"] == kept
    assert "trifecta" in capsys.readouterr().out
