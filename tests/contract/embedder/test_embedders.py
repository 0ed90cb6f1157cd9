"""What every embedder promises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given

from nacre.protocols import Embedder
from tests.property.strategies import texts

TEXTS = ["a cat sat on the mat", "", "the stock market fell", "猫が好き", "🙂", "x" * 5000, "\x01\n", "word " * 2000]


def test_one_row_of_unit_length_a_text(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)


@pytest.mark.slow
def test_a_text_gives_the_same_row_whatever_its_batch(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    alone = np.stack([embedder.embed([text])[0] for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-3)
    assert np.allclose(together, backwards, atol=1e-3)


def test_texts_alike_lie_nearer_than_others(embedder: Embedder) -> None:
    a, b, c = embedder.embed(["the cat sat on the mat", "a cat sat on a mat", "quarterly bond yields jumped"])
    assert a @ b > a @ c


def test_tokens_are_counted_text_by_text(embedder: Embedder) -> None:
    counts = embedder.count_tokens(["", "word", "two words here", "word " * 50])
    assert counts == sorted(counts)
    assert counts[-1] >= 10
    assert counts == [embedder.count_tokens([text])[0] for text in ["", "word", "two words here", "word " * 50]]
    assert embedder.token_limit > 0
    assert embedder.count_tokens([]) == []


def test_after_use_it_is_ready_and_names_its_space(embedder: Embedder) -> None:
    assert embedder.ready
    assert embedder.identity
    assert embedder.identity == embedder.identity.strip()


def test_many_threads_get_what_one_gets(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS[:5])
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: embedder.embed(TEXTS[:5]), range(12)):
            assert np.allclose(rows, expected, atol=1e-3)


@pytest.mark.parametrize("nothing", [[]])
def test_no_texts_give_no_rows(embedder: Embedder, nothing: list[str]) -> None:
    assert embedder.embed(nothing).shape == (0, embedder.dimensions)


@given(text=texts)
def test_any_text_gives_a_finite_row(embedder: Embedder, text: str) -> None:
    row = embedder.embed([text])[0]
    assert np.isfinite(row).all()
    assert float(row @ row) == pytest.approx(1, abs=1e-2)
