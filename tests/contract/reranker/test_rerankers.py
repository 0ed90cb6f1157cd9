"""What every reranker promises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.protocols import Reranker
from tests.property.strategies import texts

QUERY = "the cat sat on the mat"
TEXTS = [
    "the cat sat on a mat",
    "",
    "stock market fell",
    "猫が好き",
    "🙂",
    "x" * 5000,
    "\x01\n",
    "cat " * 2000,
    "cat cat",
]


def test_one_score_from_nought_to_one_a_text_in_order(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(type(score) is float and 0 <= score <= 1 for score in scores)
    assert max(scores) == scores[0]
    assert reranker.score(QUERY, TEXTS[::-1]) == pytest.approx(scores[::-1])


def test_what_answers_the_query_scores_higher(reranker: Reranker) -> None:
    near, far = reranker.score(QUERY, ["a cat on a mat", "the stock market fell"])
    assert near > far


def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert reranker.score(QUERY, []) == []


def test_it_has_a_name(reranker: Reranker) -> None:
    assert reranker.identity
    assert reranker.identity == reranker.identity.strip()


def test_many_threads_get_what_one_gets(reranker: Reranker) -> None:
    expected = reranker.score(QUERY, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: reranker.score(QUERY, TEXTS), range(12)):
            assert scores == pytest.approx(expected)


@given(query=texts, given_texts=st.lists(texts, max_size=4))
def test_any_texts_have_scores(reranker: Reranker, query: str, given_texts: list[str]) -> None:
    scores = reranker.score(query, given_texts)
    assert len(scores) == len(given_texts)
    assert all(0 <= score <= 1 for score in scores)
