"""The function of AI-Houkai's example agents that carries out what a model calls: JSON in, JSON out."""

from __future__ import annotations

import json
from typing import Any

from .mcp_server.server import _get_store
from .memory_system import MemoryStore

store: MemoryStore | None = None  # whoever has a store of their own puts it here
ROUNDED = 4


def _dispatch_tool(name: str, arguments: str | dict[str, Any]) -> str:
    value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    memory = store or _get_store()
    if name == "remember":
        return as_json({"id": memory.remember(**value).id, "stored": True})
    if name == "recall":
        return as_json({"results": [search_result(each.to_dict(), score) for each, score in memory.recall(**value)]})
    if name == "forget":
        return as_json({"deleted": memory.forget(**value)})
    return as_json({"error": f"unknown tool: {name}"})


def search_result(memory: dict[str, Any], score: float) -> dict[str, Any]:
    kept = ("id", "text", "type", "tags", "importance")
    return {**{name: memory[name] for name in kept}, "score": round(score, ROUNDED)}


def as_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
