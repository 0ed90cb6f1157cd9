"""H9 to H11: ties, succession, conflicts."""

from __future__ import annotations

import warnings

import pytest

from nacre.compat.ai_houkai.memory_system import ConflictError, Memory, MemoryStore
from nacre.compat.ai_houkai.memory_system.store import _negation_diff
from tests.compat.ai_houkai.conftest import Opened

NOWHERE = "00000000-0000-0000-0000-000000000000"


def stands(store: MemoryStore, id: str) -> Memory:
    result = store._get_by_id(id)
    assert result is not None
    return result


@pytest.mark.accepts("H9.1", "H9.7")
def test_a_link_is_created_once_and_stored_with_its_source(store: MemoryStore) -> None:
    a, b = store.remember("a rule"), store.remember("a case")
    store.link(a.id, b.id, rel="example_of")
    store.link(a.id, b.id, rel="example_of")
    assert [(link.to, link.rel) for link in stands(store, a.id).links] == [(b.id, "example_of")]
    assert stands(store, b.id).links == []


@pytest.mark.accepts("H9.2")
def test_a_link_to_itself_or_from_an_unknown_memory_is_refused(store: MemoryStore) -> None:
    a = store.remember("alone")
    with pytest.raises(ValueError, match="itself"):
        store.link(a.id, a.id)
    with pytest.raises(KeyError):
        store.link(NOWHERE, a.id)


@pytest.mark.accepts("H9.3")
def test_a_link_to_an_unknown_memory_is_stored_and_reported(store: MemoryStore) -> None:
    a = store.remember("alone")
    store.link(a.id, NOWHERE, rel="my_own_relation")
    result = store.neighbors(a.id)
    assert (list(result), result.dangling) == ([], [NOWHERE])


@pytest.mark.accepts("H9.4")
def test_untying_takes_one_relation_or_all(store: MemoryStore) -> None:
    a, b = store.remember("a"), store.remember("b")
    for rel in ("refines", "related", "example_of"):
        store.link(a.id, b.id, rel)
    assert (store.unlink(a.id, b.id, "refines"), store.unlink(a.id, b.id), store.unlink(NOWHERE, b.id)) == (1, 2, 0)


@pytest.mark.accepts("H9.5", "H9.7")
def test_each_neighbour_is_returned_once_in_the_requested_direction(store: MemoryStore) -> None:
    a, b, c = (store.remember(text) for text in ("a", "b", "c"))
    store.link(a.id, b.id, "refines")
    store.link(b.id, c.id, "refines")
    store.link(c.id, a.id, "related")
    assert [(m.id, rel) for m, rel in store.neighbors(a.id, direction="out")] == [(b.id, "refines")]
    assert [(m.id, rel) for m, rel in store.neighbors(a.id, direction="in")] == [(c.id, "related")]
    assert sorted(m.id for m, _ in store.neighbors(a.id, direction="out", depth=5)) == sorted([b.id, c.id])
    assert store.neighbors(a.id, rel="contradicts") == []


@pytest.mark.accepts("H2.9", "H9.6")
def test_a_subgraph_of_depth_0_is_its_seeds(store: MemoryStore) -> None:
    a, b = store.remember("a"), store.remember("b")
    store.link(a.id, b.id, "refines")
    graph = store.subgraph([a.id], depth=1)
    assert set(graph.nodes) == {a.id, b.id} and graph.edges == [(a.id, b.id, "refines")]
    assert set(store.subgraph([a.id], depth=0).nodes) == {a.id}


@pytest.mark.accepts("H10.1", "H10.3", "H10.4")
def test_a_successor_hides_the_old_memory_and_is_linked_to_it_once(store: MemoryStore) -> None:
    old, new = store.remember("old"), store.remember("new")
    store.supersede(old_id=old.id, new_id=new.id)
    store.supersede(old_id=old.id, new_id=new.id)
    assert stands(store, old.id).superseded_by == new.id and stands(store, old.id).superseded_at > 0
    assert [(link.to, link.rel) for link in stands(store, new.id).links] == [(old.id, "supersedes")]
    assert store.restore(old.id) is True
    assert (stands(store, old.id).superseded_by, stands(store, new.id).links) == ("", [])
    assert (store.restore(old.id), store.restore(NOWHERE)) == (False, False)


@pytest.mark.accepts("H10.2", "H10.3")
def test_no_succession_can_close_to_a_ring(store: MemoryStore) -> None:
    a, b, c = (store.remember(text) for text in ("a", "b", "c"))
    with pytest.raises(ValueError, match="itself"):
        store.supersede(a.id, a.id)
    store.supersede(a.id, b.id)
    with pytest.raises(ValueError, match="cycle"):
        store.supersede(b.id, a.id)
    store.supersede(b.id, c.id)
    with pytest.raises(ValueError, match="cycle"):
        store.supersede(c.id, a.id)
    with pytest.raises(KeyError):
        store.supersede(NOWHERE, a.id)
    with pytest.raises(KeyError):
        store.supersede(c.id, NOWHERE)


@pytest.mark.accepts("H11.2")
def test_negations_are_compared_by_whether_their_number_is_odd() -> None:
    assert _negation_diff("use it", "never use it")
    assert _negation_diff("use it", "don't use it")
    assert not _negation_diff("never use it", "avoid using it")
    assert not _negation_diff("use it", "do use it")
    assert _negation_diff("not never use it", "not use it")


@pytest.mark.accepts("H11.5", "H11.12")
def test_a_denial_contradicts_and_a_copy_repeats(store: MemoryStore) -> None:
    store.remember("use ruff for linting", tags=["lint"])
    denied = store.remember("never use ruff for linting", tags=["lint"])
    store.remember("use ruff for linting", tags=["lint"])
    matches = {(each.kind, each.reason) for each in store.find_conflicts(threshold=0.7)}
    assert matches == {("contradiction", "negation_diff"), ("duplicate", "similarity")}
    assert {each.kind for each in store.find_conflicts(denied.id, threshold=0.7)} == {"contradiction"}


@pytest.mark.accepts("H11.1")
def test_types_disjoint_tags_and_succession_keep_two_memories_apart(store: MemoryStore) -> None:
    store.remember("use ruff", type="procedural")
    store.remember("use ruff", type="semantic", tags=["a"])
    store.remember("use ruff", type="semantic", tags=["b"])
    assert store.find_conflicts() == []
    untagged = store.remember("use ruff", type="semantic")
    assert len(store.find_conflicts(untagged.id)) == 2
    old, new = store.remember("eat fish", type="feedback"), store.remember("eat fish", type="feedback")
    store.supersede(old.id, new.id)
    assert store.find_conflicts(new.id) == []


@pytest.mark.accepts("H11.6")
def test_opposite_polarity_is_reported_before_the_negation(store: MemoryStore) -> None:
    store.remember("use ruff", polarity=1)
    store.remember("never use ruff", polarity=-1)
    assert [each.reason for each in store.find_conflicts(threshold=0.5)] == ["polarity"]


@pytest.mark.accepts("H11.4")
def test_ones_own_judge_is_asked_only_where_no_negation_decides(opened: Opened) -> None:
    asked: list[tuple[Memory, Memory]] = []

    def contradicts(a: Memory, b: Memory) -> bool:
        asked.append((a, b))
        return True

    store = opened(contradiction_fn=contradicts)
    store.remember("use ruff for linting")
    store.remember("never use ruff for linting")
    assert [each.reason for each in store.find_conflicts(threshold=0.7)] == ["negation_diff"]
    assert asked == []
    store.remember("use ruff for linting")
    assert "custom_fn" in {each.reason for each in store.find_conflicts(threshold=0.7)}
    assert all(isinstance(each, Memory) for pair in asked for each in pair)


@pytest.mark.accepts("H11.7")
def test_a_summary_never_contradicts_what_it_was_made_from(store: MemoryStore) -> None:
    source = store.remember("use ruff for linting")
    summary = store.remember("never use ruff for linting")
    store.link(summary.id, source.id, "derived_from")
    assert [each.kind for each in store.find_conflicts(threshold=0.7)] == ["duplicate"]


@pytest.mark.accepts("H11.8", "H11.9")
def test_by_default_nothing_is_compared(store: MemoryStore) -> None:
    store.remember("use ruff")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.remember_result("use ruff").conflicts == []


@pytest.mark.accepts("H11.8", "H11.10")
def test_warn_stores_and_warns(store: MemoryStore) -> None:
    store.remember("use ruff")
    with pytest.warns(UserWarning, match="conflict"):
        result = store.remember_result("use ruff", on_conflict="warn")
    assert (result.action, len(result.conflicts), store.count()) == ("stored", 1, 2)


@pytest.mark.accepts("H2.11", "H11.8", "H11.10", "H11.11")
def test_raise_leaves_nothing_stored(store: MemoryStore) -> None:
    store.remember("use ruff")
    with pytest.raises(ConflictError) as caught:
        store.remember("use ruff", on_conflict="raise")
    assert (len(caught.value.conflicts), store.count()) == (1, 1)


@pytest.mark.accepts("H1.4", "H11.8", "H11.10")
def test_supersede_lets_the_new_one_take_the_place_of_what_it_conflicts_with(opened: Opened) -> None:
    store = opened(conflict_policy="supersede")
    old = store.remember("use ruff")
    result = store.remember_result("use ruff")
    assert result.action == "superseded"
    assert stands(store, old.id).superseded_by == result.memory.id
    assert [link.rel for link in result.memory.links] == ["supersedes"]


@pytest.mark.accepts("H11.8")
def test_an_unknown_policy_is_refused(store: MemoryStore) -> None:
    with pytest.raises(ValueError, match="policy"):
        store.remember("x", on_conflict="supersedes")
