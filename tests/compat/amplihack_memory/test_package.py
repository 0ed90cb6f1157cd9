"""The package has the names, the modules and the errors that its users import."""

from __future__ import annotations

from importlib import import_module

import pytest

from nacre.compat import amplihack_memory
from nacre.compat.amplihack_memory import exceptions, hierarchical_memory, memory_types

pytestmark = pytest.mark.accepts("A1")

MODULES = {
    "cognitive_memory": ["CognitiveMemory", "WORKING_MEMORY_CAPACITY", "SIMILARITY_THRESHOLD", "MAX_SEARCH_KEYWORDS"],
    "connector": ["MemoryConnector"],
    "contradiction": ["detect_contradiction"],
    "entity_extraction": ["extract_entity_name"],
    "exceptions": ["MemoryError", "ExperienceNotFoundError", "InvalidExperienceError", "MemoryQuotaExceededError"],
    "experience": ["Experience", "ExperienceType"],
    "hierarchical_memory": ["HierarchicalMemory", "MemoryClassifier", "MemoryCategory", "KnowledgeSubgraph"],
    "memory_types": ["SensoryItem", "WorkingMemorySlot", "ConsolidatedEpisode", "MemoryCategory"],
    "pattern_recognition": ["PatternDetector", "recognize_patterns", "extract_pattern_key"],
    "security": ["SecureMemoryBackend", "QueryValidator", "QueryCostExceededError", "SecurityViolationError"],
    "semantic_search": ["SemanticSearchEngine", "TFIDFSimilarity", "calculate_relevance"],
    "similarity": ["compute_similarity", "rerank_facts_by_query", "_tokenize"],
    "store": ["ExperienceStore"],
}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_has_its_names(module: str) -> None:
    found = import_module(f"nacre.compat.amplihack_memory.{module}")
    assert [name for name in MODULES[module] if not hasattr(found, name)] == []


def test_the_package_offers_every_public_name() -> None:
    assert len(amplihack_memory.__all__) == 35
    assert [name for name in amplihack_memory.__all__ if not hasattr(amplihack_memory, name)] == []


@pytest.mark.accepts("A5")
def test_every_error_is_a_memory_error_and_no_builtin_one() -> None:
    named = ["ExperienceNotFoundError", "InvalidExperienceError", "MemoryQuotaExceededError", "SecurityViolationError"]
    for name in [*named, "QueryCostExceededError"]:
        assert getattr(exceptions, name).__bases__ == (exceptions.MemoryError,)
    assert exceptions.MemoryError.__bases__ == (Exception,)


@pytest.mark.accepts("A4")
def test_the_two_sets_of_categories_have_six_and_five_members() -> None:
    assert len(memory_types.MemoryCategory) == 6
    assert len(hierarchical_memory.MemoryCategory) == 5
