"""What the store knew at a time, and what held at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.engine import history
from nacre.errors import HistoryLost, InvalidInput, MemoryNotFound
from nacre.model import Edge
from nacre.model.instants import DAY, iso
from tests.embedders import Moody
from tests.engine.conftest import Ticking
from tests.prepared_stores import empty_store


class Told:
    """A small life, and the moments between its acts."""

    def __init__(self, store: MemoryStore, clock: Ticking) -> None:
        self.empty = clock()
        store.remember("Anna lives in Rome", id="rome", tags=["home"], valid_from=100.0)
        self.rome = clock()
        store.edit("rome", text="Anna Rossi lives in Rome", tags=["home", "city"])
        self.edited = clock()
        store.remember("Anna Rossi lives in Paris", id="paris", valid_from=500.0, on_conflict="ignore")
        store.supersede("rome", "paris")
        self.paris = clock()
        store.forget("paris")
        self.forgotten = clock()


@pytest.fixture
def told(store: MemoryStore, clock: Ticking) -> Told:
    return Told(store, clock)


def listed(store: MemoryStore, at: float | None, **scope: bool) -> list[str]:
    return sorted(memory.id for memory in store.list_recent(as_of=at, **scope))  # type: ignore[arg-type]


def text(store: MemoryStore, id: str, at: float) -> str | None:
    found = store.get(id, as_of=at)
    return None if found is None else found.text


def test_a_memory_is_given_as_it_was_known(store: MemoryStore, told: Told) -> None:
    assert text(store, "rome", told.empty) is None
    assert text(store, "rome", told.rome) == "Anna lives in Rome"
    assert text(store, "rome", told.edited) == "Anna Rossi lives in Rome"
    then = store.get("rome", as_of=told.edited)
    assert then is not None
    assert (then.superseded_by, then.valid_until, then.tags) == ("", None, ("home", "city"))
    assert store.get("paris", as_of=told.edited) is None
    assert store.get("nobody", as_of=told.rome) is None
    assert store.get("rome", as_of=told.forgotten) == store.get("rome")


def test_lists_counts_and_iteration_see_what_was_known(store: MemoryStore, told: Told) -> None:
    for at, ids in (
        (told.empty, []), (told.rome, ["rome"]), (told.edited, ["rome"]), (told.paris, ["paris"]), (told.forgotten, [])
    ):  # fmt: skip
        assert listed(store, at) == ids
        assert store.count(as_of=at) == len(ids)
        assert sorted(memory.id for memory in store.iterate(as_of=at)) == ids
    assert listed(store, told.paris, include_superseded=True) == ["paris", "rome"]
    assert listed(store, told.forgotten, include_trashed=True) == ["paris"]
    assert store.count(as_of=told.rome, tag="city") == 0
    assert store.count(as_of=told.edited, tag="city") == 1


@pytest.mark.usefixtures("told")
def test_a_time_before_anything_is_empty_and_one_to_come_is_refused(store: MemoryStore) -> None:
    assert listed(store, 0.0, include_superseded=True, include_trashed=True) == []
    for nothing in ("soon", float("nan"), 2e9, "2100-01-01"):
        with pytest.raises(InvalidInput):
            store.get("rome", as_of=nothing)


def test_a_recall_answers_as_it_would_have_then_and_is_no_use(store: MemoryStore, told: Told) -> None:
    before = store.get("rome"), store.get("paris")
    for strategy in ("auto", "keyword", "semantic"):
        assert not store.recall("Anna lives", as_of=told.empty, strategy=strategy)
        found = store.recall("Anna lives", as_of=told.rome, strategy=strategy)
        assert [hit.memory.text for hit in found] == ["Anna lives in Rome"]
        found = store.recall("Anna Rossi lives", as_of=told.paris, strategy=strategy)
        assert [hit.memory.id for hit in found] == ["paris"]
    assert not store.recall("Rossi", as_of=told.rome, strategy="keyword")
    assert store.recall_pack("Anna", as_of=told.edited).ids() == ["rome"]
    assert (store.get("rome"), store.get("paris")) == before


@pytest.mark.usefixtures("told")
def test_valid_at_asks_what_held_whatever_has_replaced_it(store: MemoryStore) -> None:
    store.restore("paris")
    assert [memory.id for memory in store.list_recent(valid_at=50.0)] == []
    assert [memory.id for memory in store.list_recent(valid_at=100.0)] == ["rome"]
    assert [memory.id for memory in store.list_recent(valid_at=499.0)] == ["rome"]
    assert [memory.id for memory in store.list_recent(valid_at=500.0)] == ["paris"]
    assert store.count(valid_at=300.0) == 1
    assert [hit.memory.id for hit in store.recall("Where does Anna live", valid_at=300.0)] == ["rome"]


@pytest.mark.usefixtures("told")
def test_the_version_that_held_is_found_from_any_other(store: MemoryStore) -> None:
    for id in ("rome", "paris"):
        for at, held in ((50.0, None), (300.0, "rome"), (900.0, "paris")):
            found = store.get(id, valid_at=at)
            assert (found and found.id) == held
    assert store.get("nobody", valid_at=300.0) is None


def test_both_clocks_together_ask_what_was_then_thought_to_hold(store: MemoryStore, told: Told) -> None:
    thought = store.get("rome", as_of=told.edited, valid_at=900.0)
    assert thought is not None
    assert thought.id == "rome"
    known = store.get("rome", as_of=told.paris, valid_at=900.0)
    assert known is not None
    assert known.id == "paris"
    assert [memory.id for memory in store.list_recent(as_of=told.edited, valid_at=900.0)] == ["rome"]
    assert store.count(as_of=told.paris, valid_at=900.0) == 1
    assert [hit.memory.id for hit in store.recall("Anna", as_of=told.edited, valid_at=900.0)] == ["rome"]


def test_history_is_told_as_it_was_known_and_of_what_held(store: MemoryStore, told: Told) -> None:
    assert [version.id for version in store.history("rome").versions] == ["rome", "paris"]
    then = store.history("rome", as_of=told.edited)
    assert [version.id for version in then.versions] == ["rome"]
    assert [(each.before, each.after) for each in then.transitions] == [
        ("Anna lives in Rome", "Anna Rossi lives in Rome")
    ]
    assert [each.old for each in store.history("rome", as_of=told.rome).transitions] == []
    assert [version.id for version in store.history("paris", valid_at=300.0).versions] == ["rome"]
    with pytest.raises(MemoryNotFound):
        store.history("rome", as_of=told.empty)
    with pytest.raises(MemoryNotFound):
        store.history("rome", valid_at=50.0)


def test_a_difference_names_what_came_what_went_and_what_changed(store: MemoryStore, told: Told) -> None:
    found = store.diff(told.rome, told.paris)
    assert ([memory.id for memory in found.added], found.removed) == (["paris"], ())
    (changed,) = found.changed
    assert changed.before.text == "Anna lives in Rome"
    assert changed.fields["text"] == ("Anna lives in Rome", "Anna Rossi lives in Rome")
    assert changed.fields["superseded_by"] == ("", "paris")
    assert "updated_at" not in changed.fields
    assert store.diff(told.paris, told.rome) == found
    nothing = store.diff(told.paris, told.paris)
    assert (nothing.added, nothing.removed, nothing.changed) == ((), (), ())


def test_a_difference_reaches_to_now_by_default(store: MemoryStore, told: Told) -> None:
    found = store.diff(told.paris)
    assert [changed.fields for changed in found.changed] == [
        {"status": ("short_term", "trashed"), "trashed_from": ("", "short_term")}
    ]
    store.purge("paris")
    assert store.diff(told.edited).added == ()


def test_what_an_undo_took_away_is_known_again_at_its_time(store: MemoryStore, clock: Ticking) -> None:
    store.remember("short lived", id="a")
    while_there = clock()
    store.undo()
    gone = clock()
    assert text(store, "a", while_there) == "short lived"
    assert store.get("a", as_of=gone) is None
    assert [memory.id for memory in store.diff(while_there, gone).removed] == ["a"]
    assert [hit.memory.id for hit in store.recall("short", as_of=while_there)] == ["a"]


def test_ties_are_walked_as_they_were(store: MemoryStore, clock: Ticking) -> None:
    for id in ("a", "b", "c"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    store.link("a", "b")
    tied = clock()
    store.unlink("a", "b")
    store.link("a", "c")
    assert [each.memory.id for each in store.neighbors("a", as_of=tied)] == ["b"]
    assert [each.memory.id for each in store.neighbors("b", as_of=tied)] == ["a"]
    assert [each.memory.id for each in store.neighbors("a")] == ["c"]
    assert store.subgraph(["a"], as_of=tied).edges == (Edge("a", "b", "related"),)
    assert store.path("a", "b") is None
    assert store.path("a", "b", as_of=tied) is not None


def test_a_purged_memory_is_gone_from_the_past_as_well(store: MemoryStore, told: Told) -> None:
    store.purge("rome")
    for at in (told.rome, told.edited, told.paris):
        assert store.get("rome", as_of=at) is None
        assert "rome" not in listed(store, at, include_superseded=True)
    assert not store.recall("Rome", as_of=told.edited, strategy="keyword")


def test_a_compacted_journal_says_how_far_back_it_reaches(store: MemoryStore, told: Told, clock: Ticking) -> None:
    clock.at += 86_400.0
    later = clock()
    store.remember("later", id="later", on_conflict="ignore")
    assert store.compact(older_than_days=0.5) > 0
    assert store.get("rome", as_of=later) is not None
    for call in (
        lambda: store.get("rome", as_of=told.rome),
        lambda: store.list_recent(as_of=told.rome),
        lambda: store.diff(told.rome),
    ):
        with pytest.raises(HistoryLost, match="compacted"):
            call()


class Leaping(Ticking):
    """A clock that somebody sets back."""


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def leaping(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[MemoryStore, Leaping]]:
    clock = Leaping()
    place = empty_store(tmp_path / "leaping.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=Moody(), clock=clock) as opened:
        yield opened, clock


def test_a_clock_set_back_never_parts_an_act_or_loses_one(leaping: tuple[MemoryStore, Leaping]) -> None:
    store, clock = leaping
    store.remember("first", id="a")
    clock.at += 1000.0
    store.edit("a", text="second")
    clock.at -= 900.0
    between = clock()
    store.edit("a", text="third")
    second, third = (entry.operation.at for entry in store.journal("a", newest_first=False)[1:])
    clock.at += 5000.0
    store.edit("a", text="fourth")
    assert second <= third
    assert text(store, "a", between) == "first"
    assert text(store, "a", third) == "third"
    assert text(store, "a", clock()) == "fourth"


def test_a_word_that_was_written_only_later_finds_nothing_in_the_past(store: MemoryStore, clock: Ticking) -> None:
    store.remember("the quiet garden", id="garden")
    then = clock()
    store.remember("a zebra in the garden", id="zebra")
    store.edit("garden", text="the quiet zebra garden")
    for strategy in ("auto", "keyword", "rrf", "hybrid", "graph"):
        assert "zebra" not in [hit.memory.id for hit in store.recall("zebra", as_of=then, strategy=strategy)]
    assert store.recall("zebra", as_of=then, strategy="keyword").hits == ()
    assert [hit.memory.text for hit in store.recall("garden", as_of=then)] == ["the quiet garden"]


@pytest.mark.slow
def test_what_another_thread_writes_does_not_show_in_a_list_of_the_past(store: MemoryStore, clock: Ticking) -> None:
    expected = [store.remember(f"fact {number}", id=f"m{number}") for number in range(8)][::-1]
    then = clock()
    stop, rounds = threading.Event(), list[int]()

    def write() -> None:
        for number in range(10_000):
            store.edit(f"m{number % 8}", text=f"edited {number}", tags=["late"])
            store.remember(f"later {number}", id=f"n{number}", on_conflict="ignore")
            store.forget(f"n{number}")
            rounds.append(number)
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        lists = [store.list_recent(as_of=then) for _ in range(20)]
        counts = [(store.count(as_of=then), len(store.recall("fact", 20, as_of=then))) for _ in range(10)]
    finally:
        stop.set()
        writer.join()
    assert rounds, "the writer failed"
    assert all(each == expected for each in lists)
    assert set(counts) == {(8, 8)}


def test_words_of_time_and_recency_count_from_the_time_that_is_asked_about(store: MemoryStore, clock: Ticking) -> None:
    start = clock.at
    store.remember("dinner with Ada at the harbour", id="far", occurred_at=start - 40 * DAY)
    store.remember("dinner with Ada at the castle", id="near", occurred_at=start - 1 * DAY)
    then = clock()
    clock.at += 39 * DAY
    store.remember("dinner with Ada at the airport", id="later", occurred_at=clock.at - 1 * DAY)
    asked = "dinner with Ada yesterday"
    assert store.recall(asked, touch=False)[0].memory.id == "later"
    found = store.recall(asked, as_of=then)
    assert [hit.memory.id for hit in found] == ["near", "far"]
    near, far = ({reason.signal: reason.score / hit.score for reason in hit.why} for hit in found)
    assert "time" not in near
    assert far["time"] < -0.2  # it is lowered as of another time

    def recency(id: str, as_of: float | None = None) -> float:
        hit = next(hit for hit in store.recall("dinner with Ada", touch=False, as_of=as_of) if hit.memory.id == id)
        return sum(reason.score for reason in hit.why if reason.signal == "recency") / hit.score

    assert recency("near", as_of=then) > recency("near") == pytest.approx(recency("far", as_of=then), rel=0.02)


def test_an_operation_is_known_at_the_time_that_its_own_entry_names(store: MemoryStore, clock: Ticking) -> None:
    clock.at = 1_774_958_400.123_456_7
    store.remember("exact", id="exact")
    operation = store.journal("exact")[0].operation
    assert listed(store, iso(operation.at)) == ["exact"]  # type: ignore[arg-type]
    assert listed(store, operation.at - 1e-3) == []


def test_a_negative_offset_is_refused_today_and_in_the_past(store: MemoryStore, told: Told) -> None:
    for at in (None, told.rome):
        with pytest.raises(InvalidInput, match="offset is -5"):
            store.list_recent(offset=-5, as_of=at)


def test_a_cursor_continues_a_list_of_the_present_and_of_the_past(store: MemoryStore, clock: Ticking) -> None:
    for number in range(5):
        store.remember(f"fact {number}", id=f"m{number}", on_conflict="ignore")
    then = clock()
    first = store.list_recent(2)
    store.remember("a new one", id="new", on_conflict="ignore")
    store.edit("m2", text="edited")
    second = store.list_recent(2, cursor=first.cursor)
    assert [m.id for m in (*first, *second)] == ["m4", "m3", "m2", "m1"]
    assert [m.id for m in store.list_recent(2, cursor=second.cursor)] == ["m0"]
    assert store.list_recent(2, cursor=second.cursor).cursor == ""
    assert [m.text for m in store.list_recent(1, cursor=first.cursor, as_of=then)] == ["fact 2"]
    with pytest.raises(InvalidInput, match="cursor"):
        store.list_recent(cursor="nonsense")


def test_a_look_at_the_past_counts_no_use_and_no_walk(store: MemoryStore, told: Told) -> None:
    store.link("rome", "paris", "example_of")
    uses = [memory.access_count for memory in store.get_many(["rome", "paris"])]
    store.recall("Anna", as_of=told.paris)
    store.neighbors("rome", as_of=told.paris, include_hidden=True)
    store.neighbors("rome", as_of=told.forgotten + 10, include_hidden=True)
    assert [memory.access_count for memory in store.get_many(["rome", "paris"])] == uses
    assert [edge.walks for edge in store.edges(rel="example_of")] == [0]


def test_an_edit_of_a_successor_does_not_change_what_it_once_replaced(store: MemoryStore) -> None:
    store.remember("The office is in Rome", id="old")
    store.remember("The office is in Paris", id="new", on_conflict="ignore")
    store.supersede("old", "new")
    store.edit("new", text="The office is in Oslo")
    changes = store.history("old").transitions
    assert [(each.before, each.after) for each in changes] == [
        ("Rome", "Paris"),
        ("The office is in Paris", "The office is in Oslo"),
    ]


def test_a_list_of_operations_in_parts_is_the_list_in_one_part(store: MemoryStore) -> None:
    """Also of those that were undone by an operation in an earlier part, and of an undo that was undone itself."""
    store.remember("The boat is red", id="boat")
    store.remember("The lamp is green", id="lamp")
    store.edit("boat", importance=0.9)
    store.undo()
    store.forget("lamp")
    again = store.undo()[0]
    store.undo(again)
    entire = store.operations()
    undone = [(note.operation.name, note.undone) for note in entire]
    assert undone == [
        ("undo", False), ("undo", True), ("forget", False), ("undo", False), ("edit", True), ("remember", False),
        ("remember", False),
    ]  # fmt: skip
    for size in (1, 2, 3):
        parts, before = list(store.operations(limit=size)), 0
        assert len(parts) == size
        while parts[-1].seq != before:
            before = parts[-1].seq
            parts += store.operations(limit=size, before=before)
        assert parts == entire
    for name in ("edit", "forget", "undo"):
        assert store.operations(operation=name) == [note for note in entire if note.operation.name == name]


def test_operations_are_the_same_however_many_entries_are_read_at_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        store.remember(f"Box {number}", on_conflict="ignore")
        if number % 2:
            store.undo()
    whole = store.operations(limit=100)
    assert [note.undone for note in whole] == [False, False, True, False, False, True, False]
    for size in (1, 2, 3):
        monkeypatch.setattr(history, "PAGE", size)
        assert store.operations(limit=100) == whole


def test_as_of_a_time_words_for_a_time_count_from_there_in_every_call() -> None:
    start = 1.7e9
    now = [start]
    with MemoryStore(":memory:", embedder="hashing", clock=lambda: now[0]) as store:
        code = store.remember("The gate code is four.", valid_from=start - 3 * DAY, valid_until=start + 3 * DAY)
        gate = store.remember("The garden has an iron gate.")
        store.link(gate.id, code.id, "related")
        known_at, now[0] = start + 60, start + 100 * DAY
        for valid_at, held in (("yesterday", True), (start - DAY, True), ("5 days ago", False)):
            times: dict[str, Any] = {"as_of": known_at, "valid_at": valid_at}
            assert (store.get(code.id, **times) is not None) == held
            assert (code.id in {each.id for each in store.list_recent(**times)}) == held
            if held:
                assert store.history(code.id, **times).versions
            for hidden in (False, True):
                assert (store.path(gate.id, code.id, include_hidden=hidden, **times) is not None) == held
            assert bool(store.neighbors(gate.id, **times)) == held
