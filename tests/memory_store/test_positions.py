"""Turns that are stored without a position come one after another in their session."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from tests.overtaken import Overtaken
from tests.prepared_stores import empty_store


@pytest.fixture(params=["sqlite", "in_memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder="hashing") as opened:
        yield opened


def positions(store: MemoryStore, session: str) -> list[int | None]:
    return [turn.position for turn in store.list_recent(50, order="oldest", session=session)]


def test_turns_stored_one_after_another_stand_one_after_another(store: MemoryStore) -> None:
    said = [
        store.remember("Which crane lifts the hull of the Ondine?", session="yard", role="user"),
        store.remember("The yellow one, on Tuesday.", session="yard", role="assistant"),
        store.remember("Then tell the pilot.", session="yard", role="user"),
    ]
    store.remember("An unrelated thing", session="other", role="user")
    assert [turn.position for turn in said] == positions(store, "yard") == [0, 1, 2]
    hit = store.recall("which crane lifts the hull", k=1, with_context=1)[0]
    neighbours = {turn.text for turn in (hit.memory, *hit.context)}
    assert neighbours == {said[0].text, said[1].text}


def test_the_same_words_said_twice_are_two_turns(store: MemoryStore) -> None:
    turns = [store.remember("Go on.", session="yard", role="user") for _ in range(2)]
    assert [turn.position for turn in turns] == [0, 1]


def test_many_turns_at_once_go_on_after_the_highest_position(store: MemoryStore) -> None:
    store.remember("First", session="a", role="user", position=4)
    items: list[dict[str, object]] = [
        {"text": "Second", "session": "a", "role": "assistant"},
        {"text": "Third", "session": "a", "role": "user", "position": 9},
        {"text": "Fourth", "session": "a", "role": "assistant", "position": None},
        {"text": "Elsewhere", "session": "b", "role": "user"},
    ]
    assert [turn.position for turn in store.remember_many(items)] == [5, 9, 10, 0]
    assert positions(store, "a") == [4, 5, 9, 10]


def test_a_note_of_a_session_and_a_turn_of_none_have_no_position(store: MemoryStore) -> None:
    assert store.remember("The hull is steel", session="yard").position is None
    assert store.remember("Said somewhere", role="user").position is None


def test_the_position_of_a_forgotten_turn_is_not_given_again(store: MemoryStore) -> None:
    turn = store.remember("One", session="yard", role="user")
    store.forget(turn.id)
    assert store.remember("Two", session="yard", role="user").position == 1


def test_a_turn_that_replaces_another_comes_after_the_last_one(store: MemoryStore) -> None:
    old = store.remember("The mast is 12 m high", session="yard", role="user")
    new = store.remember("The mast is 14 m high", session="yard", role="user", replaces=old.id)
    assert (old.position, new.position) == (0, 1)


def test_a_turn_comes_after_those_that_another_writer_adds_meanwhile(store: MemoryStore) -> None:
    slow = store.as_actor("slow")
    below = Overtaken(store.backend, lambda: store.remember("Quick", session="yard", role="user"))
    slow._engine = replace(slow._engine, store=below)  # type: ignore[arg-type]
    assert slow.remember("Slow", session="yard", role="user").position == 1
    assert {turn.text: turn.position for turn in store.iterate(session="yard")} == {"Quick": 0, "Slow": 1}


def test_turns_stored_by_threads_have_positions_of_their_own(store: MemoryStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.remember(f"Turn {n}", session="yard", role="user"), range(12)))
    assert sorted(positions(store, "yard"), key=lambda at: at or 0) == list(range(12))


def test_an_agent_counts_only_what_it_may_see(tmp_path: Path) -> None:
    path = empty_store(tmp_path / "s.db")
    can = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with (
        MemoryStore(path, embedder="hashing", agent="ada", capabilities=can) as ada,
        MemoryStore(path, embedder="hashing", agent="bob", capabilities=can) as bob,
    ):
        assert [ada.remember(text, session="yard", role="user").position for text in ("One", "Two")] == [0, 1]
        assert bob.remember("Three", session="yard", role="user").position == 0
