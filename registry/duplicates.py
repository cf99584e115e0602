"""Near-duplicates: families of texts that say nearly the same in nearly the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["TextPair", "families", "near_duplicates"]

SHINGLE_WORDS = 3


@dataclass(frozen=True)
class TextPair:
    """Two texts and the share of their shingles that both hold."""

    first: str
    second: str
    jaccard: float


def near_duplicates(texts: Mapping[str, str], threshold: float) -> tuple[TextPair, ...]:
    """Pairs whose sets of three-word shingles overlap by at least `threshold` (Broder 1997, exact)."""
    from sklearn.feature_extraction.text import CountVectorizer

    names = list(texts)
    if not any(len(text.split()) >= SHINGLE_WORDS for text in texts.values()):
        return ()
    # words of one letter count as well
    words = r"(?u)\b\w+\b"
    reader = CountVectorizer(ngram_range=(SHINGLE_WORDS, SHINGLE_WORDS), binary=True, token_pattern=words)
    shingles = reader.fit_transform(texts.values())
    common = (shingles @ shingles.T).tocoo()
    sizes = np.asarray(shingles.sum(axis=1)).ravel()
    union = sizes[common.row] + sizes[common.col] - common.data
    jaccard = common.data / np.maximum(union, 1)
    kept = np.flatnonzero((common.row < common.col) & (jaccard >= threshold))
    pairs = [
        TextPair(names[common.row[at]], names[common.col[at]], round(float(jaccard[at]), 4)) for at in kept
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.jaccard, pair.first, pair.second)))


def families(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Names that are linked by pairs, directly or over others; each family and all of them sorted."""
    groups: dict[str, set[str]] = {}
    for first, second in pairs:
        merged = groups.get(first, {first}) | groups.get(second, {second})
        for name in merged:
            groups[name] = merged
    return tuple(sorted({tuple(sorted(group)) for group in groups.values()}))
