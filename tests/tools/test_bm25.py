from collections import Counter
from math import isclose, log

import pytest
from hypothesis import given, strategies as st

from retinue.tools.search.bm25 import Bm25

_documents = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12), max_size=12)
_query = st.lists(st.sampled_from("abcdefgxyz"), max_size=6)


def _by_the_book(documents: list[list[str]], query: list[str], number: int) -> float:
    k1, b = 1.2, 0.75
    average = sum(map(len, documents)) / len(documents)
    total = 0.0
    for token in query:
        tf = documents[number].count(token)
        df = sum(token in document for document in documents)
        idf = log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        if tf:
            total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(documents[number]) / average))
    return total


@given(documents=_documents, query=_query)
def test_scores_are_those_of_the_formula(documents: list[list[str]], query: list[str]) -> None:
    scores = Bm25(documents).scores(query)
    for number in range(len(documents)):
        assert isclose(scores.get(number, 0.0), _by_the_book(documents, query, number), rel_tol=1e-9, abs_tol=1e-12)
    held = {number for number, document in enumerate(documents) if set(document) & set(query)}
    assert scores.keys() == held


@given(documents=_documents, query=_query)
def test_no_document_passes_the_maximum(documents: list[list[str]], query: list[str]) -> None:
    index = Bm25(documents)
    most = index.max_score(query)
    assert all(score <= most + 1e-9 for score in index.scores(query).values())
    assert (most > 0) == bool(query)


@given(documents=_documents, query=_query, limit=st.integers(0, 5))
def test_the_best_are_the_highest_and_ties_go_to_the_first(
    documents: list[list[str]], query: list[str], limit: int
) -> None:
    index = Bm25(documents)
    scores = index.scores(query)
    best = index.best(query, limit=limit)
    assert best == sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def test_few_hits_among_many_documents_are_found_as_well() -> None:
    documents = [["common"] if number else ["rare", "common"] for number in range(100)]
    index = Bm25(documents)
    assert index.scores(["rare"]).keys() == {0}
    assert len(index.scores(["common"])) == len(index) == 100
    assert index.idf("rare") > index.idf("common")
    assert index.idf("none") > index.idf("rare")


def test_a_query_of_unknown_words_cannot_come_near_its_maximum() -> None:
    index = Bm25([["weather", "today"], ["mail", "send"]])
    query = ["weather", "quantum", "flux", "drive"]
    assert max(index.scores(query).values()) / index.max_score(query) < 0.3
    assert max(index.scores(["weather"]).values()) / index.max_score(["weather"]) == pytest.approx(1)


def test_an_empty_index_answers_nothing() -> None:
    index = Bm25([])
    assert (len(index), index.scores(["a"]), index.best(["a"])) == (0, {}, [])
    assert index.max_score([]) == 0
    assert Bm25([[], []]).scores(["a"]) == {}
    assert Counter(Bm25([["a"], []]).scores(["a"]).keys()) == {0: 1}
