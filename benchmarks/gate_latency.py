"""Milliseconds of the gate beside the raw scanner's, by length, in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pickysteve.flows.gate_corpora import own_requests, repository_root
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, judge_document, judge_request

LENGTHS = (100, 1_000, 10_000, 100_000)
REFUSED = 1_000_000


def raw_scanner() -> Callable[[str], bool]:
    """Whether the scanner by itself blocks a text."""
    from stackone_defender import create_prompt_defense

    defense = create_prompt_defense(block_high_risk=True, require_tier2=True)
    return lambda text: not defense.defend_tool_result(text, "text").allowed


def latency(guard: Guard, config: GateConfig) -> list[dict[str, Any]]:
    """Medians over texts that no one of the three has seen; the raw scanner reads 10,000 characters."""
    raw, rows = raw_scanner(), []
    ways: dict[str, Callable[[str], object]] = {
        "raw": raw,
        "request": lambda text: judge_request(text, guard, config),
        "document": lambda text: judge_document(text, guard, config),
    }
    for call in ways.values():
        call("load the models before the first text is timed")
    for length in LENGTHS:
        repeats = max(3, min(21, 40_000 // length))
        texts = [_text(length, number) for number in range(repeats)]
        rows.append({"characters": length, "texts": repeats, **_medians(ways, texts)})
    rows.append({"characters": REFUSED, "texts": 3, **_medians(ways, [_text(REFUSED, n) for n in range(3)])})
    return rows


def _medians(ways: Mapping[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, float]:
    """In turns, so that all meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for text in texts:
        for name, call in ways.items():
            started = time.perf_counter()
            call(text)
            times[name].append((time.perf_counter() - started) * 1_000)
    return {f"{name}_ms": round(statistics.median(values), 1) for name, values in times.items()}


def _text(length: int, number: int) -> str:
    """Our ordinary requests one after the other, from another one on for each number."""
    requests = [sample.text for sample in own_requests(repository_root(), "calibrate")]
    turned = requests[number * 131 % len(requests) :] + requests
    copies = [f"{number} {text}" for text in turned] if length > 10_000 else turned
    joined = "\n".join(copies)
    return (joined * (length // len(joined) + 1))[:length]


def print_latency(rows: Sequence[Mapping[str, Any]]) -> None:
    """One line a length; what is over the cap of requests is refused unread."""
    print(f"{'characters':>10} {'texts':>6} {'raw ms':>9} {'request ms':>11} {'document ms':>12}")
    for row in rows:
        print(
            f"{row['characters']:10} {row['texts']:6} {row['raw_ms']:9.1f} {row['request_ms']:11.1f} "
            f"{row['document_ms']:12.1f}"
        )
