"""Every reranker that can be had on this machine without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nacre.models.cross_encoder import CrossEncoder
from nacre.models.language_model import FunctionLanguageModel, LanguageModelReranker
from nacre.protocols import Reranker
from tests.cross_encoders import shared_words, whole_word_tokenizer, write_cross_encoder


def count_shared_words(prompt: str) -> str:
    """What a model would do that reads the prompt as it is meant, and answers with more than it should."""
    lines = prompt.splitlines()
    query = set(json.loads(lines[lines.index("<query>") + 1]).split())
    passages = [json.loads(line)["text"] for line in lines[lines.index("<passages>") + 1 : lines.index("</passages>")]]
    return f"My marks: {[2 * len(query & set(passage.split())) for passage in passages]}."


RERANKERS: Mapping[str, Callable[[Path], Reranker]] = {
    "cross-encoder": lambda folder: CrossEncoder(write_cross_encoder(folder)),
    "cross-encoder of two classes": lambda folder: CrossEncoder(write_cross_encoder(folder, shared_words(classes=2))),
    "cross-encoder with another tokenizer": lambda folder: CrossEncoder(
        write_cross_encoder(folder, tokenizer=whole_word_tokenizer())
    ),
    "language model": lambda _: LanguageModelReranker(FunctionLanguageModel(count_shared_words, "counting")),
}


@pytest.fixture(scope="module", params=RERANKERS)
def reranker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    return RERANKERS[request.param](tmp_path_factory.mktemp("reranker"))
