"""MemPalace through the functions of its MCP tools for adding a drawer and searching."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item, embed_unpadded

WING = "memories"
SPLIT = 500  # characters; the tool splits longer texts at 800 by default


class MemPalace(Driver):
    CHANGES = (
        "The functions behind its MCP tools `mempalace_add_drawer` and `mempalace_search`, with their defaults. Its"
        " ONNX MiniLM was put into the cache that it downloads to. Texts one by one, as the tool takes one; speaker"
        " before the text, one wing, a room for each session; it has no field for a date."
    )

    def __init__(self, folder: Path) -> None:
        os.environ["MEMPALACE_PALACE_PATH"] = str(folder / "palace")
        from mempalace import mcp_server

        self._server: Any = mcp_server
        self._lean = False

    def add(self, item: Item) -> str:
        stored = self._server.tool_add_drawer(
            wing=WING, room=item.session or "notes", content=item.spoken, source_file=item.id
        )
        if not stored.get("success"):
            raise RuntimeError(str(stored.get("error")))
        return item.id

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        answer = self._server.tool_search(question, limit=k)
        if answer.get("error") == "No palace found":
            return []  # nothing was stored yet
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return [str(hit["source_file"]) for hit in answer["results"]]

    def lean(self) -> None:
        from mempalace.embedding import get_embedding_function

        embed_unpadded(get_embedding_function())
        self._lean = True

    def add_many(self, items: Sequence[Item]) -> list[str]:
        return self._add_batch(items) if self._lean and fits(items) else super().add_many(items)

    def _add_batch(self, items: Sequence[Item]) -> list[str]:
        """Writes the rows that the tool for one drawer writes, many at a time."""
        now = datetime.now().isoformat()
        rows = {}
        for item in items:
            room = item.session or "notes"
            id = self._server.make_drawer_id_from_content(WING, room, item.spoken)
            meta = {"wing": WING, "room": room, "source_file": item.id, "added_by": "mcp", "chunk_index": 0}
            meta |= {"filed_at": now, "last_modified": now, "id_recipe": self._server.ID_RECIPE}
            rows[id] = (item.spoken, meta)
        documents, metadatas = zip(*rows.values(), strict=True)
        collection = self._server._get_collection(create=True)
        collection.upsert(ids=list(rows), documents=list(documents), metadatas=list(metadatas))
        return [item.id for item in items]


def fits(items: Sequence[Item]) -> bool:
    """Whether no text is so long that the tool would split it."""
    return max(len(item.spoken) for item in items) < SPLIT


DRIVER = MemPalace
