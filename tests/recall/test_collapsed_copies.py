"""Nothing twice."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.model import Hit
from nacre.recall.recall import collapse_copies
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


@pytest.mark.slow
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
