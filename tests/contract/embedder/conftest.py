"""Every embedder that can be had on this machine without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from nacre.models.embedders import FunctionEmbedder, Hashing
from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL, ShippedEmbedder
from nacre.protocols import Embedder
from tests.embedders import WordBag


def letters(texts: Sequence[str]) -> list[list[float]]:
    return [[float(text.lower().count(letter)) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz "] for text in texts]


EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {
    "hashing": Hashing,
    "a callable": lambda: FunctionEmbedder(letters, identity="letters"),
    "word bag of the tests": WordBag,
    "english": lambda: ShippedEmbedder(ENGLISH),
    "multilingual": lambda: ShippedEmbedder(MULTILINGUAL),
}


@pytest.fixture(scope="module", params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made = EMBEDDERS[request.param]()
    assert np.isfinite(made.embed(["warm"])).all()
    return made
