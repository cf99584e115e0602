"""The gate beside the raw scanner: detection and false positives per corpus, and milliseconds per length.

    python benchmarks/gate.py [--shared DIR] [--half test|fit] [--at-most N] [--latency]

Only the half that nothing was fitted on is measured, unless asked otherwise; intervals are Wilson 95 %.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from pickysteve.calibration.measures import wilson_interval
from pickysteve.flows.gate_corpora import (
    Sample,
    outside_corpora,
    own_requests,
    real_documents,
    repository_root,
    shared_data,
)
from pickysteve.registry.models import Verdict
from pickysteve.tasks.engines.defender import BLOCK_THRESHOLD
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, judge_document, judge_request

LENGTHS = (100, 1_000, 10_000, 100_000)
SENTENCE = "The importer stopped at row {n} and the log says nothing about it, where should I look? "


def main() -> None:
    arguments = _arguments()
    guard, config = Guard(), GateConfig()
    guard.defender.scan("load the model")
    if arguments.latency:
        _latency(guard, config)
        return
    samples = [s for s in _samples(arguments.shared) if s.fitting == (arguments.half == "fit") or _ours(s)]
    print(f"{'corpus':22} {'surface':9} {'label':7} {'raw scanner':>26} {'gate':>26}  review")
    groups = sorted({(s.corpus, s.surface, s.attack) for s in samples})
    for corpus, surface, attack in groups:
        rows = [s for s in samples if (s.corpus, s.surface, s.attack) == (corpus, surface, attack)]
        rows = sorted(rows, key=lambda s: sha256(s.text.encode("utf-8", "replace")).digest())[
            : arguments.at_most
        ]
        raw = sum(_raw_blocks(guard, sample) for sample in rows)
        verdicts = [_judge(guard, config, sample) for sample in rows]
        blocked = sum(not verdict.allowed for verdict in verdicts)
        review = sum(verdict.allowed and verdict.risk == "review" for verdict in verdicts)
        label = "attack" if attack else "benign"
        print(
            f"{corpus:22} {surface:9} {label:7} {_share(raw, len(rows)):>26} "
            f"{_share(blocked, len(rows)):>26}  {review}",
            flush=True,
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--half", choices=("test", "fit"), default="test")
    parser.add_argument("--at-most", type=int, default=10_000)
    parser.add_argument("--latency", action="store_true")
    return parser.parse_args()


def _samples(shared: Path | None) -> Iterator[Sample]:
    folder, root = shared_data(shared), repository_root()
    yield from outside_corpora(folder)
    yield from real_documents(folder)
    yield from own_requests(root, "heldout", "accuracy")


def _ours(sample: Sample) -> bool:
    return sample.corpus.startswith("own-")


def _raw_blocks(guard: Guard, sample: Sample) -> bool:
    scan = guard.defender.scan(sample.text)
    return not scan.covered or scan.tier1_high or scan.score >= BLOCK_THRESHOLD


def _judge(guard: Guard, config: GateConfig, sample: Sample) -> Verdict:
    judge = judge_request if sample.surface == "request" else judge_document
    return judge(sample.text, guard, config)


def _share(count: int, n: int) -> str:
    low, high = wilson_interval(count, n)
    return f"{count}/{n} {count / n:.3f} [{low:.2f}, {high:.2f}]"


def _latency(guard: Guard, config: GateConfig) -> None:
    print(f"{'characters':>10} {'raw scanner ms':>15} {'request ms':>11} {'document ms':>12}")
    for length in LENGTHS:
        repeats = max(3, min(20, 20_000 // length))
        texts = [_text(length, number) for number in range(repeats)]
        raw = _median(lambda text: guard.defender.scan(text), texts)
        request = _median(lambda text: judge_request(text, guard, config), texts)
        document = _median(lambda text: judge_document(text, guard, config), texts)
        print(f"{length:10} {raw:15.1f} {request:11.1f} {document:12.1f}", flush=True)


def _text(length: int, number: int) -> str:
    return "".join(SENTENCE.format(n=number * 1_000 + at) for at in range(length // 80 + 1))[:length]


def _median(call: Callable[[str], object], texts: Sequence[str]) -> float:
    times = []
    for text in texts:
        started = time.perf_counter()
        call(text)
        times.append((time.perf_counter() - started) * 1_000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
