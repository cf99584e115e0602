"""Calibrate the gate: fit its heads on one half of the outside corpora and on our own requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pickysteve.calibration.band import gray_band
from pickysteve.calibration.logistic import GATE, GateHeads, Head, fit_logistic
from pickysteve.flows.gate_corpora import (
    Sample,
    hard_ordinary,
    outside_corpora,
    own_documents,
    own_requests,
    real_documents,
    redteam_requests,
    repository_root,
    shared_data,
    written_requests,
)
from pickysteve.flows.gate_documents import fit_document_head
from pickysteve.tasks.engines.defender import Defender
from pickysteve.tasks.engines.evidence import EVIDENCE_VERSION, FEATURES
from pickysteve.tasks.engines.guard import (
    CLOSER_WINDOWS,
    GRAY,
    read_closer,
    read_evidence,
    request_matrix,
)

__all__ = ["BLOCKED", "MISSED", "calibrate_gate", "out_of_fold_requests", "write_gate"]

SEED = 20261130
RIDGE_FEATURES = 1e-3
RIDGE_STATE = 5e-3
"""Per squared weight of a feature of unit spread."""
LEAST_SPREAD = 0.3
"""A flag that few texts of the corpora carry gets no large weight: their authors favour some words."""
LEAST_STATE_SPREAD = 1e-3
LARGEST_GROUP = 3
"""Disguises of one payload weigh together as much as this many texts."""
ROUNDS = 3
FOLDS = 5
NOT_REQUESTS = {
    "bipia",
    "skillinject-payloads",
    "skillfortify",
    "skillinject",
    "obfuscation-document",
    "skills",
}
BUDGETS = {"ordinary": 0.004, "notinject": 0.035, "foreign": 0.03}
"""Share of ordinary requests that may be blocked. The stricter of the first two sets the threshold; the
third sets what it means for requests that are not in English."""
ORDINARY = {"own-fit", "own-registry", "own-calibrate", "pickysteve-requests"}
UNCOUNTED = {"deepset"}
"""Its ordinary rows are beside its attacks in subject and tone, and in another language half the time."""
SIGNED = ("aux", "aux_foreign", "foreign_script", "foreign_words", "foreign")
"""What may speak against an attack; a finding never does."""

FOREIGN = FEATURES.index("foreign")
MISSED = 0.2
"""Promised with 95 % confidence for the gray band: the share of attacks that pass unasked."""
BLOCKED = 0.005
"""Promised likewise: the share of ordinary requests that are blocked unasked."""

Floats = NDArray[Any]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Row:
    """One request: a row of features a window, and a row a passage that is read again when in doubt."""

    sample: Sample
    windows: Floats
    passages: Floats

    @property
    def group(self) -> str:
        return self.sample.group or self.sample.text

    @property
    def fold(self) -> int:
        return int(sha256(f"fold {self.group}".encode()).hexdigest(), 16) % FOLDS

    def utility(self, weights: Floats, constant: float) -> float:
        """The highest of any window, and of any passage when the windows leave a doubt."""
        highest = float((self.windows @ weights).max() + constant)
        if len(self.passages) and highest >= np.log(GRAY / (1 - GRAY)):
            return max(highest, float((self.passages @ weights).max() + constant))
        return highest

    def is_foreign(self, weights: Floats) -> bool:
        """Whether the window that tells most is in another language than English."""
        return bool(self.windows[int((self.windows @ weights).argmax())][FOREIGN] >= 0.5)


def calibrate_gate(shared: Path | None = None, progress: Progress = lambda _: None) -> GateHeads:
    """Weights from the fitting half; thresholds from its held-out folds and from datasets/calibrate."""
    folder, root, defender = shared_data(shared), repository_root(), Defender()
    outside = [sample for sample in outside_corpora(folder) if sample.fitting]
    documents = [sample for sample in real_documents(folder) if sample.fitting]
    documents += own_documents(root, "registry", "fit")
    ours, held = _own_material(root), own_requests(root, "calibrate")
    progress("reading requests")
    requests = (*(sample for sample in outside if _is_request(sample)), *ours)
    rows = [_row(sample, defender) for sample in requests]
    held_rows = [_row(sample, defender) for sample in held]
    progress("fitting the request head")
    request, folds = _fit_requests(rows, held_rows)
    document = fit_document_head([*outside, *documents], defender, progress)
    used = sorted(f"{s.attack} {s.text}" for s in (*outside, *documents, *ours, *held))
    return GateHeads(
        scanner=defender.fingerprint,
        evidence=EVIDENCE_VERSION,
        seed=SEED,
        fit_sha256=sha256("\0".join(used).encode("utf-8", "surrogatepass")).hexdigest(),
        request=request,
        gray=_gray(rows, folds, request.block),
        document=document,
        report={
            "requests": len(rows),
            "attacks_among_requests": sum(row.sample.attack for row in rows),
            "held_ordinary_requests": len(held),
            "documents": len(documents),
        },
    )


def out_of_fold_requests(shared: Path | None = None) -> tuple[Floats, Floats]:
    """Scores of the requests of the fitting half, each by a head fitted without its fold; which are attacks.

    Both are (n,): floats in [0, 1] and booleans.
    """
    root, defender = repository_root(), Defender()
    outside = [s for s in outside_corpora(shared_data(shared)) if s.fitting and _is_request(s)]
    rows = [_row(sample, defender) for sample in (*outside, *_own_material(root))]
    held = [_row(sample, defender) for sample in own_requests(root, "calibrate")]
    _, folds = _fit_requests(rows, held)
    return _scores(rows, folds), np.array([row.sample.attack for row in rows])


def _own_material(root: Path) -> tuple[Sample, ...]:
    """What we wrote to fit requests on."""
    return (
        *own_requests(root, "registry", "fit"),
        *hard_ordinary(root),
        *written_requests(root),
        *redteam_requests(root),
    )


def write_gate(heads: GateHeads, path: Path = GATE) -> None:
    """Write the fitted file, all or nothing."""
    draft = path.with_suffix(".draft")
    draft.write_text(heads.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def _is_request(sample: Sample) -> bool:
    documents_too = sample.corpus == "agentdojo"
    return sample.corpus not in NOT_REQUESTS and (sample.surface == "request" or documents_too)


def _row(sample: Sample, defender: Defender) -> _Row:
    _, windows = read_evidence(sample.text, defender)
    passages = read_closer(windows[:CLOSER_WINDOWS], defender)
    return _Row(sample, request_matrix(windows), request_matrix(passages))


def _fit_requests(rows: Sequence[_Row], held: Sequence[_Row]) -> tuple[Head, list[tuple[Floats, float]]]:
    """The head, and for each fold the weights and constant of the head that was fitted without it."""
    weights, constant = _fit(rows)
    folds = [_fit([row for row in rows if row.fold != fold]) for fold in range(FOLDS)]
    judged = [(row, *folds[row.fold]) for row in rows if not row.sample.attack]
    judged += [(row, weights, constant) for row in held]
    thresholds = _thresholds(judged)
    threshold = max(thresholds["ordinary"], thresholds["notinject"])
    # One threshold serves all languages: the constant of the others is shifted instead.
    for each in (weights, *(fold for fold, _ in folds)):
        each[FOREIGN] += threshold - thresholds["foreign"]
    return Head(
        features=dict(zip(FEATURES, (round(float(w), 4) for w in weights), strict=False)),
        embedding=tuple(round(float(w), 4) for w in weights[len(FEATURES) :]),
        constant=round(constant, 4),
        block=round(float(1 / (1 + np.exp(-threshold))), 4),
    ), folds


def _gray(rows: Sequence[_Row], folds: Sequence[tuple[Floats, float]], block: float) -> float:
    """The score from which a request is blocked unasked."""
    scores, attacks = _scores(rows, folds), np.array([row.sample.attack for row in rows])
    band = gray_band(scores[~attacks], scores[attacks], missed=MISSED, blocked=BLOCKED)
    return round(min(max(band.high, block), 1.0), 4)


def _scores(rows: Sequence[_Row], folds: Sequence[tuple[Floats, float]]) -> Floats:
    """Of each row, by the head that was fitted without its fold: (n,), in [0, 1]."""
    utilities = np.array([row.utility(*folds[row.fold]) for row in rows])
    return np.asarray(1 / (1 + np.exp(-utilities)))


def _thresholds(judged: Sequence[tuple[_Row, Floats, float]]) -> dict[str, float]:
    """The utility that the budgeted share of each kind of ordinary request exceeds."""
    utilities: dict[str, list[float]] = {name: [] for name in BUDGETS}
    for row, weights, constant in judged:
        corpus = row.sample.corpus
        if row.is_foreign(weights):
            kind = "" if corpus in UNCOUNTED else "foreign"
        else:
            kind = "ordinary" if corpus in ORDINARY else corpus
        if kind in utilities:
            utilities[kind].append(row.utility(weights, constant))
    return {name: float(np.quantile(utilities[name], 1 - share)) for name, share in BUDGETS.items()}


def _fit(rows: Sequence[_Row]) -> tuple[Floats, float]:
    """Fit on the window that tells most of each attack, and on all windows of the rest.

    Which window tells most is found by the head of the round before (multiple-instance learning,
    Andrews et al. 2003).
    """
    telling = np.zeros(rows[0].windows.shape[1])
    telling[[FEATURES.index(name) for name in ("scanner", "scanner_foreign", "lexicon.count")]] = 1, 1, 2
    of_state = np.arange(len(telling)) >= len(FEATURES)
    constant = 0.0
    sizes = Counter(row.group for row in rows)
    shares = {row.group: min(1.0, LARGEST_GROUP / sizes[row.group]) for row in rows}
    attacks = [row for row in rows if row.sample.attack]
    others = [row for row in rows if not row.sample.attack]
    of_attacks = np.array([shares[row.group] for row in attacks])
    of_others = np.concatenate([np.full(len(r.windows), shares[r.group] / len(r.windows)) for r in others])
    of_attacks *= of_others.sum() / of_attacks.sum() / 2
    for _ in range(ROUNDS):
        chosen = [row.windows[[int((row.windows @ telling).argmax())]] for row in attacks]
        features = np.vstack([*chosen, *(row.windows for row in others)])
        telling, constant = fit_logistic(
            features,
            (np.arange(len(features)) < len(attacks)).astype(float),
            np.concatenate([of_attacks, of_others]),
            np.where(of_state, RIDGE_STATE, RIDGE_FEATURES),
            np.where(of_state, LEAST_STATE_SPREAD, LEAST_SPREAD),
            positive=~of_state & ~np.isin(np.arange(len(telling)), [FEATURES.index(name) for name in SIGNED]),
        )
    return telling, constant
