"""amplihack-memory-lib under its own names: six kinds of memory, a graph of knowledge, experiences, and their guard."""

# ruff: noqa: I001
# fmt: off
from .cognitive_memory import CognitiveMemory
from .connector import MemoryConnector
from .contradiction import detect_contradiction
from .entity_extraction import extract_entity_name
from .exceptions import (ExperienceNotFoundError, InvalidExperienceError, MemoryError, MemoryQuotaExceededError,
                         QueryCostExceededError, SecurityViolationError)
from .experience import Experience, ExperienceType
from .hierarchical_memory import HierarchicalMemory, KnowledgeEdge, KnowledgeNode, KnowledgeSubgraph, MemoryClassifier
from .memory_types import (ConsolidatedEpisode, EpisodicMemory, MemoryCategory, ProceduralMemory, ProspectiveMemory,
                           SemanticFact, SensoryItem, WorkingMemorySlot)
from .security import AgentCapabilities, CredentialScrubber, QueryValidator, ScopeLevel, SecureMemoryBackend
from .similarity import compute_similarity, compute_tag_similarity, compute_word_similarity, rerank_facts_by_query
from .store import ExperienceStore

__version__ = "0.4.0"  # of amplihack-memory-lib

__all__ = [
    "AgentCapabilities", "CognitiveMemory", "ConsolidatedEpisode", "CredentialScrubber", "EpisodicMemory", "Experience",
    "ExperienceNotFoundError", "ExperienceStore", "ExperienceType", "HierarchicalMemory", "InvalidExperienceError",
    "KnowledgeEdge", "KnowledgeNode", "KnowledgeSubgraph", "MemoryCategory", "MemoryClassifier", "MemoryConnector",
    "MemoryError", "MemoryQuotaExceededError", "ProceduralMemory", "ProspectiveMemory", "QueryCostExceededError",
    "QueryValidator", "ScopeLevel", "SecureMemoryBackend", "SecurityViolationError", "SemanticFact", "SensoryItem",
    "WorkingMemorySlot", "compute_similarity", "compute_tag_similarity", "compute_word_similarity",
    "detect_contradiction", "extract_entity_name", "rerank_facts_by_query",
]
