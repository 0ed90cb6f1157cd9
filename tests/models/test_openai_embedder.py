from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nacre.errors import EmbeddingServiceFailed, InvalidInput
from nacre.models.http_json import ATTEMPTS, LONGEST_PAUSE_SECONDS
from nacre.models.openai_embedder import BATCH, OpenAICompatible
from nacre.protocols import Embedder
from tests.loopback import KEY, Loopback, serving


class Service(Loopback):
    def embedder(self, **options: object) -> OpenAICompatible:
        return OpenAICompatible(f"{self.url}/v1", "tiny", sleep=self.pauses.append, **options)  # type: ignore[arg-type]


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
    assert service.embedder(dimensions=3).embed([]).shape == (0, 3)
    assert service.asked == []


def test_asked_dimensions_are_sent_and_checked(service: Service) -> None:
    with pytest.raises(EmbeddingServiceFailed, match="3 numbers instead of 5"):
        service.embedder(dimensions=5).embed(["a"])
    assert service.asked[0].body["dimensions"] == 5


def test_a_passing_failure_is_tried_again_with_growing_pauses(service: Service) -> None:
    service.failures = [(500, {}), (503, {}), (429, {"Retry-After": "3600"})]
    assert service.embedder().embed(["a"]).shape == (1, 3)
    assert service.pauses == [0.5, 1.0, LONGEST_PAUSE_SECONDS]


def test_trying_again_has_an_end(service: Service) -> None:
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
    embedder = OpenAICompatible("http://127.0.0.1:9/v1", "tiny", sleep=lambda _: None)
    with pytest.raises(EmbeddingServiceFailed, match=r"127\.0\.0\.1:9"):
        embedder.embed(["a"])


def test_only_web_addresses_are_asked() -> None:
    with pytest.raises(InvalidInput, match="http://"):
        OpenAICompatible("file:///etc", "tiny")
