"""mcp-memory-service through the service behind its MCP tools, on its default SQLite storage."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

STANDS_FOR = re.compile(r"semantically similar to (\w+)")


class McpMemoryService(Driver):
    CHANGES = (
        "`MemoryService` (what its MCP tools call) on the `sqlite_vec` storage, package with the extra `sqlite`. Its"
        " ONNX MiniLM was put into the cache that it downloads to. Turns carry their session as `conversation_id`,"
        " which turns its check for similar texts off, as documented; notes are checked. Speaker before the text,"
        " date as metadata."
    )

    def __init__(self, folder: Path) -> None:
        os.environ["MCP_MEMORY_SQLITE_PATH"] = str(folder / "memory.db")
        os.environ["MCP_MEMORY_BASE_DIR"] = str(folder)
        os.environ["MCP_MEMORY_STORAGE_BACKEND"] = "sqlite_vec"
        from mcp_memory_service.services.memory_service import MemoryService
        from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

        self._loop = asyncio.new_event_loop()
        self._storage: Any = SqliteVecMemoryStorage(str(folder / "memory.db"))
        self._loop.run_until_complete(self._storage.initialize())
        self._service: Any = MemoryService(self._storage)
        self._ids: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def add(self, item: Item) -> str:
        stored = self._loop.run_until_complete(
            self._service.store_memory(
                item.spoken, metadata={"key": item.id, "at": item.at}, conversation_id=item.session or None
            )
        )
        if stored.get("success"):
            self._texts[item.spoken] = item.id
            memory = stored["memory"] if "memory" in stored else stored["memories"][0]
            self._ids[str(memory["content_hash"])] = item.id
            return item.id
        return self._stand_in(item, str(stored.get("error")))

    def _stand_in(self, item: Item, error: str) -> str:
        similar = STANDS_FOR.search(error)
        if similar:  # perhaps stored by another process, which alone knows its id
            return self._ids.get(similar.group(1), similar.group(1))
        if item.spoken in self._texts:
            return self._texts[item.spoken]
        raise RuntimeError(error)

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        answer = self._loop.run_until_complete(self._service.retrieve_memories(question, n_results=k))
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return [str(memory["metadata"]["key"]) for memory in answer["memories"]]

    def lean(self) -> None:
        self._storage.embedding_model._tokenizer.no_padding()

    def close(self) -> None:
        self._loop.run_until_complete(self._storage.close())


DRIVER = McpMemoryService
