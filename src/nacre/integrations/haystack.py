"""Haystack's `DocumentStore`, and a retriever that ranks its documents as `recall` does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils.filters import document_matches_filter

from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory

REST = "haystack"  # the key in the metadata for what a memory has no field for: blob and embeddings
UNSTORED = ("id", "content", "meta", "score")


class NacreDocumentStore:
    """The documents are the memories of one space; of a document with the same id the new one counts unless the policy
    says otherwise. `store` is an open store to use, in place of the other arguments; it cannot be serialized.

    An embedding that a document brings is kept, but searches use the store's embedder.
    """

    def __init__(
        self,
        path: str | None = None,
        space: str | None = None,
        embedder: str | None = None,
        *,
        store: MemoryStore | None = None,
    ) -> None:
        self.path, self.space, self.embedder = path, space, embedder
        self.store = store or MemoryStore(path, space=space, embedder=embedder, actor="haystack")

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = default_to_dict(self, path=self.path, space=self.space, embedder=self.embedder)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        store: Self = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        return self.store.count()

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        return [document for _, document in self._matching(filters)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Overwrites unless the policy is `SKIP` or `FAIL`; returns how many were written."""
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise ValueError("Give a list of documents.")
        if policy in (DuplicatePolicy.SKIP, DuplicatePolicy.FAIL):
            known = records.get(self.store, [document.id for document in documents])
            if known and policy is DuplicatePolicy.FAIL:
                raise DuplicateDocumentError(f"There are documents with these ids already: {', '.join(known)}.")
            documents = [document for document in documents if document.id not in known]
        records.put(self.store, {document.id: as_fields(document) for document in documents})
        return len(documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        records.delete(self.store, document_ids)

    def delete_all_documents(self) -> None:
        self.delete_by_filter({})

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Returns how many documents were moved to the trash."""
        ids = [memory.id for memory, _ in self._matching(filters)]
        records.delete(self.store, ids)
        return len(ids)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Adds to the metadata of the documents that match; returns how many."""
        matching = self.filter_documents(filters)
        return self.write_documents([replace(each, meta={**each.meta, **meta}) for each in matching])

    def search(
        self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """The best documents, each with its relevance (0 to 1) as score; `options` are of `recall`."""
        where = Filter.where(id__in=[memory.id for memory, _ in self._matching(filters)]) if filters else Filter()
        hits = records.ranked(self.store, query, top_k, where, **options)
        return [replace(as_document(hit.memory), score=hit.relevance) for hit in hits]

    async def count_documents_async(self) -> int:
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        await asyncio.to_thread(self.delete_documents, document_ids)

    def _matching(self, filters: dict[str, Any] | None) -> Iterator[tuple[Memory, Document]]:
        """Oldest first. Haystack's filters compare what no database does alike, so all documents are read."""
        for memory in self.store.iterate():
            document = as_document(memory)
            if not filters or document_matches_filter(filters, document):
                yield memory, document


@component
class NacreRetriever:
    """For a pipeline: the best documents for a query. `options` are of `recall`: {"min_relevance": 0.2} leaves out what
    hardly matches."""

    def __init__(
        self,
        document_store: NacreDocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.document_store = document_store
        self.top_k = top_k
        self.filters = filters
        self.options = options or {}

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            top_k=self.top_k,
            filters=self.filters,
            options=self.options,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        parameters = data["init_parameters"]
        parameters["document_store"] = NacreDocumentStore.from_dict(parameters["document_store"])
        retriever: Self = default_from_dict(cls, data)
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        chosen = self.filters if filters is None else filters
        limit = self.top_k if top_k is None else top_k
        return {"documents": self.document_store.search(query, limit, chosen, **self.options)}


def as_fields(document: Document) -> dict[str, Any]:
    values: Mapping[str, Any] = document.to_dict(flatten=False)
    rest = {name: value for name, value in values.items() if value is not None and name not in UNSTORED}
    if document.content is None:
        rest["no_content"] = True
    if document.blob is not None:
        rest["blob"] = {**values["blob"], "data": document.blob.data.hex()}
    metadata = {**document.meta, **({REST: rest} if rest else {})}
    return records.text_fields(document.content or "", document.id, metadata)


def as_document(memory: Memory) -> Document:
    meta = records.own_metadata(memory)
    stored = meta.pop(REST, None)
    rest = dict(stored) if isinstance(stored, dict) else {}
    content = None if rest.pop("no_content", False) else records.content_of(memory)
    if isinstance(blob := rest.get("blob"), dict):
        rest["blob"] = {**blob, "data": list(bytes.fromhex(str(blob["data"])))}
    document: Document = Document.from_dict({"id": memory.id, "content": content, "meta": meta, **rest})
    return document
