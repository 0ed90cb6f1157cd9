"""Whatever is decided about names, undoing it act by act leads back to where it began."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import MemoryStore
from nacre.engine.engine import entity_kind
from nacre.errors import InvalidInput
from nacre.text.names import extract_entity_name, normalized_name, similar_names

NAMES = ("Sarah Chen", "S. Chen", "sarah chen's", "Chen", "Sara", "Olga Ek", "O. Ek", "Ek", "EK")
names = st.sampled_from(NAMES)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("merge"), st.lists(names, min_size=2, max_size=3)),
        st.tuples(st.just("unalias"), st.lists(names, min_size=1, max_size=1)),
        st.tuples(st.just("distinct"), st.lists(names, min_size=2, max_size=2, unique=True)),
    ),
    max_size=8,
)
SOME = settings().max_examples // 2


def state(store: MemoryStore) -> tuple[object, ...]:
    return (
        dict(store.backend.terms(entity_kind(store.space))),
        store.entities(),
        store.entity_suggestions(None),
        [store.resolve_entity(name) for name in NAMES],
        store.list_recent(100),
    )


def act(store: MemoryStore, name: str, given: list[str]) -> None:
    try:
        if name == "merge":
            store.merge_entities(*given)
        elif name == "unalias":
            store.unalias(given[0])
        else:
            from nacre.engine.entities import judge_distinct

            judge_distinct(store._engine, store.space, *given)
    except InvalidInput:
        pass  # merged names cannot be judged to be two


@pytest.mark.slow
@pytest.mark.usefixtures("stored_in")
@settings(max_examples=SOME)
@given(acts=acts, held=st.lists(st.lists(names, max_size=3), max_size=4))
def test_undoing_every_decision_leads_back_through_every_state(
    acts: list[tuple[str, list[str]]], held: list[list[str]]
) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        for number, entities in enumerate(held):
            store.remember(f"memory {number}", entities=entities)
        stood = [state(store)]
        for name, given in acts:
            entries = len(store.journal(limit=None))
            act(store, name, given)
            if len(store.journal(limit=None)) > entries:
                stood.append(state(store))
            else:
                assert state(store) == stood[-1]
        while len(stood) > 1:
            assert state(store) == stood.pop()
            store.undo()
        assert state(store) == stood[0]


@pytest.mark.slow
@pytest.mark.usefixtures("stored_in")
@settings(max_examples=SOME)
@given(acts=acts)
def test_every_name_leads_to_one_entity_that_leads_to_itself(acts: list[tuple[str, list[str]]]) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        for number, name in enumerate(NAMES):
            store.remember(f"memory {number}", entities=[name])
        for name, given in acts:
            act(store, name, given)
        for name in NAMES:
            known = store.resolve_entity(name)
            assert store.resolve_entity(known) == known
            assert {m.id for m in store.memories_about(name, 99)} == {m.id for m in store.memories_about(known, 99)}
        counted = {each.name: each.count for each in store.entities()}
        assert counted == {name: len(store.memories_about(name, 99)) for name in counted}
        assert sum(counted.values()) == len(NAMES)


@given(st.text(), st.text())
def test_any_two_names_are_compared_and_the_order_does_not_matter(a: str, b: str) -> None:
    assert [pair.reason for pair in similar_names([a, b])] == [pair.reason for pair in similar_names([b, a])]
    once = normalized_name(a)
    assert normalized_name(once) == normalized_name(normalized_name(once))


@pytest.mark.slow
@given(st.lists(st.text(max_size=12) | names, max_size=20))
def test_every_pair_found_among_many_has_a_reason_of_its_own(many: list[str]) -> None:
    for pair in similar_names(many):
        assert pair.reason in [each.reason for each in similar_names([pair.a, pair.b])]


@given(st.text() | st.lists(names | st.text(max_size=5)).map(" ".join))
def test_the_entity_of_any_text_is_in_lower_case(text: str) -> None:
    assert extract_entity_name(text) == extract_entity_name(text).lower()
