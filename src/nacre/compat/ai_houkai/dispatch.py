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
        return told({"id": memory.remember(**value).id, "stored": True})
    if name == "recall":
        return told({"results": [found(each.to_dict(), score) for each, score in memory.recall(**value)]})
    if name == "forget":
        return told({"deleted": memory.forget(**value)})
    return told({"error": f"unknown tool: {name}"})


def found(memory: dict[str, Any], score: float) -> dict[str, Any]:
    kept = ("id", "text", "type", "tags", "importance")
    return {**{name: memory[name] for name in kept}, "score": round(score, ROUNDED)}


def told(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
