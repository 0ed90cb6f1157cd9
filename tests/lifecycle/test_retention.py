"""Retention: bounds on age, number and size; what is beyond them leaves sight, never the store."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.retention import Bounds, Leaving, Retention
from nacre.model import Filter
from tests.lifecycle.aged import DAY, NOW, Turned
from tests.lifecycle.placed import acts, recalled, whole
from tests.samples import existing, ids


def kept(store: MemoryStore, id: str, days: float = 0.0, **fields: object) -> None:
    at = NOW - days * DAY
    given = {"id": id, "created_at": at, "last_accessed": at, **fields}
    store.remember(f"{id} happened @0", **given)  # type: ignore[arg-type]


def bounded(store: MemoryStore, **bounds: object) -> Retention:
    return Retention(store, Bounds(**bounds))  # type: ignore[arg-type]


def told(plan: tuple[Leaving, ...]) -> dict[str, tuple[str, str]]:
    return {each.memory.id: (each.outcome, each.why) for each in plan}


def test_without_bounds_only_what_has_expired_leaves(store: MemoryStore) -> None:
    kept(store, "old", 9_000)
    kept(store, "over", expires_at=NOW - 1)
    kept(store, "now", expires_at=NOW)
    kept(store, "pinned", expires_at=NOW - 1, pinned=True, type="procedural")
    kept(store, "archived", expires_at=NOW - 1, status="archived")
    kept(store, "soon", expires_at=NOW + 1)
    plan = Retention(store).plan()
    assert told(plan) == dict.fromkeys(("over", "now", "pinned", "archived"), ("trash", "expired"))
    assert len(Retention(store).apply(plan)) == 4
    assert store.count(status="trashed", include_expired=True) == 4
    assert Retention(store).plan() == ()
    assert told(Retention(store).plan(now=NOW + 1)) == {"soon": ("trash", "expired")}


def test_what_was_replaced_expires_as_well(store: MemoryStore) -> None:
    kept(store, "heir")
    kept(store, "old", expires_at=NOW + DAY)
    store.supersede("old", "heir")
    assert told(Retention(store).plan(now=NOW + DAY)) == {"old": ("trash", "expired")}


@pytest.mark.parametrize(("outcome", "status"), [("archive", "archived"), ("trash", "trashed")])
def test_what_is_too_old_goes_where_the_bounds_say(store: MemoryStore, outcome: str, status: str) -> None:
    kept(store, "old", 91)
    kept(store, "young", 90)
    kept(store, "pinned", 91, pinned=True)
    kept(store, "how", 91, type="procedural")
    retention = bounded(store, max_age_days=90, outcome=outcome)
    plan = retention.plan()
    assert told(plan) == {"old": (outcome, "older than 90 days")}
    assert ids(retention.apply(plan)) == ["old"]
    assert existing(store, "old").status == status
    assert retention.plan() == ()


def test_archived_memories_are_found_only_when_asked_for(store: MemoryStore) -> None:
    """L8 4.6: archive and include_archived."""
    kept(store, "old", 91)
    kept(store, "young")
    retention = bounded(store, max_age_days=90)
    retention.apply(retention.plan())
    assert recalled(store) == ["young"]
    assert set(recalled(store, include_archived=True)) == {"old", "young"}
    assert recalled(store, status="archived") == ["old"]
    assert ids(store.list_recent()) == ["young"]
    assert (store.count(), store.count(include_archived=True), store.count(status="archived")) == (1, 2, 1)


def test_of_too_many_the_least_strong_leave_and_the_pinned_count_but_stay(store: MemoryStore) -> None:
    kept(store, "weak", 60, importance=0.3)
    kept(store, "used", 60, importance=0.3, access_count=9)
    kept(store, "weakest", 200, importance=0.3)
    kept(store, "new", importance=0.3)
    kept(store, "pinned", 900, importance=0.0, pinned=True)
    kept(store, "how", 900, importance=0.0, type="procedural")
    plan = bounded(store, max_count=4).plan()
    assert list(told(plan)) == ["weakest", "weak"]
    assert set(told(plan).values()) == {("archive", "more than 4")}
    assert list(told(bounded(store, max_count=0).plan())) == ["weakest", "weak", "used", "new"]
    assert bounded(store, max_count=6).plan() == ()


def test_a_size_is_kept_by_the_bytes_of_what_was_said(store: MemoryStore) -> None:
    for number in range(4):
        store.remember("é" * 500, id=f"m{number}", importance=number / 10, title="t" * 100)
    retention = bounded(store, max_megabytes=0.0022, outcome="trash")
    plan = retention.plan()
    assert told(plan) == dict.fromkeys(("m0", "m1"), ("trash", "more than 0.0022 MB"))
    retention.apply(plan)
    assert retention.plan() == ()
    assert told(bounded(store, max_megabytes=0).plan()).keys() == {"m2", "m3"}


def test_archived_memories_do_not_count(store: MemoryStore) -> None:
    for number in range(5):
        kept(store, f"m{number}", number)
    retention = bounded(store, max_count=3)
    assert len(retention.apply(retention.plan())) == 2
    assert retention.plan() == ()
    assert store.count(include_archived=True) == 5


def test_the_bounds_may_hold_for_each_of_some_types(store: MemoryStore) -> None:
    for number in range(3):
        kept(store, f"e{number}", 100 + number, type="episodic")
        kept(store, f"s{number}", 100 + number)
        kept(store, f"f{number}", 100 + number, type="feedback")
    retention = Retention(store, Bounds(max_count=2), types=("episodic", "semantic"))
    assert told(retention.plan()) == {"e2": ("archive", "more than 2"), "s2": ("archive", "more than 2")}


def test_no_more_leave_than_must(store: MemoryStore) -> None:
    """What leaves for its age makes room for the others."""
    for number in range(3):
        kept(store, f"old{number}", 100, importance=1.0, access_count=50)
        kept(store, f"weak{number}", importance=0.1)
    both = Bounds(max_age_days=90, max_count=3, max_megabytes=0.0001)
    assert set(told(Retention(store, both).plan())) == {"old0", "old1", "old2"}
    assert len(Retention(store, Bounds(max_count=4)).plan()) == 2


def test_the_protected_types_can_be_chosen(store: MemoryStore) -> None:
    kept(store, "how", 100, type="procedural")
    kept(store, "said", 100, type="feedback")
    assert list(told(Retention(store, Bounds(max_age_days=90), ("feedback",)).plan())) == ["how"]


def test_what_was_used_pinned_or_changed_since_the_plan_stays(store: MemoryStore, clock: Turned) -> None:
    for id in ("used", "pinned", "edited", "trashed", "purged", "left"):
        kept(store, id, 100)
    retention = bounded(store, max_age_days=90)
    plan = retention.plan()
    assert len(plan) == 6
    clock.at += 60
    store.backend.touch(store.space, ["used"], clock())
    store.edit("pinned", pinned=True)
    store.edit("edited", text="new words")
    store.forget("trashed")
    store.purge("purged")
    assert ids(retention.apply(plan)) == ["left"]
    assert existing(store, "trashed").status == "trashed"
    assert store.count(status="archived") == 1


def test_carrying_out_is_one_act_and_undo_takes_it_back(store: MemoryStore, clock: Turned) -> None:
    kept(store, "over", expires_at=NOW + 1)
    kept(store, "old", 100)
    kept(store, "a", 10)
    kept(store, "b", 9)
    before = whole(store)
    clock.at += DAY
    retention = bounded(store, max_age_days=90, max_count=1)
    assert len(retention.apply(retention.plan(), why="tidy")) == 3
    entries = store.journal(operation="retain")
    assert {(entry.operation.actor, entry.operation.why) for entry in entries} == {("retention", "tidy")}
    assert len({entry.operation.batch for entry in entries}) == 1
    store.undo()
    assert whole(store) == before
    assert retention.apply(()) == []
    assert acts(store)[-1] == "undo"


def test_bounds_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'archive'"):
        Bounds(outcome="archiv")
    for field in ("max_age_days", "max_count", "max_megabytes"):
        with pytest.raises(InvalidInput, match="below 0"):
            Bounds(**{field: -1})  # type: ignore[arg-type]


def test_other_spaces_are_not_touched(store: MemoryStore) -> None:
    kept(store, "here", 100)
    store.space = "there"
    kept(store, "there", 100)
    retention = bounded(store, max_count=0)
    retention.apply(retention.plan())
    assert existing(store, "there").status == "archived"
    store.space = "default"
    assert ids(store.list_recent(where=Filter.where(status="short_term"))) == ["here"]


def test_what_expired_and_is_restored_no_longer_expires(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", expires_at=NOW + DAY)
    kept(store, "later", expires_at=NOW + 9 * DAY)
    store.forget("later")
    clock.at += 2 * DAY
    before = whole(store)
    assert ids(Retention(store).apply(Retention(store).plan())) == ["m"]
    assert store.restore("m", "later")
    assert set(ids(store.list_recent())) == {"m", "later"}
    assert (existing(store, "m").expires_at, existing(store, "later").expires_at) == (None, NOW + 9 * DAY)
    assert Retention(store).plan(now=NOW + 5 * DAY) == ()
    store.undo(last=1)
    assert existing(store, "m").status == "trashed"
    store.undo(store.journal(operation="retain")[0])
    assert whole(store) == before


def test_what_expired_while_it_was_superseded_or_archived_is_seen_again_when_it_is_brought_back(
    store: MemoryStore, clock: Turned
) -> None:
    kept(store, "heir")
    kept(store, "old", expires_at=NOW + DAY)
    kept(store, "archived", expires_at=NOW + DAY)
    store.supersede("old", "heir")
    store.archive("archived")
    clock.at += 2 * DAY
    store.restore("old")
    store.unarchive("archived")
    assert set(ids(store.list_recent())) == {"heir", "old", "archived"}
    assert Retention(store).plan() == ()


def test_what_expired_and_an_undo_took_out_of_the_trash_is_left_there(store: MemoryStore, clock: Turned) -> None:
    kept(store, "m", expires_at=NOW - DAY)
    kept(store, "changed", expires_at=NOW - DAY)
    before = whole(store)
    Retention(store).apply(Retention(store).plan())
    clock.at += DAY
    store.undo()
    assert whole(store) == before
    assert Retention(store).plan() == ()
    store.edit("changed", expires_at=NOW + 2 * DAY)
    assert told(Retention(store).plan(now=NOW + 3 * DAY)) == {"changed": ("trash", "expired")}


@pytest.mark.parametrize("outcome", ["archive", "trash"])
@pytest.mark.parametrize("bound", [{"max_age_days": 90}, {"max_count": 2}, {"max_megabytes": 45e-6}])
def test_what_was_beyond_the_bounds_and_somebody_brought_back_is_as_good_as_new(
    store: MemoryStore, clock: Turned, bound: dict[str, float], outcome: str
) -> None:
    for id, days in (("oldest", 400), ("older", 200), ("young", 10)):
        kept(store, id, days, importance=0.3)
    retention = bounded(store, **bound, outcome=outcome)
    assert "oldest" in ids(retention.apply(retention.plan()))
    clock.at += DAY
    store.unarchive("oldest") if outcome == "archive" else store.restore("oldest")
    clock.at += DAY
    kept(store, "older still", 300, importance=0.3)
    assert "oldest" not in told(retention.plan()) and "older still" in told(retention.plan())
    assert "oldest" in told(retention.plan(now=clock.at + 100 * DAY)) or "max_age_days" not in bound
