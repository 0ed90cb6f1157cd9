"""Mnemosyne's store."""

from .chroma_store import ChromaMemoryStore

CHROMA_AVAILABLE = True

__all__ = ["ChromaMemoryStore"]
