"""Mnemosyne's MCP server: its eight tools over one store, for a client or to be called directly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import nacre.mcp  # noqa: F401 - first: it says what to install when mcp_types is missing

# isort: split
from mcp_types import TextContent
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore
from nacre.errors import NacreError, UnknownName
from nacre.mcp.calls import argument_errors, check_arguments, tool_named
from nacre.mcp.profiles import mnemosyne as profile
from nacre.mcp.server import make_server, tool_list
from nacre.mcp.stdio import serve
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import ToolSession
from nacre.model.memory import Json
from nacre.settings import Settings as NativeSettings

from .config.settings import Settings
from .core.consolidator import MemoryConsolidator
from .core.constants import MEMORY_SUMMARY_LENGTH
from .core.models import ConsolidationConfig, EmotionalContext, Memory, MemoryType

KINDS = [kind.value for kind in MemoryType]
RESULT_FIELDS = (
    "id", "content", "summary", "memory_type", "tags", "emotional_context", "importance_score", "relevance_score",
    "created_at",
)  # fmt: skip
memory_store: ChromaMemoryStore | None = None
_settings: Settings | None = None


def initialize(persist_directory: str | None = None, settings: Settings | None = None) -> None:
    global memory_store, _settings
    _settings = settings or Settings()
    memory_store = ChromaMemoryStore(persist_directory, None, _settings.storage, _settings.retrieval)


def _ensure_initialized() -> ChromaMemoryStore:
    if memory_store is None:
        raise RuntimeError("Server not initialized; call initialize() first.")
    return memory_store


def _config(**fields: float | None) -> ConsolidationConfig:
    data = _settings.consolidation.model_dump() if _settings else {}
    return ConsolidationConfig(**{**data, **{name: value for name, value in fields.items() if value is not None}})


def _felt(fields: Mapping[str, Any] | None) -> EmotionalContext | None:
    return EmotionalContext(*profile.feeling(dict(fields)), fields.get("quadrant", "neutral")) if fields else None


def store_memory(
    session: ToolSession, content: str, summary: str | None = None, memory_type: str = "episodic",  # noqa: ARG001
    tags: list[str] | None = None, emotional_context: dict[str, Any] | None = None,
) -> dict[str, Json]:  # fmt: skip
    UnknownName.check("memory type", memory_type, KINDS)
    memory = Memory(content=content, summary=summary or content[:MEMORY_SUMMARY_LENGTH], tags=tags or [])
    memory.memory_type, memory.emotional_context = MemoryType(memory_type), _felt(emotional_context)
    memory.importance_score = memory.compute_importance()
    _ensure_initialized().add_memory(memory)
    return {"id": memory.id, "importance_score": memory.importance_score, "status": "stored"}


def search_memories(
    session: ToolSession, query: str, n_results: int = 10, use_hybrid: bool = True,  # noqa: ARG001
    emotional_context: dict[str, Any] | None = None, emotion_weight: float = 0.3,
) -> dict[str, Json]:  # fmt: skip
    store, felt = _ensure_initialized(), _felt(emotional_context)
    if use_hybrid:
        result = store.search_memories_hybrid(query, n_results, emotional_context=felt, emotion_weight=emotion_weight)
    else:
        result = store.search_memories(query, n_results)
    return {"query": query, "hybrid_search": use_hybrid, "results": [_result(memory) for memory in result]}


def _result(memory: Memory) -> dict[str, Json]:
    near = 1.0 - memory.metadata.get("relevance_distance", 1.0)
    data = {**memory.to_dict(), "relevance_score": memory.metadata.get("relevance_score", near)}
    return {name: data[name] for name in RESULT_FIELDS}


def consolidate_memories(
    session: ToolSession, importance_threshold: float | None = None,  # noqa: ARG001
    similarity_threshold: float | None = None,
) -> dict[str, Json]:  # fmt: skip
    config = _config(importance_threshold=importance_threshold, similarity_threshold=similarity_threshold)
    return MemoryConsolidator(_ensure_initialized(), config).consolidate().to_dict()


def should_consolidate(session: ToolSession) -> dict[str, Json]:
    due, reason = MemoryConsolidator(_ensure_initialized(), _config()).should_consolidate()
    data = get_memory_stats(session)
    counts = {"short_term_count": data["short_term"], "long_term_count": data["long_term"]}
    return {"should_consolidate": due, "reason": reason, **counts}


def get_memory_stats(session: ToolSession) -> dict[str, Json]:  # noqa: ARG001
    store = _ensure_initialized()
    terms = {"short_term": store.short_term.count(), "long_term": store.long_term.count()}
    return {"total_memories": store.count_memories(), **terms}


def delete_memory(session: ToolSession, memory_id: str) -> dict[str, Json]:  # noqa: ARG001
    return {"deleted": _ensure_initialized().delete_memory(memory_id), "memory_id": memory_id}


TOOLS = (store_memory, search_memories, consolidate_memories, should_consolidate, get_memory_stats, delete_memory)
PROFILE = profile.PROFILE.running({each.__name__: each for each in TOOLS})


provider = StoreProvider(NativeSettings(), lambda _settings: _ensure_initialized().memories)
server = make_server(PROFILE, provider)


async def list_tools() -> list[ListedTool]:
    return tool_list(PROFILE).tools


async def call_tool(name: str, arguments: Mapping[str, Any]) -> list[TextContent]:
    """Errors of the caller are returned as `{"error": …}`."""
    _ensure_initialized()
    try:
        data = await answer(name, arguments)
    except NacreError as error:
        data = {"error": str(error)}
    except ValidationError as error:
        data = {"error": argument_errors(name, error)}
    return [TextContent(text=json.dumps(data, indent=2))]


async def answer(name: str, arguments: Mapping[str, Any]) -> Any:
    tool = tool_named(PROFILE, name)
    session = ToolSession(_ensure_initialized().memories, lambda *done: None)  # noqa: ARG005
    return await asyncio.to_thread(tool.run, session, **check_arguments(tool, arguments))


def __getattr__(name: str) -> Any:
    """Each tool's own `_handle_NAME`, which takes the arguments as a mapping."""
    tool = {"_handle_get_stats": "get_memory_stats"}.get(name, name.removeprefix("_handle_"))
    if not name.startswith("_handle_") or tool not in {each.name for each in PROFILE.tools}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lambda args=None: answer(tool, args or {})


async def run_server() -> None:
    await serve(server)
