"""H1 to H5: names, values, opening, remembering, recalling by meaning."""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import nacre.compat.ai_houkai as package
from nacre.compat.ai_houkai import memory_system
from nacre.compat.ai_houkai.memory_system import ExpandSpec, HybridWeights, Link, Memory, MemoryStore, PackResult
from tests.compat.ai_houkai.conftest import Opened

EXPORTED = (
    "Memory MemoryStore MemoryType Link Graph HybridWeights ExpandSpec Conflict ConflictError ConflictFn PackResult"
    " PackedMemory ExportSummary ImportSummary ImportConflictError Journal JournalEntry DecayEngine ReflectionEngine"
).split()


@pytest.mark.accepts("H1.2", "H1.3")
def test_every_published_name_is_exported() -> None:
    assert set(EXPORTED) <= set(memory_system.__all__)
    assert {"Memory", "MemoryType", "MemoryStore", "DecayEngine", "ReflectionEngine"} <= set(package.__all__)


@pytest.mark.accepts("H1.5", "H1.6", "H1.7", "H18.1")
def test_the_commands_of_the_package_are_installed_and_lead_somewhere() -> None:
    values = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    for name in ("houkai", "ai-houkai-mcp", "ai-houkai-install-claude-code"):
        module, _, function = values[name].partition(":")
        assert callable(getattr(import_module(module), function))


@pytest.mark.accepts("H1.11", "H2.7")
def test_a_record_of_an_older_version_loads_with_neutral_values() -> None:
    old = Memory.from_record("x", "a text", {"type": "episodic", "tags": "a,,b", "source": ""})
    assert (old.tags, old.source, old.links, old.superseded_by, old.superseded_at) == (["a", "b"], None, [], "", 0.0)
    assert (old.polarity, old.importance, old.access_count) == (0, 0.5, 0)


@pytest.mark.accepts("H2.6", "H2.8")
def test_metadata_hold_plain_values_and_bring_the_memory_back() -> None:
    memory = Memory(
        "x", "a text", "feedback", ["a", "b"], 0.7, 10.0, 20.0, 3, "user", [Link("y", "refines")], polarity=-1
    )
    meta = memory.to_metadata()
    assert all(isinstance(value, str | int | float) for value in meta.values())
    assert (meta["tags"], json.loads(str(meta["links"]))) == ("a,b", [{"to": "y", "rel": "refines"}])
    assert Memory.from_record("x", "a text", meta) == memory
    assert Memory.from_dict(memory.to_dict()) == memory


@pytest.mark.accepts("H2.8")
def test_unreadable_links_are_ignored() -> None:
    assert Memory.from_record("x", "a text", {"links": "[{"}).links == []


@pytest.mark.accepts("H2.13", "H2.14")
def test_weights_and_walks_have_the_published_defaults() -> None:
    weights = HybridWeights()
    assert (weights.cosine, weights.lexical, weights.recency, weights.importance) == (0.55, 0.20, 0.15, 0.10)
    assert weights.decay_rate == 0.1
    assert ExpandSpec() == ExpandSpec(("refines", "example_of"), 1, 5, 0.70)
    with pytest.raises(ValueError):
        HybridWeights(0, 0, 0, 0)


@pytest.mark.accepts("H3.1")
def test_a_store_is_a_directory_that_outlives_the_process(opened: Opened, tmp_path: Path) -> None:
    first = opened()
    kept = first.remember("the kettle is in the left cupboard")
    first.client.close()
    assert (tmp_path / "chroma").is_dir()
    again = opened()._get_by_id(kept.id)
    assert again is not None and again.text == kept.text


@pytest.mark.accepts("H3.7")
def test_collections_in_one_path_do_not_see_each_other(opened: Opened) -> None:
    alice, bob = opened(collection="agent_alice"), opened(collection="agent_bob")
    alice.remember("alice keeps bees")
    assert (alice.count(), bob.count()) == (1, 0)
    assert bob.recall("bees") == []


@pytest.mark.accepts("H3.5")
def test_a_function_from_texts_to_rows_makes_the_vectors(opened: Opened) -> None:
    def by_length(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    store = opened(embedding_fn=by_length)
    store.remember("short")
    assert store.recall("other")[0][1] == pytest.approx(1.0, abs=0.001)


@pytest.mark.slow
@pytest.mark.accepts("H3.8")
def test_forty_stores_that_are_closed_leave_no_files_open(opened: Opened) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("this system does not list open files")
    before = len(list(descriptors.iterdir()))
    for number in range(40):
        each = opened(f"chroma-{number}")
        each.remember("one")
        each.client.close()
    assert len(list(descriptors.iterdir())) < before + 20


@pytest.mark.accepts("H4.1", "H4.3", "H2.2")
def test_remembering_gives_the_memory_with_its_defaults(store: MemoryStore) -> None:
    memory = store.remember("  spaces around  ")
    assert (memory.text, memory.type, memory.tags, memory.importance) == ("spaces around", "semantic", [], 0.5)
    assert (len(memory.id), memory.source, store.count()) == (36, None, 1)


@pytest.mark.accepts("H4.3")
def test_importance_is_brought_between_0_and_1(store: MemoryStore) -> None:
    assert [store.remember("x y z", importance=each).importance for each in (5.0, -1.0)] == [1.0, 0.0]


@pytest.mark.accepts("H4.5")
def test_what_is_forgotten_is_gone(store: MemoryStore) -> None:
    memory = store.remember("to be forgotten")
    assert store.forget(memory.id) is True
    assert store.forget(memory.id) is False
    assert (store.count(), store._get_by_id(memory.id)) == (0, None)


@pytest.mark.accepts("H4.6", "H4.7", "H10.5")
def test_the_newest_are_listed_first_without_the_superseded(store: MemoryStore) -> None:
    first, second, third = (store.remember(text) for text in ("one", "two", "three"))
    store.supersede(second.id, third.id)
    assert [each.id for each in store.list_recent()] == [third.id, first.id]
    assert len(store.list_recent(limit=2, include_superseded=True)) == 2
    assert store.count() == 3


@pytest.mark.accepts("H5.1", "H5.3")
def test_recall_gives_pairs_and_counts_the_use(store: MemoryStore) -> None:
    store.remember("the deploy script lives in tools")
    [(memory, score)] = store.recall("where is the deploy script", k=1)
    assert (isinstance(memory, Memory), 0.0 <= score <= 1.0, memory.access_count) == (True, True, 1)
    stands = store._get_by_id(memory.id)
    assert stands is not None and stands.access_count == 1


@pytest.mark.accepts("H5.2", "H5.5")
def test_all_filters_of_a_recall_work_together(store: MemoryStore) -> None:
    store.remember("tea at noon", type="episodic", tags=["tea"], importance=0.9)
    store.remember("tea at noon", type="episodic", tags=["tea"], importance=0.1)
    store.remember("tea at noon", type="semantic", tags=["tea"], importance=0.9)
    store.remember("tea at noon", type="episodic", tags=["noon"], importance=0.9)
    matches = store.recall("tea at noon", type="episodic", tag="tea", min_importance=0.5)
    assert [(each.type, each.tags, each.importance) for each, _ in matches] == [("episodic", ["tea"], 0.9)]


@pytest.mark.accepts("H5.4")
def test_nothing_is_found_in_an_empty_store_or_among_none(store: MemoryStore) -> None:
    assert store.recall("anything") == []
    store.remember("seed")
    assert store.recall("seed", k=0) == []


@pytest.mark.accepts("H5")
def test_equal_texts_are_found_each_for_itself(store: MemoryStore) -> None:
    ids = {store.remember("use ruff for linting").id for _ in range(3)}
    assert {memory.id for memory, _ in store.recall("ruff linting", k=5)} == ids


@pytest.mark.accepts("H5.7")
def test_only_the_head_of_a_chain_is_found(store: MemoryStore) -> None:
    a, b, c = (store.remember(f"the port is {port}") for port in (8000, 8001, 8002))
    store.supersede(a.id, b.id)
    store.supersede(b.id, c.id)
    assert [memory.id for memory, _ in store.recall("the port", k=5)] == [c.id]
    assert len(store.recall("the port", k=5, include_superseded=True)) == 3


@pytest.mark.accepts("H5.3")
def test_a_touch_is_kept(store: MemoryStore) -> None:
    memory = store.remember("touched")
    store._touch(memory)
    stands = store._get_by_id(memory.id)
    assert stands is not None and (memory.access_count, stands.access_count) == (1, 1)


@pytest.mark.accepts("H2.12", "H8.3", "H8.4", "H8.7")
def test_a_pack_keeps_to_its_budget_and_says_what_it_dropped(store: MemoryStore) -> None:
    for number in range(4):
        store.remember(f"rule {number} of testing: isolate every store", type="procedural", source="handbook")
    packed = store.recall_pack("testing rules", token_budget=2, token_counter=lambda _: 1)
    assert isinstance(packed, PackResult) and len(packed) == 2 and packed.truncated
    assert packed.used_tokens == sum(item.tokens for item in packed.items) == 2
    lines = packed.text.splitlines()
    assert lines[0] == "## Relevant memory"
    assert lines[1:] == [f"- (procedural) {item.memory.text}" for item in packed.items]
    assert packed.ids() == [item.memory.id for item in packed.items]


@pytest.mark.accepts("H8.3", "H8.4", "H8.6")
def test_a_pack_passes_over_what_does_not_fit_and_goes_on(store: MemoryStore) -> None:
    store.remember("tests tests tests " + "and much more about tests " * 20, importance=1.0)
    store.remember("tests are short")
    packed = store.recall_pack("tests", token_budget=12, header="")
    assert packed.text == "- (semantic) tests are short"
    assert packed.truncated
    assert store.recall_pack("tests", token_budget=1).text == ""
    assert store.recall_pack("tests", token_budget=10_000).truncated is False
