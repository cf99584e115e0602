from __future__ import annotations

from pickysteve.tasks.execute import ExecuteConfig, execute
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Bundle, Execution, Pick


def test_without_an_executor_nothing_is_executed() -> None:
    pick = Pick(status="ok", skills=("a",))
    output = Direct()(execute, pick, Bundle(nonce="n", text="do it"), config=ExecuteConfig())
    assert output == Execution(state="off", answer="")


def test_an_execution_is_never_cached() -> None:
    assert not execute.cached
