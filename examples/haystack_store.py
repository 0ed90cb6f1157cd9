"""A Haystack pipeline that retrieves from a store, without a model: python examples/haystack_store.py"""

from __future__ import annotations

from haystack import Document, Pipeline

from nacre.integrations.haystack import NacreDocumentStore, NacreRetriever


def main(path: str = "agent.db") -> None:
    documents = NacreDocumentStore(path, space="farm")
    documents.write_documents(
        [
            Document(id="goats", content="The goats are fed at dawn.", meta={"place": "barn"}),
            Document(id="boat", content="The boat is painted in spring.", meta={"place": "harbour"}),
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component("memory", NacreRetriever(documents, top_k=1))
    for document in pipeline.run({"memory": {"query": "When are the goats fed?"}})["memory"]["documents"]:
        print(document.content)
    documents.store.close()


if __name__ == "__main__":
    main()
