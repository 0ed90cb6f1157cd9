"""Mnemosyne's store."""

from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore

CHROMA_AVAILABLE = True

__all__ = ["ChromaMemoryStore"]
