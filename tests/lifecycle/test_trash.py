"""The trash: how long what was let go can still be had, and that then it is gone in one operation."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import UndoRefused
from nacre.lifecycle.retention import Trash
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import acts, whole
from tests.samples import existing, ids


def kept(store: MemoryStore, *names: str) -> None:
    for id in names:
        store.remember(f"text of {id}", id=id)


def test_what_was_forgotten_lies_there_for_its_days_of_grace(store: MemoryStore) -> None:
    kept(store, "m", "kept")
    store.forget("m")
    trash = Trash(store, 30)
    assert trash.plan(now=NOW + 30 * DAY - 1) == ()
    assert ids(trash.plan(now=NOW + 30 * DAY)) == ["m"]
    assert trash.apply(trash.plan(now=NOW + 30 * DAY)) == 1
    assert store.get("m") is None
    assert ids(store.list_recent(include_trashed=True)) == ["kept"]


def test_merging_what_a_forgotten_memory_links_to_does_not_keep_it_longer(store: MemoryStore, clock: Turned) -> None:
    kept(store, "stays", "merged", "m")
    store.link("m", "merged", "refines")
    store.forget("m")
    clock.at += 29 * DAY
    store.merge("stays", "merged")
    assert ids(Trash(store, 30).plan(now=NOW + 30 * DAY)) == ["m"]


def test_what_was_replaced_or_has_expired_leaves_the_trash_as_well(store: MemoryStore) -> None:
    kept(store, "old", "heir")
    store.remember("soon over", id="over", expires_at=NOW + DAY)
    store.supersede("old", "heir")
    store.forget("old", "over")
    trash = Trash(store)
    assert set(ids(trash.plan(now=NOW + 31 * DAY))) == {"old", "over"}


def test_emptying_the_trash_does_not_bring_back_what_the_forgotten_had_replaced(store: MemoryStore) -> None:
    kept(store, "flake8", "ruff", "other")
    store.supersede("flake8", "ruff")
    store.forget("ruff")
    trash = Trash(store)
    assert trash.apply(trash.plan(now=NOW + 31 * DAY)) == 1
    assert ids(store.list_recent()) == ["other"]
    assert store.get("ruff") is None


def test_a_chain_in_the_trash_leaves_it_at_once_whichever_end_comes_first(store: MemoryStore, clock: Turned) -> None:
    kept(store, "a", "b")
    store.supersede("a", "b")
    store.forget("b")
    store.forget("a")
    clock.at += 31 * DAY
    assert Trash(store).apply(Trash(store).plan()[::-1]) == 2


def test_restored_and_forgotten_again_it_has_its_whole_grace(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m")
    store.forget("m")
    clock.at += 29 * DAY
    store.restore("m")
    store.forget("m")
    clock.at += 29 * DAY
    assert Trash(store).plan() == ()
    clock.at += DAY
    assert ids(Trash(store).plan()) == ["m"]


def test_an_undo_that_is_undone_begins_the_grace_again(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m")
    store.forget("m")
    clock.at += DAY
    back = store.undo()
    assert existing(store, "m").status == "short_term"
    clock.at += 28 * DAY
    store.undo(back[0])
    assert existing(store, "m").status == "trashed"
    clock.at += 2 * DAY
    assert Trash(store).plan() == ()
    clock.at += 28 * DAY
    assert ids(Trash(store).plan()) == ["m"]


def test_what_left_the_trash_since_the_plan_is_not_deleted(store: MemoryStore, clock: Turned) -> None:
    kept(store, "restored", "again", "purged", "left")
    store.forget("restored", "again", "purged", "left")
    clock.at += 31 * DAY
    plan = Trash(store).plan()
    assert len(plan) == 4
    store.restore("restored")
    store.restore("again")
    store.forget("again")
    store.purge("purged")
    assert Trash(store).apply(plan) == 1
    assert store.get("left") is None
    assert (existing(store, "restored").status, existing(store, "again").status) == ("short_term", "trashed")


def test_the_mark_of_something_redacted_stays(store: MemoryStore) -> None:
    kept(store, "secret", "m")
    store.redact("secret")
    store.forget("m")
    trash = Trash(store)
    assert trash.apply(trash.plan(now=NOW + 400 * DAY)) == 1
    assert existing(store, "secret").text == "[redacted]"


def test_emptying_is_one_act_that_says_why_and_has_no_way_back(store: MemoryStore, clock: Turned) -> None:
    kept(store, "a", "b", "c")
    store.forget("a", "b", "c")
    clock.at += 31 * DAY
    assert Trash(store).apply(Trash(store).plan()) == 3
    entries = store.journal(operation="purge")
    assert len(entries) == 3 and len({entry.operation.batch for entry in entries}) == 1
    assert {(entry.operation.actor, entry.operation.why) for entry in entries} == {("trash", "30 days in the trash")}
    assert all(entry.before is None and entry.after is None for entry in store.journal(limit=None))
    with pytest.raises(UndoRefused):
        store.undo()


def test_an_empty_plan_is_no_act(store: MemoryStore) -> None:
    kept(store, "m")
    before = whole(store)
    assert Trash(store).apply(Trash(store).plan()) == 0
    assert (whole(store), acts(store)) == (before, ["remember"])
