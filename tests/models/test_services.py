"""The language models that are reached over HTTP, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nacre.errors import EmbeddingServiceFailed, InvalidInput, LanguageModelError
from nacre.models.services import (
    ANTHROPIC_VERSION,
    ATTEMPTS,
    BATCH,
    LONGEST_PAUSE_SECONDS,
    Anthropic,
    OpenAIEmbedder,
    OpenAILanguageModel,
    _renamed_limit,
)
from nacre.protocols import Embedder, LanguageModel
from tests.loopback import KEY, Loopback, serving


def choice(content: object) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def blocks(*texts: str) -> dict[str, object]:
    return {"content": [{"type": "thinking", "thinking": "hm"}, *({"type": "text", "text": text} for text in texts)]}


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving(Loopback(lambda _: {})) as service:
        yield service


def openai(loopback: Loopback, **options: object) -> OpenAILanguageModel:
    return OpenAILanguageModel(f"{loopback.url}/v1/", "tiny", sleep=loopback.pauses.append, **options)  # type: ignore[arg-type]


def anthropic(loopback: Loopback) -> Anthropic:
    return Anthropic("small", KEY, loopback.url, sleep=loopback.pauses.append)


def test_a_chat_service_completes_a_prompt(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice(" Paris.\n")
    model: LanguageModel = openai(loopback)
    assert model.identity == "openai:tiny"
    assert model.complete("Capital of France?") == "Paris."
    asked = loopback.asked[0]
    assert (asked.path, asked.headers.get("authorization")) == ("/v1/chat/completions", None)
    assert asked.body == {
        "model": "tiny", "max_tokens": 512, "messages": [{"role": "user", "content": "Capital of France?"}],
    }  # fmt: skip


def test_system_limit_and_key_are_sent(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice("ok")
    openai(loopback, api_key=KEY).complete("p", system="s", max_tokens=7)
    asked = loopback.asked[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["max_tokens"] == 7
    assert asked.body["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "p"}]


def test_the_limit_has_another_name_at_openai_itself() -> None:
    assert _renamed_limit("https://api.openai.com/v1")
    assert not _renamed_limit("http://localhost:11434/v1")
    assert not _renamed_limit("https://notopenai.com/v1")


def test_the_thoughts_of_a_local_model_are_removed_from_the_answer(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice("<think>\nParis? [1]\n</think>\n\nParis.")
    assert openai(loopback).complete("p") == "Paris."
    loopback.reply = lambda _: choice("<think>Paris? Or")
    with pytest.raises(LanguageModelError, match="its answer is empty"):
        openai(loopback).complete("p")


@pytest.mark.parametrize("content", [None, "", " \n", 3])
def test_an_empty_answer_is_an_error_with_a_remedy(loopback: Loopback, content: object) -> None:
    loopback.reply = lambda _: choice(content)
    with pytest.raises(LanguageModelError, match="max_tokens is not too small"):
        openai(loopback).complete("p")


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"3", b'{"choices": []}', b'{"content": [{}]}', b'{"content": 3}'])
def test_an_answer_of_another_shape_is_refused(loopback: Loopback, answer: bytes) -> None:
    loopback.answer = answer
    for model in (openai(loopback), anthropic(loopback)):
        with pytest.raises(LanguageModelError, match="cannot be read"):
            model.complete("p")


def test_anthropic_gets_its_headers_and_its_text_is_joined(loopback: Loopback) -> None:
    loopback.reply = lambda _: blocks("Par", "is.")
    model: LanguageModel = anthropic(loopback)
    assert model.identity == "anthropic:small"
    assert model.complete("p", system="s", max_tokens=9) == "Paris."
    asked = loopback.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, ANTHROPIC_VERSION)
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "small", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "p"}],
    }  # fmt: skip


def test_anthropic_without_a_key_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="need a key"):
        Anthropic("small", " ")


def test_an_overloaded_service_is_tried_again_and_a_refused_key_is_never_shown(loopback: Loopback) -> None:
    loopback.reply = lambda _: blocks("ok") | choice("ok")
    for model in (openai(loopback, api_key=KEY), anthropic(loopback)):
        loopback.failures = [(529, {}), (429, {})]
        assert model.complete("p") == "ok"
        loopback.failures = [(401, {})]
        with pytest.raises(LanguageModelError, match=r"HTTP 401: refused the key \[key\]") as caught:
            model.complete("p")
        assert KEY not in str(caught.value)


class Service(Loopback):
    def embedder(self, **options: object) -> OpenAIEmbedder:
        return OpenAIEmbedder(f"{self.url}/v1", "tiny", sleep=self.pauses.append, **options)  # type: ignore[arg-type]


def rows(body: dict[str, object]) -> object:
    """Out of order, as the protocol allows."""
    texts = body["input"]
    assert isinstance(texts, list)
    return {"data": [{"index": index, "embedding": [len(text), 2.0, 0.0]} for index, text in enumerate(texts)][::-1]}


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service(rows)
    with serving(service):
        yield service


def test_the_service_is_an_embedder(service: Service) -> None:
    embedder: Embedder = service.embedder()
    assert (embedder.identity, embedder.dimensions) == ("openai:tiny", 3)
    assert service.asked[0].path == "/v1/embeddings"
    assert "authorization" not in service.asked[0].headers


def test_rows_come_in_order_and_in_batches_and_of_unit_length(service: Service) -> None:
    texts = ["x" * length for length in range(BATCH + 1)]
    rows = service.embedder(api_key=KEY).embed(texts)
    assert len(service.asked) == 2 and service.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[100][0] / rows[100][1] == pytest.approx(50)


def test_no_texts_give_no_rows(service: Service) -> None:
    assert service.embedder().embed([]).shape == (0, 3)


def test_rows_of_another_length_are_refused(service: Service) -> None:
    embedder = service.embedder()
    embedder._dimensions = 5
    with pytest.raises(EmbeddingServiceFailed, match="3 numbers instead of 5"):
        embedder.embed(["a"])


def test_a_temporary_failure_is_tried_again_with_growing_pauses(service: Service) -> None:
    service.failures = [(500, {}), (503, {}), (429, {"Retry-After": "3600"})]
    assert service.embedder().embed(["a"]).shape == (1, 3)
    assert service.pauses == [0.5, 1.0, LONGEST_PAUSE_SECONDS]


def test_the_number_of_tries_is_limited(service: Service) -> None:
    service.failures = [(503, {})] * 10
    with pytest.raises(EmbeddingServiceFailed, match="HTTP 503"):
        service.embedder().embed(["a"])
    assert len(service.asked) == ATTEMPTS


def test_a_refused_key_is_not_tried_again_and_never_shown(service: Service) -> None:
    service.failures = [(401, {})]
    with pytest.raises(EmbeddingServiceFailed) as caught:
        service.embedder(api_key=KEY).embed(["a"])
    assert len(service.asked) == 1
    assert KEY not in str(caught.value) and "[key]" in str(caught.value)


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b'{"data": []}', b'{"data": [{"index": 0, "embedding": ["x"]}]}'])
def test_an_answer_that_is_not_rows_is_refused(service: Service, answer: bytes) -> None:
    service.answer = answer
    with pytest.raises(EmbeddingServiceFailed):
        service.embedder().embed(["a"])


def test_a_service_that_is_not_there_is_named() -> None:
    embedder = OpenAIEmbedder("http://127.0.0.1:9/v1", "tiny", sleep=lambda _: None)
    with pytest.raises(EmbeddingServiceFailed, match=r"127\.0\.0\.1:9"):
        embedder.embed(["a"])


def test_only_web_addresses_are_asked() -> None:
    with pytest.raises(InvalidInput, match="http://"):
        OpenAIEmbedder("file:///etc", "tiny")
