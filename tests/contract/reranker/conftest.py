"""Every reranker that can be had on this machine without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from nacre.models.language_model import LanguageModelReranker
from nacre.protocols import Reranker
from tests.function_model import FunctionLanguageModel


def count_shared_words(prompt: str) -> str:
    """What a model would do that reads the prompt as it is meant, and answers with more than it should."""
    lines = prompt.splitlines()
    query = set(json.loads(lines[lines.index("<query>") + 1]).split())
    passages = [json.loads(line)["text"] for line in lines[lines.index("<passages>") + 1 : lines.index("</passages>")]]
    return f"My marks: {[2 * len(query & set(passage.split())) for passage in passages]}."


RERANKERS: Mapping[str, Callable[[], Reranker]] = {
    "language model": lambda: LanguageModelReranker(FunctionLanguageModel(count_shared_words, "counting")),
}


@pytest.fixture(scope="module", params=RERANKERS)
def reranker(request: pytest.FixtureRequest) -> Reranker:
    return RERANKERS[request.param]()
