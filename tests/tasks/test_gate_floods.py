"""Floods: no text is read for long. The floods are those of benchmarks/gate_floods.py."""

from __future__ import annotations

import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from pickysteve.tasks.engines.defender import Passage
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, judge_document, judge_request

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "gate_floods.py"
CPU_SECONDS = 1.0
TRIES = 3
CONFIG = GateConfig()


def _floods() -> ModuleType:
    spec = spec_from_file_location("gate_floods", BENCHMARK)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FLOODS = _floods().FLOODS


@pytest.fixture(scope="module")
def own_code() -> Guard:
    """A guard whose scanner answers at once, so that only the gate's own code takes time."""
    guard = Guard()
    guard.defender._tiers.judge = lambda window: Passage(window, 0.0)
    judge_document("warm up\n" * 9, guard, CONFIG)
    judge_request("warm up\n" * 9, guard, CONFIG)
    return guard


@pytest.mark.parametrize("flood", FLOODS)
def test_the_longest_text_of_any_kind_takes_less_than_a_second(own_code: Guard, flood: str) -> None:
    request = FLOODS[flood](CONFIG.max_request_characters)
    document = FLOODS[flood](CONFIG.max_document_characters)
    for judge, text in ((judge_request, request), (judge_document, document)):
        # CPU time still depends on what else the machine does: the best of a few counts
        assert any(_seconds(judge, text, own_code) < CPU_SECONDS for _ in range(TRIES))


@pytest.mark.parametrize("judge", [judge_request, judge_document])
def test_a_megabyte_is_refused_unread(own_code: Guard, judge: object) -> None:
    verdict = judge("a b " * 250_000, own_code, CONFIG)  # type: ignore[operator]
    assert [finding.rule for finding in verdict.findings] == ["not-covered"]


def _seconds(judge: object, text: str, guard: Guard) -> float:
    start = time.process_time()
    judge(text, guard, CONFIG)  # type: ignore[operator]
    return time.process_time() - start
