from __future__ import annotations

import importlib.util

import pytest

from nacre.errors import ModelUnavailable
from nacre.models.sentence_transformers import SentenceTransformers


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    embedder = SentenceTransformers("all-MiniLM-L6-v2")
    assert not embedder.ready
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed(["a"])
    assert 'pip install "nacre[sentence-transformers]"' in str(caught.value)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_same_model_has_the_same_identity_as_our_own(name: str) -> None:
    assert SentenceTransformers(name).identity == "all-MiniLM-L6-v2"
