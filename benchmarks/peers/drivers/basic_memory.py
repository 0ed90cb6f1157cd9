"""basic-memory through its MCP tools, called inside the process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

PROJECT = "main"


class BasicMemory(Driver):
    CHANGES = (
        "Its MCP tools `write_note` and `search_notes` (hybrid search, its default), called in the process; one note"
        " for each text. Its default embedder bge-small cannot be downloaded here: fastembed's MiniLM from a local"
        " folder, and no least similarity, as its value is made for bge. Speaker before the text, date as metadata."
    )

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        (folder / "notes").mkdir(parents=True, exist_ok=True)
        os.environ |= {
            "HOME": str(home),
            "BASIC_MEMORY_HOME": str(folder / "notes"),
            "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
            "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0.0",
            "FASTEMBED_CACHE_PATH": str(Path(os.environ["PEER_HOME"] + ".home") / "fastembed"),
        }
        import basic_memory.mcp.tools  # noqa: F401 (registers the tools)
        from basic_memory.mcp.server import mcp
        from fastmcp import Client

        self._loop = asyncio.new_event_loop()
        self._client: Any = Client(mcp)
        self._loop.run_until_complete(self._client.__aenter__())

    def _call(self, tool: str, arguments: dict[str, object]) -> Any:
        answer = self._loop.run_until_complete(self._client.call_tool(tool, {**arguments, "output_format": "json"}))
        return answer.structured_content.get("result", answer.structured_content)

    def add(self, item: Item) -> str:
        written = self._call(
            "write_note",
            {"title": item.id, "content": item.spoken, "directory": "notes", "metadata": {"date": str(item.at)}},
        )
        if written.get("error"):
            raise RuntimeError(str(written["error"]))
        return item.id

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        answer = self._call("search_notes", {"query": question, "page_size": k})
        if not isinstance(answer, dict):
            raise RuntimeError(str(answer))
        return [str(hit["title"]) for hit in answer["results"]]

    def close(self) -> None:
        self._loop.run_until_complete(self._client.__aexit__(None, None, None))


DRIVER = BasicMemory
