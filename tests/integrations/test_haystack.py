"""Haystack's own suites on the document store, and the retriever in a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore

pytest.importorskip("haystack", reason="haystack-ai is not installed; `make test-integrations` installs it")

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import DocumentStoreBaseExtendedTests
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
)

from nacre.integrations.haystack import NacreDocumentStore, NacreRetriever


@pytest.fixture
def document_store() -> NacreDocumentStore:
    return NacreDocumentStore(store=MemoryStore(":memory:", embedder="hashing"))


class TestDocumentStore(DocumentStoreBaseExtendedTests):
    @pytest.fixture
    def document_store(self, tmp_path: Path) -> Any:
        store = NacreDocumentStore(str(tmp_path / "s.db"), embedder="hashing")
        yield store
        store.store.close()

    def test_write_documents(self, document_store: NacreDocumentStore) -> None:
        document = Document(id="1", content="one")
        assert document_store.write_documents([document]) == 1
        assert document_store.write_documents([Document(id="1", content="two")]) == 1
        assert [each.content for each in document_store.filter_documents()] == ["two"]


class TestDocumentStoreAsync(
    CountDocumentsAsyncTest, DeleteDocumentsAsyncTest, FilterDocumentsAsyncTest, WriteDocumentsAsyncTest
):
    @pytest.fixture
    def document_store(self) -> NacreDocumentStore:
        return NacreDocumentStore(store=MemoryStore(":memory:", embedder="hashing"))

    async def test_write_documents_async(self, document_store: NacreDocumentStore) -> None:
        assert await document_store.write_documents_async([Document(content="one")]) == 1


@pytest.mark.parametrize(
    "document",
    [
        Document(content="text\n", meta={"deep": {"x": [1, None]}}, embedding=[0.5, -0.25]),
        Document(content=None, blob=ByteStream(bytes(range(256)), meta={"a": 1}, mime_type="image/png")),
        Document(content=""),
        Document(content="sparse", sparse_embedding=SparseEmbedding([1, 7], [0.5, 0.25])),
    ],
)
def test_every_field_of_a_document_comes_back(document: Document, document_store: NacreDocumentStore) -> None:
    document_store.write_documents([document], DuplicatePolicy.FAIL)
    assert document_store.filter_documents() == [document]


def test_a_pipeline_retrieves_and_survives_its_serialization(tmp_path: Path) -> None:
    store = NacreDocumentStore(str(tmp_path / "s.db"), space="farm", embedder="hashing")
    texts = ["The goats are fed at dawn.", "The boat is painted in spring."]
    store.write_documents([Document(content=text, meta={"n": at}) for at, text in enumerate(texts)])
    pipeline = Pipeline()
    pipeline.add_component("memory", NacreRetriever(store, top_k=1))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["nacre.integrations.haystack"])
    (best,) = again.run({"memory": {"query": "When are the goats fed?"}})["memory"]["documents"]
    assert best.content == texts[0] and 0 < best.score <= 1
    filters = {"field": "meta.n", "operator": ">", "value": 0}
    (other,) = again.run({"memory": {"query": "goats", "filters": filters, "top_k": 5}})["memory"]["documents"]
    assert other.content == texts[1]


def test_deleted_documents_come_back_by_undo(document_store: NacreDocumentStore) -> None:
    document_store.write_documents([Document(content="one"), Document(content="two")])
    document_store.delete_all_documents()
    assert document_store.count_documents() == 0
    document_store.store.undo()
    assert document_store.count_documents() == 2
