"""Chains of versions: dates, several forerunners, great lengths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from nacre import Memory, MemoryStore
from nacre.errors import InvalidInput, SupersedeCycle
from nacre.model import Link
from tests.engine.conftest import Ticking
from tests.samples import existing, ids


def kept(store: MemoryStore, *ids: str) -> None:
    for id in ids:
        store.remember(f"text of {id}", id=id, on_conflict="ignore")


def without_dates(memory: Memory) -> Memory:
    return replace(memory, updated_at=0.0)


def supersedes(store: MemoryStore, id: str) -> list[str]:
    return [link.to for link in existing(store, id).links if link.rel == "supersedes"]


def test_the_new_truth_begins_when_it_was_learned_and_the_old_one_ends_then(store: MemoryStore) -> None:
    kept(store, "old", "new")
    store.supersede("old", "new", why="it changed")
    old, new = existing(store, "old"), existing(store, "new")
    assert old.valid_until == new.valid_from == new.created_at
    assert old.superseded_at is not None
    assert old.superseded_at > new.created_at
    assert [(entry.memory_id, entry.operation.name) for entry in store.journal()[:2]] == [
        ("new", "supersede"),
        ("old", "supersede"),
    ]


def test_a_successor_that_is_older_than_the_superseded_memory_holds_from_now(store: MemoryStore) -> None:
    kept(store, "heir", "old")
    store.supersede("old", "heir")
    old, heir = existing(store, "old"), existing(store, "heir")
    assert old.valid_until == heir.valid_from == old.superseded_at


def test_when_it_happened_counts_before_when_it_was_written(store: MemoryStore) -> None:
    store.remember("old", id="old", occurred_at=500.0)
    store.remember("new", id="new", occurred_at=600.0)
    store.supersede("old", "new")
    assert (existing(store, "old").valid_until, existing(store, "new").valid_from) == (600.0, 600.0)


def test_what_happened_after_the_old_truth_began_changed_it_then_though_both_were_written_down_later(
    store: MemoryStore,
) -> None:
    store.remember("Ana leads the team", id="ana", valid_from=100.0)
    store.remember("Tom leads the team", id="tom", occurred_at=600.0)
    assert existing(store, "ana").created_at > 600.0
    store.supersede("ana", "tom")
    assert (existing(store, "ana").valid_until, existing(store, "tom").valid_from) == (600.0, 600.0)
    store.restore("ana")
    assert (existing(store, "ana").valid_until, existing(store, "tom").valid_from) == (None, None)


def test_times_that_the_caller_gave_are_kept_over_both_ways(store: MemoryStore) -> None:
    store.remember("old", id="old", valid_from=100.0, valid_until=200.0)
    store.remember("new", id="new", valid_from=300.0)
    before = [without_dates(existing(store, id)) for id in ("old", "new")]
    store.supersede("old", "new")
    assert (existing(store, "old").valid_until, existing(store, "new").valid_from) == (200.0, 300.0)
    store.restore("old")
    assert [without_dates(existing(store, id)) for id in ("old", "new")] == before


def test_the_beginning_that_the_caller_gave_ends_the_old_truth(store: MemoryStore) -> None:
    kept(store, "old")
    store.remember("new", id="new", valid_from=300.0)
    store.supersede("old", "new")
    assert existing(store, "old").valid_until == 300.0
    store.restore("old")
    assert (existing(store, "old").valid_until, existing(store, "new").valid_from) == (None, 300.0)


@pytest.mark.parametrize("order", ["first second", "second first"])
def test_a_successor_of_two_memories_restores_both_in_either_order(store: MemoryStore, order: str) -> None:
    kept(store, "first", "second", "heir")
    before = [without_dates(existing(store, id)) for id in ("first", "second", "heir")]
    store.supersede("first", "heir")
    store.supersede("second", "heir")
    assert supersedes(store, "heir") == ["first", "second"]
    begun = existing(store, "heir").valid_from
    one, other = order.split()
    assert store.restore(one)
    assert supersedes(store, "heir") == [other]
    assert (existing(store, "heir").valid_from, existing(store, other).valid_until) == (begun, begun)
    assert store.restore(other)
    assert [without_dates(existing(store, id)) for id in ("first", "second", "heir")] == before


def test_restoring_leaves_other_ties_between_the_two(store: MemoryStore) -> None:
    kept(store, "old", "new")
    store.link("new", "old", "refines")
    store.supersede("old", "new")
    store.restore("old")
    assert existing(store, "new").links == (Link("old", "refines"),)


@pytest.mark.slow
def test_a_cycle_through_any_number_is_refused_and_names_the_way_out(store: MemoryStore) -> None:
    ids = [f"m{number}" for number in range(12)]
    kept(store, *ids)
    for old, new in pairwise(ids):
        store.supersede(old, new)
    before = store.journal(limit=None)
    for length in range(12):
        remedy = "Restore" if length else "cannot replace itself"
        with pytest.raises(SupersedeCycle, match=remedy):
            store.supersede("m11", f"m{11 - length}")
    assert store.journal(limit=None) == before
    store.restore("m0")
    store.supersede("m11", "m0")
    assert existing(store, "m11").superseded_by == "m0"


def test_the_three_cycle_that_the_reference_accepts_is_refused(store: MemoryStore) -> None:
    kept(store, "a", "b", "c")
    store.supersede("a", "b")
    store.supersede("b", "c")
    with pytest.raises(ValueError, match="superseded"):
        store.supersede("c", "a")
    assert [memory.id for memory in store.list_recent()] == ["c"]


@pytest.mark.parametrize("ring", [{"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "a"}, {"a": "new", "new": "a"}])
def test_one_operation_whose_successions_close_a_ring_is_refused_and_changes_nothing(
    store: MemoryStore, ring: dict[str, str]
) -> None:
    kept(store, "a", "b", "c")
    before = store.journal(limit=None)
    with pytest.raises(SupersedeCycle):
        store.write("tidy", new=[store.draft("text of new", id="new")], successors=ring)
    assert store.journal(limit=None) == before
    assert {memory.id for memory in store.list_recent()} == {"a", "b", "c"}


def test_one_operation_may_write_a_whole_chain(store: MemoryStore) -> None:
    kept(store, "a", "b", "c")
    store.write("tidy", successors={"a": "b", "b": "c"})
    assert [version.id for version in store.history("a").versions] == ["a", "b", "c"]
    assert [memory.id for memory in store.list_recent()] == ["c"]


def test_an_earlier_successor_of_two_loses_both_in_one_operation(store: MemoryStore) -> None:
    kept(store, "a", "b", "earlier", "later")
    store.write("tidy", successors={"a": "earlier", "b": "earlier"})
    store.write("tidy", successors={"a": "later", "b": "later"})
    assert supersedes(store, "earlier") == []
    assert supersedes(store, "later") == ["a", "b"]
    assert existing(store, "earlier").valid_from is None


@pytest.mark.slow
def test_a_long_chain_shows_its_head_and_its_complete_history(store: MemoryStore) -> None:
    ids = [f"m{number}" for number in range(200)]
    store.remember_many([{"text": f"The port is {8000 + number}", "id": id} for number, id in enumerate(ids)])
    for old, new in pairwise(ids):
        store.supersede(old, new)
    assert [hit.memory.id for hit in store.recall("port", k=5)] == ["m199"]
    told = store.history("m100")
    assert [version.id for version in told.versions] == ids
    assert told.head.id == "m199"
    assert [(each.old, each.new) for each in told.transitions] == list(pairwise(ids))
    assert (told.transitions[0].before, told.transitions[0].after) == ("8000", "8001")
    with pytest.raises(SupersedeCycle):
        store.supersede("m199", "m0")


def test_purging_from_the_middle_closes_the_chain(store: MemoryStore) -> None:
    kept(store, "a", "b", "c")
    store.supersede("a", "b")
    store.supersede("b", "c")
    store.purge("b")
    assert existing(store, "a").superseded_by == "c"
    assert "a" in supersedes(store, "c")
    assert [version.id for version in store.history("a").versions] == ["a", "c"]
    assert [memory.id for memory in store.list_recent()] == ["c"]


def test_what_a_purged_memory_had_replaced_stays_hidden_until_somebody_restores_it(store: MemoryStore) -> None:
    kept(store, "a", "b", "head")
    before = [without_dates(existing(store, id)) for id in ("a", "b")]
    store.supersede("a", "head")
    store.supersede("b", "head")
    store.purge("head")
    assert store.list_recent() == []
    assert list(store.recall("text")) == []
    assert [version.id for version in store.history("a").versions] == ["a"]
    assert store.restore("a", "b")
    assert [without_dates(existing(store, id)) for id in ("a", "b")] == before


def test_a_whole_chain_stays_hidden_when_its_head_and_then_the_next_are_purged(store: MemoryStore) -> None:
    kept(store, "a", "b", "c")
    store.supersede("a", "b")
    store.supersede("b", "c")
    store.purge("c")
    store.purge("b")
    assert store.list_recent() == []
    store.remember("text of another c", id="c", on_conflict="ignore")
    assert [version.id for version in store.history("c").versions] == ["c"]


@pytest.mark.parametrize("given", [300.0, None])
def test_restoring_what_a_purged_memory_had_replaced_removes_only_the_end_that_we_set(
    store: MemoryStore, given: float | None
) -> None:
    store.remember("text of old", id="old", valid_until=given)
    store.remember("text of head", id="head", valid_from=600.0, on_conflict="ignore")
    store.supersede("old", "head")
    store.purge("head")
    assert existing(store, "old").valid_until == (given or 600.0)
    store.restore("old")
    assert existing(store, "old").valid_until == given


def test_purging_all_of_a_chain_leaves_nothing(store: MemoryStore) -> None:
    kept(store, "a", "b", "c")
    store.supersede("a", "b")
    store.supersede("b", "c")
    assert store.purge("a", "c", "b") == 3
    assert store.count(include_superseded=True, include_trashed=True) == 0
    assert store.health(thorough=True).problems == ()


def test_history_tells_edits_too_with_who_and_why(store: MemoryStore) -> None:
    store.remember("The port is 80", id="a")
    store.edit("a", text="The port is 81", why="a slip")
    store.remember("The port is 90", id="b", on_conflict="ignore")
    store.supersede("a", "b", why="moved")
    told = store.history("a")
    assert [(each.old, each.new, each.before, each.after, each.operation, each.why) for each in told.transitions] == [
        ("a", "a", "The port is 80", "The port is 81", "edit", "a slip"),
        ("a", "b", "81", "90", "supersede", "moved"),
    ]
    assert [each.at for each in told.transitions] == sorted(each.at for each in told.transitions)
    assert store.history("b") == told


def test_a_history_lists_what_was_replaced_before_what_replaced_it(store: MemoryStore) -> None:
    kept(store, "a", "b", "c", "d")
    store.supersede("a", "c")
    store.supersede("b", "c")
    store.supersede("c", "d")
    assert [version.id for version in store.history("b").versions] == ["a", "b", "c", "d"]


def test_what_is_true_at_one_moment_keeps_its_times_when_it_is_restored(store: MemoryStore) -> None:
    day = 1_683_244_800.0
    store.remember("The fair was open for a moment", id="fair", valid_from=day, valid_until=day)
    store.remember("The harbour has a crane", id="crane")
    store.supersede("fair", "crane")
    store.restore("fair")
    fair = store.get("fair")
    assert fair is not None and (fair.valid_from, fair.valid_until) == (day, day)


def test_a_succession_is_taken_back_whole_after_its_older_side_was_redacted(tmp_path: Path) -> None:
    for place in (tmp_path / "s.db", ":memory:"):
        with MemoryStore(place, embedder="hashing") as store:
            older = store.remember("The office is in Linz", on_conflict="ignore")
            newer = store.remember("The office is in Graz", replaces=older.id)
            store.redact(older.id)
            store.unlink(newer.id, older.id, "supersedes")
            assert newer.valid_from is not None and existing(store, newer.id).valid_from is None


def test_what_nobody_sees_replaces_nothing_and_the_error_names_the_way_out(store: MemoryStore, clock: Ticking) -> None:
    kept(store, "old", "trashed", "archived")
    store.remember("text of expired", id="expired", expires_at=clock.at + 60, on_conflict="ignore")
    store.forget("trashed")
    store.archive("archived")
    clock.at += 120
    before = store.journal(limit=None)
    remedies = {"trashed": "trash restore", "archived": "memory unarchive", "expired": "--expires-at ''"}
    for id, remedy in remedies.items():
        for replace_old in (
            lambda new: store.supersede("old", new),
            lambda new: store.link(new, "old", "supersedes"),
            lambda new: store.write("tidy", successors={"old": new}),
        ):
            with pytest.raises(InvalidInput, match=remedy):
                replace_old(id)
    assert store.journal(limit=None) == before
    assert [memory.id for memory in store.list_recent()] == ["old"]


def test_what_is_stored_out_of_sight_replaces_nothing_by_itself(store: MemoryStore) -> None:
    store.remember("The port of the server is 80", id="old")
    store.remember("The port of the server is 90", id="new", status="archived", on_conflict="supersede")
    assert [memory.id for memory in store.list_recent()] == ["old"]
    store.remember("The port of the server is 91", id="newer", on_conflict="supersede")
    assert [memory.id for memory in store.list_recent()] == ["newer"]


def test_what_had_ended_before_it_replaces_another_gets_no_start_after_its_end(store: MemoryStore) -> None:
    store.remember("Anna works at Initech", id="now")
    store.remember("Anna worked at Acme", id="then", valid_until=600.0, on_conflict="ignore")
    store.supersede("now", "then")
    assert (existing(store, "then").valid_from, existing(store, "then").valid_until) == (None, 600.0)
    assert "then" in ids(store.list_recent(valid_at=500.0))
    store.edit("then", valid_until=700.0)
    store.restore("now")
    assert (existing(store, "now").valid_until, existing(store, "then").valid_from) == (None, None)


def test_what_is_replaced_before_it_begins_has_never_held(store: MemoryStore, clock: Ticking) -> None:
    begins = clock.at + 10_000
    store.remember("text of old", id="old", valid_from=begins)
    kept(store, "new")
    store.supersede("old", "new")
    assert (existing(store, "old").valid_from, existing(store, "old").valid_until) == (begins, begins)
    store.restore("old")
    assert (existing(store, "old").valid_from, existing(store, "old").valid_until) == (begins, None)


def test_purging_from_the_middle_leaves_the_time_that_it_held_to_nobody(store: MemoryStore) -> None:
    for id, start in (("ann", None), ("bob", 100.0), ("cy", 200.0)):
        store.remember(f"text of {id}", id=id, valid_from=start, on_conflict="ignore")
    store.supersede("ann", "bob")
    store.supersede("bob", "cy")
    assert ids(store.list_recent(valid_at=150.0)) == ["bob"]
    store.purge("bob")
    assert ids(store.list_recent(valid_at=150.0)) == []
    assert [ids(store.list_recent(valid_at=at)) for at in (50.0, 250.0)] == [["ann"], ["cy"]]


def test_what_was_replaced_ends_when_its_successor_begins_also_after_that_was_corrected(
    store: MemoryStore, clock: Ticking
) -> None:
    kept(store, "old", "new")
    store.supersede("old", "new")
    before = [existing(store, id) for id in ("old", "new")]
    later = clock.at + 5_000
    store.edit("new", valid_from=later)
    assert (existing(store, "old").valid_until, existing(store, "new").valid_from) == (later, later)
    assert ids(store.list_recent(valid_at=later - 1)) == ["old"]
    store.undo()
    assert [existing(store, id) for id in ("old", "new")] == before
    store.edit("new", valid_from=later, text="other text of new")
    assert existing(store, "old").valid_until == later
    store.restore("old")
    assert (existing(store, "old").valid_until, existing(store, "new").valid_from) == (None, later)


def test_an_end_that_somebody_gave_stays_when_the_successor_moves_or_goes(store: MemoryStore) -> None:
    store.remember("text of old", id="old", valid_until=300.0)
    store.remember("text of new", id="new", valid_from=300.0, on_conflict="ignore")
    store.supersede("old", "new")
    store.restore("old")
    assert existing(store, "old").valid_until == 300.0
    store.supersede("old", "new")
    store.edit("new", valid_from=400.0)
    assert existing(store, "old").valid_until == 300.0
    store.restore("old")
    assert existing(store, "old").valid_until == 300.0
