"""The gate beside the raw scanner: detection and false positives per corpus.

    python benchmarks/gate.py [--shared DIR] [--half test|fit] [--surface request|document|all]
                              [--corpus NAME ...] [--at-most N] [--curve] [--json] [--latency]

Only the half that nothing was fitted on is measured, unless asked otherwise; intervals are Wilson 95 %.
The raw scanner is its own entry point, `defend_tool_result`, with its own thresholds. Windows that
several texts share are run once. --curve adds the detection of requests at fixed shares of false
positives, from the same scores; --latency measures milliseconds by length instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from gate_latency import latency, print_latency, raw_scanner
from numpy.typing import NDArray

from pickysteve.calibration.measures import wilson_interval
from pickysteve.flows.gate_corpora import (
    Sample,
    outside_corpora,
    own_requests,
    real_documents,
    redteam_requests,
    repository_root,
    shared_data,
)
from pickysteve.registry.models import Verdict
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate import GateConfig, judge_document, judge_request
from pickysteve.tasks.gate_fingerprint import gate_fingerprint

RATES = (0.005, 0.01, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class Judged:
    """One text, and whether either blocks it."""

    sample: Sample
    raw: bool
    blocked: bool
    review: bool
    score: float
    """What a threshold would be compared with: 1 for a block by a rule, 0 for one that was excused."""


def main() -> None:
    options = _arguments()
    guard, config = Guard(), GateConfig()
    if options.latency:
        rows = latency(guard, config)
        print(json.dumps(rows, indent=1)) if options.json else print_latency(rows)
        return
    started = time.monotonic()
    judged = _judged(guard, config, _measured(options))
    corpora = [_figures(rows) for rows in _by_corpus(judged)]
    curve = _curve(judged) if options.curve else None
    if options.json:
        about = {"gate": gate_fingerprint(guard, config), "half": options.half, "texts": _digest(judged)}
        print(json.dumps(about | {"corpora": corpora, "curve": curve}, indent=1))
    else:
        _print_table(corpora)
        if curve is not None:
            _print_curve(curve)
    print(f"{len(judged)} texts in {time.monotonic() - started:.0f} s", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--half", choices=("test", "fit"), default="test")
    parser.add_argument("--surface", choices=("request", "document", "all"), default="all")
    parser.add_argument("--corpus", nargs="+", default=[], help="only these")
    parser.add_argument("--at-most", type=int, default=10_000, help="texts of one corpus and label")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--latency", action="store_true")
    return parser.parse_args()


def _measured(options: argparse.Namespace) -> list[Sample]:
    """The texts of the half, at most N of a corpus and label, chosen by their digest."""
    folder, root, fitting = shared_data(options.shared), repository_root(), options.half == "fit"
    samples = [
        *(s for s in (*outside_corpora(folder), *real_documents(folder)) if s.fitting == fitting),
        *redteam_requests(root, fitting=fitting),
        *(own_requests(root, "fit") if fitting else own_requests(root, "heldout", "accuracy")),
    ]
    wanted = [
        s
        for s in samples
        if options.surface in (s.surface, "all") and (not options.corpus or s.corpus in options.corpus)
    ]
    kept: dict[tuple[str, str, bool], list[Sample]] = {}
    for sample in sorted(wanted, key=lambda s: sha256(s.text.encode("utf-8", "replace")).digest()):
        kept.setdefault((sample.corpus, sample.surface, sample.attack), []).append(sample)
    return [sample for key in sorted(kept) for sample in kept[key][: options.at_most]]


def _judged(guard: Guard, config: GateConfig, samples: Sequence[Sample]) -> list[Judged]:
    raw_blocks, judged = raw_scanner(), []
    for done, sample in enumerate(samples, start=1):
        judge = judge_request if sample.surface == "request" else judge_document
        verdict = judge(sample.text, guard, config)
        judged.append(
            Judged(
                sample,
                raw=raw_blocks(sample.text),
                blocked=not verdict.allowed,
                review=verdict.allowed and verdict.risk == "review",
                score=_threshold_score(verdict, guard.heads.request.block),
            )
        )
        if not done % 50:
            print(f"{done} of {len(samples)}: {sample.corpus}", file=sys.stderr, flush=True)
    return judged


def _threshold_score(verdict: Verdict, block: float) -> float:
    by_rule = any(found.severity == "block" and found.rule != "score" for found in verdict.findings)
    excused = verdict.allowed and verdict.score >= block
    return 1.0 if by_rule else 0.0 if excused else verdict.score


def _by_corpus(judged: Sequence[Judged]) -> Iterator[list[Judged]]:
    keys = [(j.sample.corpus, j.sample.surface, j.sample.attack) for j in judged]
    for key in dict.fromkeys(keys):
        yield [j for j, other in zip(judged, keys, strict=True) if other == key]


def _figures(rows: Sequence[Judged]) -> dict[str, object]:
    sample, n = rows[0].sample, len(rows)
    raw, blocked = sum(row.raw for row in rows), sum(row.blocked for row in rows)
    return {
        "corpus": sample.corpus,
        "surface": sample.surface,
        "label": "attack" if sample.attack else "benign",
        "n": n,
        "raw": {"blocked": raw, "interval": wilson_interval(raw, n)},
        "gate": {"blocked": blocked, "interval": wilson_interval(blocked, n)},
        "review": sum(row.review for row in rows),
    }


def _curve(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """Detection of each corpus of requests where the given share of all ordinary requests is blocked."""
    requests = [j for j in judged if j.sample.surface == "request"]
    ordinary = np.array([j.score for j in requests if not j.sample.attack])
    attacks = {rows[0].sample.corpus: rows for rows in _by_corpus([j for j in requests if j.sample.attack])}
    return [_point(rate, ordinary, attacks) for rate in RATES]


def _point(
    rate: float, ordinary: NDArray[np.float64], attacks: Mapping[str, Sequence[Judged]]
) -> dict[str, object]:
    threshold = float(np.quantile(ordinary, 1 - rate, method="higher"))
    return {
        "rate": rate,
        "threshold": round(threshold, 4),
        "false_positives": [int((ordinary > threshold).sum()), len(ordinary)],
        "detected": {
            corpus: [sum(row.score > threshold for row in rows), len(rows)]
            for corpus, rows in attacks.items()
        },
    }


def _print_table(corpora: Sequence[Mapping[str, Any]]) -> None:
    print(f"{'corpus':22} {'surface':9} {'label':7} {'raw scanner':>27} {'gate':>27}  review")
    for row in corpora:
        raw, gate = (_share(row[which], row["n"]) for which in ("raw", "gate"))
        kind = f"{row['corpus']:22} {row['surface']:9} {row['label']:7}"
        print(f"{kind} {raw:>27} {gate:>27}  {row['review']}")


def _share(figure: Mapping[str, Any], n: int) -> str:
    low, high = figure["interval"]
    return f"{figure['blocked']}/{n} {figure['blocked'] / n:.3f} [{low:.3f}, {high:.3f}]"


def _print_curve(curve: Sequence[Mapping[str, Any]]) -> None:
    print("\nRequests: detection at a fixed share of false positives among all ordinary requests")
    for point in curve:
        found, of = point["false_positives"]
        shares = (f"{corpus} {hits}/{n}" for corpus, (hits, n) in point["detected"].items())
        print(f"{point['rate']:.1%} ({found}/{of}, score over {point['threshold']:.3f}): {', '.join(shares)}")


def _digest(judged: Sequence[Judged]) -> str:
    texts = sorted(j.sample.text for j in judged)
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


if __name__ == "__main__":
    main()
