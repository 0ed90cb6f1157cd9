"""The embedders that come with the package, each loaded once a run."""

from __future__ import annotations

import pytest

from nacre.models.shipped import WEIGHTS
from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL, ShippedEmbedder
from nacre.models.tokenizers import WordPiece


@pytest.fixture(scope="session")
def english() -> ShippedEmbedder:
    return ShippedEmbedder(ENGLISH)


@pytest.fixture(scope="session")
def multilingual() -> ShippedEmbedder:
    return ShippedEmbedder(MULTILINGUAL)


@pytest.fixture(scope="session")
def tokenizer() -> WordPiece:
    return WordPiece.from_vocabulary(WEIGHTS / "wordpiece.txt")
