from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.models.embedders import FunctionEmbedder, Hashing, SentenceTransformers, estimate_tokens, unit_rows
from nacre.protocols import Embedder

PRINT_ROW = "from nacre.models.embedders import Hashing; print(Hashing().embed(['deploy on Friday']).tobytes().hex())"


def test_hashing_is_an_embedder() -> None:
    embedder: Embedder = Hashing()
    assert (embedder.identity, embedder.dimensions, embedder.ready) == ("hashing-384", 384, True)
    assert embedder.count_tokens(["four words of text"]) == [6]


@pytest.mark.slow
def test_another_process_gives_the_same_bytes() -> None:
    ended = subprocess.run([sys.executable, "-c", PRINT_ROW], capture_output=True, text=True, check=True)
    assert bytes.fromhex(ended.stdout) == Hashing().embed(["deploy on Friday"]).tobytes()


def test_shared_words_and_typos_are_near_and_strangers_are_not() -> None:
    query, word, typo, stranger = Hashing().embed(["postgres timeout", "Postgres!", "postgers timout", "bread oven"])
    assert query @ word > 0.4
    assert query @ typo > 0.2
    assert abs(query @ stranger) < 0.2


def test_rows_are_dense_so_that_their_signs_distinguish_texts() -> None:
    rows = Hashing().embed(["alpha", "alpha beta", "a sentence of several words"])
    assert (rows != 0).mean() > 0.8
    assert 0.3 < (rows > 0).mean() < 0.7


def test_every_text_gives_a_unit_row_even_an_empty_one() -> None:
    rows = Hashing().embed(["", "...", "one", "北京", "\ud800"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert (rows[0] == rows[1]).all()
    assert Hashing().embed([]).shape == (0, 384)


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def test_any_function_becomes_an_embedder() -> None:
    embedder: Embedder = FunctionEmbedder(lengths, "lengths")
    assert (embedder.identity, embedder.dimensions, embedder.ready) == ("lengths", 3, True)
    assert embedder.embed([]).shape == (0, 3)
    assert embedder.embed(["", "a"])[0].tolist() == [0.0, 1.0, 0.0]


def test_rows_of_another_width_than_stated_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="rows of 3 numbers instead of 4"):
        FunctionEmbedder(lengths, "lengths", dimensions=4).embed(["a"])


def test_too_few_rows_are_refused_with_the_remedy() -> None:
    embedder = FunctionEmbedder(lambda texts: lengths(texts)[1:], "short", dimensions=3)
    with pytest.raises(EmbeddingError, match="Return one row of numbers for each text"):
        embedder.embed(["a", "b"])


def test_rows_are_brought_to_unit_length_and_a_row_of_zeros_gets_a_direction() -> None:
    rows = unit_rows([[3, 4], [0, 0]], 2)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [1.0, 0.0]]


@pytest.mark.parametrize("values", [[[1.0]], [1.0, 2.0], [[], []], [[1.0], [float("nan")]], [[1.0], [1.0, 2.0]]])
def test_anything_but_two_rows_of_numbers_is_refused(values: list[object]) -> None:
    with pytest.raises(ValueError):
        unit_rows(values, 2)  # type: ignore[arg-type]


def test_the_given_array_is_not_changed() -> None:
    values = np.zeros((1, 2), np.float32)
    unit_rows(values, 1)
    assert not values.any()


def test_tokens_are_estimated_by_words_or_by_length_whichever_is_more() -> None:
    assert estimate_tokens(["", "two words", "x" * 100]) == [0, 3, 25]


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    embedder = SentenceTransformers("all-MiniLM-L6-v2")
    assert not embedder.ready
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed(["a"])
    assert 'pip install ".[sentence-transformers]"' in str(caught.value)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_same_model_has_the_same_identity_as_our_own(name: str) -> None:
    assert SentenceTransformers(name).identity == "all-MiniLM-L6-v2"


def test_a_function_that_fails_gives_an_error_that_says_so() -> None:
    def down(texts: Sequence[str]) -> list[list[float]]:  # noqa: ARG001
        raise ConnectionError("service down")

    with pytest.raises(EmbeddingError, match=r"'mine' failed \(ConnectionError: service down\)"):
        FunctionEmbedder(down, "mine", 3).embed(["a"])
