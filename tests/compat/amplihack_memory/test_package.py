"""The package has the names, the modules and the errors that its users import."""

from __future__ import annotations

import ast
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

from nacre.compat import amplihack_memory
from nacre.compat.amplihack_memory import exceptions, hierarchical_memory, memory_types

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


@pytest.mark.accepts("A1.1")
@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_has_its_names(module: str) -> None:
    result = import_module(f"nacre.compat.amplihack_memory.{module}")
    assert [name for name in MODULES[module] if not hasattr(result, name)] == []


@pytest.mark.accepts("A1.1")
def test_the_package_offers_every_public_name() -> None:
    assert len(amplihack_memory.__all__) == 35
    assert [name for name in amplihack_memory.__all__ if not hasattr(amplihack_memory, name)] == []


@pytest.mark.accepts("A5.9")
def test_every_error_is_a_memory_error_and_no_builtin_one() -> None:
    named = ["ExperienceNotFoundError", "InvalidExperienceError", "MemoryQuotaExceededError", "SecurityViolationError"]
    for name in [*named, "QueryCostExceededError"]:
        assert getattr(exceptions, name).__bases__ == (exceptions.MemoryError,)
    assert exceptions.MemoryError.__bases__ == (Exception,)


@pytest.mark.accepts("A4.12")
def test_the_two_sets_of_categories_have_six_and_five_members() -> None:
    assert len(memory_types.MemoryCategory) == 6
    assert len(hierarchical_memory.MemoryCategory) == 5


@pytest.mark.accepts("A4.12")
def test_every_kind_of_memory_has_a_record_with_its_fields() -> None:
    fields = {
        "SensoryItem": ["node_id", "modality", "raw_data", "observation_order", "expires_at", "created_at"],
        "WorkingMemorySlot": ["node_id", "slot_type", "content", "relevance", "task_id", "created_at"],
        "EpisodicMemory": ["node_id", "content", "source_label", "temporal_index", "compressed", "created_at",
                           "metadata"],
    }  # fmt: skip
    names = [*fields, "SemanticFact", "ProceduralMemory", "ProspectiveMemory", "ConsolidatedEpisode"]
    assert all(is_dataclass(getattr(memory_types, name)) for name in names)
    for name, result in fields.items():
        assert list(getattr(memory_types, name).__dataclass_fields__) == result
    assert {each.value for each in memory_types.MemoryCategory} == {
        "sensory", "working", "episodic", "semantic", "procedural", "prospective",
    }  # fmt: skip


UTILITIES = ("contradiction", "entity_extraction", "experience", "pattern_recognition", "semantic_search", "similarity")


def parsed(module: str) -> ast.Module:
    file = import_module(f"nacre.compat.amplihack_memory.{module}").__file__
    return ast.parse(Path(str(file)).read_text("utf-8"))


@pytest.mark.accepts("A1.2")
@pytest.mark.parametrize("module", UTILITIES)
def test_a_utility_needs_none_of_its_neighbours(module: str) -> None:
    imports = [node for node in ast.walk(parsed(module)) if isinstance(node, ast.ImportFrom)]
    assert imports and [node.module for node in imports if node.level] == []


@pytest.mark.accepts("A1.2")
@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_is_a_stub(module: str) -> None:
    tree = parsed(module)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    said = {each.name: [line for line in each.body if not is_bare(line)] for each in functions}
    assert [name for name, body in said.items() if not body] == []
    assert "NotImplementedError" not in ast.unparse(tree)


def is_bare(line: ast.stmt) -> bool:
    return isinstance(line, ast.Pass) or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
