"""MemPalace through the functions of its MCP tools for adding a drawer and searching."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item, embed_unpadded

WING = "memories"


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

    def add(self, item: Item) -> str:
        stored = self._server.tool_add_drawer(
            wing=WING, room=item.session or "notes", content=item.spoken, source_file=item.id
        )
        if not stored.get("success"):
            raise RuntimeError(str(stored.get("error")))
        return item.id

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        answer = self._server.tool_search(question, limit=k)
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return [str(hit["source_file"]) for hit in answer["results"]]

    def lean(self) -> None:
        from mempalace.embedding import get_embedding_function

        embed_unpadded(get_embedding_function())


DRIVER = MemPalace
