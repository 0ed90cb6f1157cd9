"""LangChain's `VectorStore`, retriever and key-value `BaseStore` over a space of a store.

Asynchronous calls are made in threads, which LangChain does by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar
from uuid import uuid4

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Hit, Memory

V = TypeVar("V")
DocumentFilter = Mapping[str, Any] | Callable[[Document], bool] | Filter | None


class StoreEmbeddings(Embeddings):
    """The embedder of a store for LangChain."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = np.asarray(self.store.embedder.embed(texts), np.float32).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class NacreVectorStore(VectorStore):
    """Documents are the memories of the store's space. A search ranks as `recall` does and returns `k` documents if
    there are as many, however little they match; the score is the relevance, from 0 to 1.

    Searches take `filter` (metadata that must be equal, a function of a `Document`, or a `Filter`) and the options of
    `recall`, such as `strategy` and `min_relevance`.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: Path | str = ":memory:",
        **options: Any,
    ) -> Self:
        """Opens the store of that path; without an embedding, with the store's own. `options` are of `MemoryStore`."""
        embedder = None if embedding is None else embedding.embed_documents
        vector_store = cls(MemoryStore(path, embedder=embedder, actor="langchain", **options))
        vector_store.add_texts(texts, metadatas, ids=ids)
        return vector_store

    @property
    def embeddings(self) -> Embeddings:
        return StoreEmbeddings(self.store)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **_: Any,
    ) -> list[str]:
        written = list(texts)
        keys = [key or str(uuid4()) for key in (ids or [None] * len(written))]
        notes = metadatas or [{}] * len(written)
        documents = zip(keys, written, notes, strict=True)
        records.put(self.store, {key: records.text_fields(text, key, note) for key, text, note in documents})
        return keys

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """To the trash; without ids, all documents of the space."""
        records.delete(self.store, [memory.id for memory in self.store.iterate()] if ids is None else ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return list(map(document, records.get(self.store, list(ids)).values()))

    def similarity_search(
        self, query: str, k: int = 4, *, filter: DocumentFilter = None, **options: Any
    ) -> list[Document]:
        return [document(hit.memory) for hit in self._hits(query, k, filter, options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: DocumentFilter = None, **options: Any
    ) -> list[tuple[Document, float]]:
        return [(document(hit.memory), hit.relevance) for hit in self._hits(query, k, filter, options)]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: DocumentFilter = None,
        **options: Any,
    ) -> list[Document]:
        memories = [hit.memory for hit in self._hits(query, fetch_k, filter, options)]
        vectors = self.store.vectors([memory.id for memory in memories])
        memories = [memory for memory in memories if memory.id in vectors]
        rows = [np.asarray(vectors[memory.id], np.float32).mean(axis=0) for memory in memories]
        asked = np.asarray(self.embeddings.embed_query(query), np.float32)
        return [document(memories[at]) for at in maximal_marginal_relevance(asked, rows, lambda_mult, k)]

    def _hits(self, query: str, k: int, wanted: DocumentFilter, options: Mapping[str, Any]) -> Sequence[Hit]:
        return records.ranked(self.store, query, k, as_filter(self.store, wanted), **options)


class NacreRetriever(BaseRetriever):
    """The memories that answer a question, and none where none is likely to. `options` are those of `recall`.

    The metadata of a document says where it comes from: `id`, `type`, `date`, `source`, `space`, `trust`, `relevance`
    and, of a text that seems to give orders to a model, `suspicion`. The text is what was stored: what puts it into a
    prompt must present it as data.
    """

    store: Any
    k: int = 5
    options: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain looks for it
        **overrides: Any,
    ) -> list[Document]:
        chosen = {"k": self.k, **self.options, **overrides}
        if records.asks_for_nothing(query, chosen["k"]):
            return []
        return [hit_document(hit) for hit in self.store.recall(query, **chosen)]


class NacreKeyValueStore(BaseStore[str, V], Generic[V]):
    """Values (JSON, or bytes) by key, each at most 100,000 characters of JSON (50,000 bytes). Give it a space of its
    own: `NacreKeyValueStore(store.in_space("cache"))`."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        stored = records.get(self.store, list(keys))
        return [unpacked(stored[key]) if key in stored else None for key in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        records.put(self.store, {key: {"text": key, "metadata": packed(value)} for key, value in key_value_pairs})

    def mdelete(self, keys: Sequence[str]) -> None:
        records.delete(self.store, keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        return (memory.id for memory in self.store.iterate() if memory.id.startswith(prefix or ""))


def packed(value: object) -> dict[str, Any]:
    """As hexadecimal digits, which nothing takes for a secret that must be removed, unlike base64."""
    return {"hex": value.hex()} if isinstance(value, bytes) else {"value": value}


def unpacked(memory: Memory) -> Any:
    digits = memory.metadata.get("hex")
    return bytes.fromhex(digits) if isinstance(digits, str) else memory.metadata.get("value", memory.text)


def document(memory: Memory) -> Document:
    return Document(id=memory.id, page_content=records.content_of(memory), metadata=records.own_metadata(memory))


def hit_document(hit: Hit) -> Document:
    """What the document itself says of its origin stays; how far to trust it is for the store to say."""
    memory = hit.memory
    about = {
        "id": memory.id,
        "type": memory.type,
        "date": memory.date,
        "source": memory.source,
        **memory.metadata,
        "space": memory.space,
        "trust": memory.trust,
        "relevance": round(hit.relevance, 4),
    }
    about.pop(records.BLANKS, None)
    return Document(id=memory.id, page_content=records.content_of(memory), metadata=about)


def as_filter(store: MemoryStore, wanted: DocumentFilter) -> Filter:
    """What the store can compare, it compares; for the rest all documents are read."""
    if wanted is None or isinstance(wanted, Filter):
        return wanted or Filter()
    if not callable(wanted) and all(is_comparable(key, value) for key, value in wanted.items()):
        return Filter.where(**{f"metadata__{key}": value for key, value in wanted.items()})
    fits = wanted if callable(wanted) else partial(has_all, wanted)
    return Filter.where(id__in=[memory.id for memory in store.iterate() if fits(document(memory))])


def is_comparable(key: str, value: object) -> bool:
    """Whether a filter can name the key, in which two underscores begin an operator, and hold the value."""
    return key.isidentifier() and "__" not in key and isinstance(value, str | int | float)


def has_all(wanted: Mapping[str, Any], document: Document) -> bool:
    missing = object()
    return all(document.metadata.get(key, missing) == value for key, value in wanted.items())
