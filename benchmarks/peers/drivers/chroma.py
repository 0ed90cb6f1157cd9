"""A plain memory over Chroma: one collection on disk with the embedding function that Chroma uses by default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item, embed_unpadded

BATCH = 256


class Chroma(Driver):
    CHANGES = (
        "`PersistentClient` and one collection with its ONNX MiniLM, as one object: the default function makes a new"
        " one for each call, which loads the model again each time. The model, which Chroma downloads on first use,"
        " was put into its cache. Speaker before the text, date as metadata."
    )

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

        client: Any = chromadb.PersistentClient(path=str(folder))
        self._embed: Any = ONNXMiniLM_L6_V2()
        self._collection = client.get_or_create_collection("memories", embedding_function=self._embed)

    def add(self, item: Item) -> str:
        return self.add_many([item])[0]

    def add_many(self, items: Sequence[Item]) -> list[str]:
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            self._collection.add(
                ids=[item.id for item in part],
                documents=[item.spoken for item in part],
                metadatas=[{"at": item.at or 0.0, "session": item.session} for item in part],
            )
        return [item.id for item in items]

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        return [str(id) for id in self._collection.query(query_texts=[question], n_results=k)["ids"][0]]

    def lean(self) -> None:
        embed_unpadded(self._embed)


DRIVER = Chroma
