"""The function of AI-Houkai's example agents that runs a model's tool call: JSON in, JSON out."""

from __future__ import annotations

import json
from typing import Any

from .mcp_server.server import _get_store
from .memory_system import MemoryStore

store: MemoryStore | None = None  # set by callers with a store of their own
ROUNDED = 4  # decimals of a score
RETURNED = ("id", "text", "type", "tags", "importance", "score")


def _dispatch_tool(name: str, arguments: str | dict[str, Any]) -> str:
    value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    memory = store or _get_store()
    if name == "remember":
        return as_json({"id": memory.remember(**value).id, "stored": True})
    if name == "recall":
        hits = [{**each.to_dict(), "score": round(score, ROUNDED)} for each, score in memory.recall(**value)]
        return as_json({"results": [{field: hit[field] for field in RETURNED} for hit in hits]})
    if name == "forget":
        return as_json({"deleted": memory.forget(**value)})
    return as_json({"error": f"unknown tool: {name}"})


def as_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
