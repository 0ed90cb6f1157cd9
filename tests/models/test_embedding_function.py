from __future__ import annotations

from collections.abc import Sequence

import pytest

from nacre.errors import EmbeddingError
from nacre.models.embedding_function import FromCallable
from nacre.protocols import Embedder


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def test_any_function_becomes_an_embedder() -> None:
    embedder: Embedder = FromCallable(lengths, "lengths")
    assert (embedder.identity, embedder.dimensions, embedder.ready) == ("lengths", 3, True)
    assert embedder.embed([]).shape == (0, 3)
    assert embedder.embed(["", "a"])[0].tolist() == [0.0, 1.0, 0.0]


def test_rows_of_another_width_than_stated_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="rows of 3 numbers instead of 4"):
        FromCallable(lengths, "lengths", dimensions=4).embed(["a"])


def test_too_few_rows_are_refused_with_the_remedy() -> None:
    embedder = FromCallable(lambda texts: lengths(texts)[1:], "short", dimensions=3)
    with pytest.raises(EmbeddingError, match="Return one row of numbers for each text"):
        embedder.embed(["a", "b"])
