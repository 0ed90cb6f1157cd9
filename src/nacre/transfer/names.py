"""The names of what can be imported and ingested, for commands that offer them without loading what reads it."""

from __future__ import annotations

# In the order in which they are tried: what is more particular comes first.
SOURCES = (
    "archive", "notes", "chroma", "ai-lessons", "amplihack", "mem0", "mem0-qdrant", "claude-mem", "engram", "langgraph",
    "mcp-memory-service", "server-memory", "letta", "obsidian", "basic-memory", "claude-code", "codex", "gemini-cli",
    "chatgpt", "claude", "mem0-export", "jsonl", "csv", "markdown", "conversations",
)  # fmt: skip
INGEST_FORMATS = ("claude-code", "chatgpt", "claude", "codex", "gemini-cli", "jsonl", "markdown")
