"""LangChain's vector store, retriever and key-value store in one file: python examples/langchain_store.py"""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from nacre import MemoryStore
from nacre.integrations.langchain import NacreKeyValueStore, NacreRetriever, NacreVectorStore


def main(path: str = "agent.db") -> None:
    with MemoryStore(path, space="farm", actor="langchain") as store:
        documents = NacreVectorStore(store)
        documents.add_documents(
            [
                Document(id="goats", page_content="The goats are fed at dawn.", metadata={"place": "barn"}),
                Document(id="boat", page_content="The boat is painted in spring.", metadata={"place": "harbour"}),
            ]
        )
        print([each.id for each in documents.similarity_search("animals", k=1, filter={"place": "barn"})])

        retriever = NacreRetriever(store=store, k=1)  # returns nothing where nothing is likely to answer
        print([each.page_content for each in retriever.invoke("When are the goats fed?")])

        cache: NacreKeyValueStore[Any] = NacreKeyValueStore(store.in_space("farm-cache"))
        cache.mset([("weather", {"rain": True})])
        print(cache.mget(["weather", "tides"]))


if __name__ == "__main__":
    main()
