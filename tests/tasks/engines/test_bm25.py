from __future__ import annotations

import math
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from pickysteve.tasks.engines.bm25 import Bm25, _stem, count_terms, plain_terms, stemmed_terms

words = st.sampled_from(["fix", "query", "index", "mail", "plan", "rust"])
documents = st.lists(st.lists(words, max_size=9), min_size=1, max_size=6)
queries = st.lists(st.one_of(words, st.just("unknown")), max_size=6)


def bm25(corpus: list[list[str]]) -> Bm25:
    return Bm25([Counter(document) for document in corpus])


def lucene_idf(corpus: list[list[str]], word: str) -> float:
    n = sum(word in document for document in corpus)
    return math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))


@given(documents.filter(lambda corpus: any(corpus)), queries)
def test_scores_are_those_of_rank_bm25_with_the_same_idf(corpus: list[list[str]], query: list[str]) -> None:
    reference = BM25Okapi(corpus)
    reference.idf = {word: lucene_idf(corpus, word) for document in corpus for word in document}
    reference.avgdl = max(reference.avgdl, 1.0)
    np.testing.assert_allclose(bm25(corpus).get_scores(query), reference.get_scores(query), rtol=1e-12)


@given(documents, queries)
def test_coverage_is_at_least_zero_and_below_one(corpus: list[list[str]], query: list[str]) -> None:
    coverage = bm25(corpus).coverage(query)
    assert coverage.shape == (len(corpus),)
    assert ((coverage >= 0) & (coverage < 1)).all()


@given(documents, queries, st.randoms(use_true_random=False))
def test_neither_the_order_of_documents_nor_of_words_matters(corpus, query, random) -> None:
    order = list(range(len(corpus)))
    random.shuffle(order)
    shuffled = random.sample(query, len(query))
    moved = bm25([corpus[at] for at in order]).coverage(shuffled)
    np.testing.assert_allclose(moved, bm25(corpus).coverage(query)[order], rtol=1e-12, atol=1e-15)


@given(documents, queries)
def test_a_word_that_nobody_has_lowers_the_coverage(corpus: list[list[str]], query: list[str]) -> None:
    engine = bm25(corpus)
    assert (engine.coverage([*query, "unheard"]) <= engine.coverage(query)).all()


@given(st.lists(words, min_size=1, max_size=9))
def test_a_word_of_the_only_document_still_counts(document: list[str]) -> None:
    assert bm25([document]).coverage(document[:1])[0] > 0


def test_a_word_of_every_document_counts_less_than_a_rare_one() -> None:
    engine = bm25([["fix", "rust"], ["fix", "mail"]])
    common, rare = engine.get_scores(["fix"])[0], engine.get_scores(["rust"])[0]
    assert 0 < common < rare


@pytest.mark.parametrize("postings", [[], [{}], [{}, {}]])
def test_empty_registries_and_documents_score_zero(postings: list[dict[str, int]]) -> None:
    assert bm25_of(postings).coverage(["fix"]).tolist() == [0.0] * max(len(postings), 1)


def bm25_of(postings: list[dict[str, int]]) -> Bm25:
    return Bm25(postings)


def test_an_empty_query_covers_nothing() -> None:
    assert bm25([["fix"], ["rust"]]).coverage([]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("OOMKilled", ["oom", "kill"]),
        ("HTTPServer fails", ["http", "server", "fail"]),
        ("tuning tuned tunes", ["tune", "tune", "tune"]),
        ("snake_case, kebab-case", ["snake", "case", "kebab", "case"]),
        ("Größe 東京", ["größe", "東京"]),
        ("...", []),
    ],
)
def test_terms_are_stems_of_the_parts_of_words(text: str, terms: list[str]) -> None:
    assert stemmed_terms(text) == terms


def test_plain_terms_are_lower_case_words() -> None:
    assert plain_terms("OOMKilled twice!") == ["oomkilled", "twice"]


@given(st.text(max_size=60))
def test_counts_add_up_to_the_terms(text: str) -> None:
    assert count_terms(text).total() == len(stemmed_terms(text))


def test_threads_that_stem_at_once_do_not_disturb_each_other() -> None:
    words = [f"{stem}{number}ing" for number in range(60) for stem in ("retriev", "nation", "conditional")]
    alone = [stemmed_terms(word) for word in words]
    _stem.cache_clear()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda turn: [stemmed_terms(w) for w in words[turn:]], range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert together == [alone[turn:] for turn in range(8)]
