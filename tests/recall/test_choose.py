"""Nothing twice, not everything from one place."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.model import Hit
from nacre.recall.recall import cap_sessions, collapse_copies, diversify
from tests.recall.factories import converse, found
from tests.samples import memory


def hits(*texts: str, session: str = "") -> list[Hit]:
    return [Hit(memory(f"m{i}", text, session=session), 1 - i / 10) for i, text in enumerate(texts)]


def ids(chosen: list[Hit]) -> list[str]:
    return [hit.memory.id for hit in chosen]


def test_notes_of_the_same_words_stand_once_and_name_the_others() -> None:
    found = collapse_copies(
        hits("Anna likes green tea", "anna likes green tea!", "Ben does not", "Anna likes GREEN tea.")
    )
    assert ids(found) == ["m0", "m2"]
    assert found[0].collapsed == ("m1", "m3")


@pytest.mark.parametrize(
    ("one", "other"),
    [("She won 9 gold medals", "She won 10 gold medals"), ("v1.2 is out", "v1.3 is out"), ("!!!", "???"),
     ("Anna likes tea", "Anna does not like tea"), ("A pays B", "B pays A")],
)  # fmt: skip
def test_what_tells_something_else_does_not_collapse(one: str, other: str) -> None:
    assert ids(collapse_copies(hits(one, other))) == ["m0", "m1"]


def test_the_same_text_under_another_title_is_another_memory() -> None:
    one, other = Hit(memory("a", "use black", title="Python"), 1.0), Hit(memory("b", "use black", title="Walls"), 0.9)
    assert ids(collapse_copies([one, other])) == ["a", "b"]


def test_turns_of_conversations_do_not_collapse() -> None:
    assert ids(collapse_copies(hits("yes", "yes", session="s"))) == ["m0", "m1"]


def test_a_session_s_surplus_comes_after_the_others() -> None:
    mixed = [*hits("a", "b", "c", session="s"), Hit(memory("note"), 0.1), Hit(memory("t", session="t"), 0.05)]
    assert ids(cap_sessions(mixed, 1)) == ["m0", "note", "t", "m1", "m2"]
    assert ids(cap_sessions(mixed, 2)) == ["m0", "m1", "note", "t", "m2"]
    assert ids(cap_sessions(mixed, 0)) == ids(mixed)


def test_notes_outside_of_a_conversation_are_no_session() -> None:
    assert ids(cap_sessions(hits("a", "b", "c"), 1)) == ["m0", "m1", "m2"]


def test_diversity_prefers_the_unlike() -> None:
    alike = hits("green tea from Uji", "green tea from Nara", "the port is 5432")
    assert ids(diversify(alike, 2, 0.7)) == ["m0", "m2"]
    assert ids(diversify(alike, 2, 0.01)) == ["m0", "m1"]
    assert ids(diversify(alike, 9, 1.0))[0] == "m0"


def test_scores_below_zero_do_not_turn_diversity_round() -> None:
    low = [Hit(memory("a", "one"), -0.1), Hit(memory("b", "two"), -0.9)]
    assert ids(diversify(low, 2, 0.1)) == ["a", "b"]


def test_a_recall_lists_what_it_collapsed_and_still_brings_k(store: MemoryStore) -> None:
    for n in range(40):
        store.remember("the wifi code is blue horse", id=f"copy{n}")
    for n in range(4):
        store.remember(f"the wifi code of floor {n} has a zebra in it", id=f"floor{n}")
    for strategy in ("auto", "semantic", "keyword", "hybrid", "rrf"):
        first, *others = store.recall("wifi code", k=5, strategy=strategy, touch=False)
        assert first.memory.id.startswith("copy")
        assert len(first.collapsed) == 39
        assert {hit.memory.id for hit in others} == {f"floor{n}" for n in range(4)}


def test_at_most_so_many_of_one_session_while_there_are_others(store: MemoryStore) -> None:
    converse(store, "loud", [("user", f"the trip to Rome was long, part {n} of the story of Rome") for n in range(30)])
    for name in ("a", "b", "c"):
        converse(store, name, [("user", f"someone called {name} told of a trip once")])
    assert len({store.get(id).session for id in found(store, "trip to Rome", k=4)}) == 1  # type: ignore[union-attr]
    spread = store.recall("trip to Rome", k=4, per_session=1)
    assert {hit.memory.session for hit in spread} == {"loud", "a", "b", "c"}
    filled = store.recall("trip to Rome", k=6, per_session=1)
    assert [hit.memory.session for hit in filled].count("loud") == 3
    assert len(filled) == 6


def test_a_recall_can_ask_for_diversity(store: MemoryStore) -> None:
    for n in range(20):
        store.remember(f"the trip to Rome and its hotel bill number {n}", id=f"bill{n}")
    store.remember("a trip along the coast by bicycle", id="other")
    assert "other" not in found(store, "trip to Rome", k=3)
    assert "other" in found(store, "trip to Rome", k=3, diversity=0.7)
