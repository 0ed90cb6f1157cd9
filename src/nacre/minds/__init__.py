"""APIs for agents: six kinds of memory, a knowledge graph, and experiences with the patterns in them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.minds.cognitive import CognitiveMemory
    from nacre.minds.connector import MemoryConnector
    from nacre.minds.experience import Experience, ExperienceType
    from nacre.minds.experience_store import ExperienceStore
    from nacre.minds.knowledge import HierarchicalMemory
    from nacre.minds.subgraph import KnowledgeSubgraph

# Imported on first use, so that a program that needs one class does not load the others.
_HOMES = {
    "CognitiveMemory": "cognitive", "Experience": "experience", "ExperienceStore": "experience_store",
    "ExperienceType": "experience", "HierarchicalMemory": "knowledge", "KnowledgeSubgraph": "subgraph",
    "MemoryConnector": "connector",
}  # fmt: skip
__all__ = [
    "CognitiveMemory", "Experience", "ExperienceStore", "ExperienceType", "HierarchicalMemory", "KnowledgeSubgraph",
    "MemoryConnector",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre.minds' has no attribute {name!r}")
    return getattr(import_module(f"nacre.minds.{_HOMES[name]}"), name)
