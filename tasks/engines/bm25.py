"""BM25 over stemmed words, on rank-bm25, built from stored postings instead of texts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from threading import local
from typing import Any

import numpy as np
import snowballstemmer
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

__all__ = ["Bm25", "count_terms", "plain_terms", "stemmed_terms"]

WORD = re.compile(r"[^\W_]+")
# camelCase and letter-digit joints part, so that OOMKilled meets oom and killed
JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class _Stemmer(local):
    """One stemmer a thread: it keeps the word that it works on in itself."""

    def __init__(self) -> None:
        self.english = snowballstemmer.stemmer("english")


_stemmer = _Stemmer()


def plain_terms(text: str) -> list[str]:
    """Lower-case words, as a BM25 baseline reads them."""
    return WORD.findall(text.lower())


def stemmed_terms(text: str) -> list[str]:
    """Lower-case words by their Snowball stem; camelCase is split."""
    return [_stem(word) for word in plain_terms(JOINT.sub(" ", text))]


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(_stemmer.english.stemWord(word))


def count_terms(text: str) -> Counter[str]:
    """The postings of one document."""
    return Counter(stemmed_terms(text))


class Bm25(BM25Okapi):  # type: ignore[misc]
    """Okapi BM25 (Robertson et al. 1994) with Lucene's idf, which stays positive in small registries."""

    def __init__(self, postings: Sequence[Mapping[str, int]], k1: float = 1.5, b: float = 0.75) -> None:
        super().__init__(postings or [{}], k1=k1, b=b)

    def _initialize(self, corpus: Iterable[Mapping[str, int]]) -> dict[str, int]:
        self.inverted: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, counts in enumerate(corpus):
            self.doc_len.append(sum(counts.values()))
            for term, count in counts.items():
                self.inverted[term].append((row, count))
        self.corpus_size = len(self.doc_len)
        self.avgdl = max(sum(self.doc_len) / self.corpus_size, 1.0)
        lengths = np.asarray(self.doc_len) / self.avgdl
        self.damping = self.k1 * (1 - self.b + self.b * lengths)
        return {term: len(rows) for term, rows in self.inverted.items()}

    def get_scores(self, query: Sequence[str]) -> NDArray[Any]:
        """One score a document, as rank-bm25 gives it; only documents that hold a term are touched."""
        scores = np.zeros(self.corpus_size)
        for term in query:
            if term in self.inverted:
                rows, counts = np.array(self.inverted[term]).T
                scores[rows] += self.idf[term] * counts * (self.k1 + 1) / (counts + self.damping[rows])
        return scores

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        self.idf = {word: self._lucene_idf(n) for word, n in nd.items()}

    def _lucene_idf(self, documents: int) -> float:
        return math.log(1 + (self.corpus_size - documents + 0.5) / (documents + 0.5))

    def coverage(self, terms: Sequence[str]) -> NDArray[Any]:
        """Scores in [0, 1): the share of the query's informative words that each document answers."""
        ceiling = sum(self.idf.get(term, self._lucene_idf(0)) for term in terms) * (self.k1 + 1)
        scores = self.get_scores(terms)
        return scores / ceiling if ceiling else scores
