"""Where ordinary requests are found above the gate's threshold: what the calibrated `gray` of the gate is.

    python benchmarks/gate_band.py [--shared DIR]

Only the fitting half is read. Each request is scored by a head that was fitted without its fold: by the
head that it was fitted on itself, an ordinary request hardly ever scores high.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from pickysteve.calibration.band import gray_band
from pickysteve.flows.calibrate_gate import BLOCKED, MISSED, out_of_fold_requests
from pickysteve.tasks.engines.guard import Guard

TOPS = (0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path)
    threshold = Guard().heads.request.block
    scores, attacks = out_of_fold_requests(parser.parse_args().shared)
    over = scores >= threshold
    print(f"ordinary {np.sum(~attacks)}, over the threshold of {threshold}: {np.sum(over & ~attacks)}")
    print(f"attacks  {np.sum(attacks)}, over the threshold of {threshold}: {np.sum(over & attacks)}")
    for top in TOPS:
        band = over & (scores < top)
        print(f"below {top:5}: ordinary {np.sum(band & ~attacks):3}, attacks {np.sum(band & attacks):3}")
    gray = gray_band(scores[~attacks], scores[attacks], missed=MISSED, blocked=BLOCKED)
    ordinary, attacking = gray.share(scores[~attacks]), gray.share(scores[attacks])
    print(
        f"unasked, at most {MISSED:.0%} of attacks pass and {BLOCKED:.1%} of ordinary requests are blocked:"
    )
    asked = f"{ordinary:.1%} of ordinary requests and {attacking:.1%} of attacks"
    print(f"  from {gray.low:.3f} to {gray.high:.3f}: a second judge is asked about {asked}")


if __name__ == "__main__":
    main()
