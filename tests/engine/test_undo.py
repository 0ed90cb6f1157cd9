"""Anything can be taken back, as long as nothing stands on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from operator import attrgetter

import pytest

from nacre import Memory, MemoryStore
from nacre.engine import undo
from nacre.engine.operation_parts import OperationParts
from nacre.errors import InvalidInput, OperationNotFound, OperationStopped, StoreFull, UndoBlocked, UndoRefused
from nacre.model import JournalEntry, Link, Operation
from nacre.protocols import AnyChange, Backend, Change, Reader, TermChange
from tests.stores_in_postgres import stored_in as stored_in


def content(store: MemoryStore) -> list[Memory]:
    """All memories, without the marks that a mere use leaves."""
    found = store.list_recent(99, include_trashed=True, include_superseded=True, include_expired=True)
    return sorted((replace(m, last_accessed=0.0, access_count=0) for m in found), key=lambda m: m.id)


ACTS: dict[str, Callable[[MemoryStore], object]] = {
    "remember": lambda store: store.remember("a third"),
    "remember_many": lambda store: store.remember_many(["x", "y", "z"]),
    "edit": lambda store: store.edit("a", text="other words", tags=["new"], importance=0.1, links=[]),
    "forget": lambda store: store.forget("a", "b"),
    "supersede": lambda store: store.supersede("a", "b"),
    "restore from the trash": lambda store: store.restore("trashed"),
    "restore a superseded one": lambda store: store.restore("old"),
}


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    for id in ("a", "b", "trashed", "old", "new"):
        store.remember(f"text of {id}", id=id, tags=["t"], metadata={"deep": [1, {"x": None}]})
    store.forget("trashed")
    store.supersede("old", "new")
    return store


@pytest.mark.parametrize("name", ACTS)
def test_each_act_can_be_undone_and_the_undo_too(filled: MemoryStore, name: str) -> None:
    before = content(filled)
    ACTS[name](filled)
    after = content(filled)
    assert after != before
    undone = filled.undo()
    assert content(filled) == before
    filled.undo(undone[0].operation.batch)
    assert content(filled) == after
    filled.undo()
    assert content(filled) == before
    assert filled.health().problems == ()


def test_undone_words_are_searched_and_those_taken_back_are_not(filled: MemoryStore) -> None:
    filled.edit("a", text="entirely different")
    filled.undo()
    assert [hit.memory.id for hit in filled.recall("text of a", k=1)] == ["a"]
    assert not filled.recall("entirely", strategy="keyword")
    kept = filled.remember("short lived")
    filled.undo()
    assert filled.get(kept.id) is None
    assert not filled.recall("short lived", strategy="keyword")


@pytest.mark.slow
def test_several_undos_go_back_step_by_step(store: MemoryStore) -> None:
    states = [content(store)]
    for act in (
        lambda: store.remember("first", id="a"),
        lambda: store.remember("second", id="b"),
        lambda: store.edit("a", text="edited", title="title"),
        lambda: store.supersede("a", "b"),
        lambda: store.forget("b"),
        lambda: store.restore("b"),
        lambda: store.restore("a"),
        lambda: store.edit("b", importance=1.0),
    ):
        act()
        states.append(content(store))
    assert all(one != other for one, other in pairwise(states))
    for number, state in enumerate(reversed(states[:-1])):
        store.undo(why="" if number % 2 else "with a reason")
        assert content(store) == state
    with pytest.raises(UndoRefused, match="left to undo"):
        store.undo()


def test_a_recall_between_does_not_stand_in_the_way(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    assert filled.recall("text of a")
    filled.undo()
    found = filled.get("a")
    assert found is not None
    assert (found.importance, found.access_count) == (0.5, 1)


def test_an_act_that_later_ones_stand_on_is_not_undone(filled: MemoryStore) -> None:
    filled.edit("a", text="once")
    first = filled.journal("a")[0].operation.batch
    filled.edit("a", importance=0.9)
    before = content(filled)
    with pytest.raises(UndoRefused, match="undo the later operations first"):
        filled.undo(first)
    remembered = filled.journal("b")[-1].operation.batch
    filled.forget("b")
    with pytest.raises(UndoRefused):
        filled.undo(remembered)
    filled.undo()
    assert content(filled) == before


def test_even_within_one_tick_of_the_clock_a_later_act_is_noticed() -> None:
    with MemoryStore(":memory:", embedder="hashing", clock=lambda: 5.0) as store:
        kept = store.remember("words")
        remembered = store.journal()[0].operation.batch
        store.edit(kept.id, title="later")
        with pytest.raises(UndoRefused):
            store.undo(remembered)


def test_an_undone_act_is_not_undone_again(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    batch = filled.journal()[0].operation.batch
    filled.undo(batch)
    with pytest.raises(UndoRefused):
        filled.undo(batch)


def test_an_undone_operation_is_not_undone_again_though_another_did_the_same_since(store: MemoryStore) -> None:
    store.remember("older", id="o")
    store.remember("text", id="a", created_at=5.0)
    first = store.journal(operation="remember", limit=1)[0].operation.batch
    store.undo()
    store.remember("text", id="a", created_at=5.0)
    with pytest.raises(UndoRefused, match="undone already"):
        store.undo(first)
    assert not store.operation(first).undoable
    assert store.get("a") is not None
    store.undo()
    store.undo()
    assert store.list_recent() == []


def test_an_operation_whose_undo_was_undone_can_be_undone_again(filled: MemoryStore) -> None:
    filled.edit("a", text="other words")
    edited = filled.journal(limit=1)[0].operation.batch
    taken_back = filled.undo(edited)[0].operation.batch
    filled.undo(taken_back)
    filled.undo(edited)
    assert [each.text for each in filled.get_many(["a"])] == ["text of a"]


def test_a_purge_cannot_be_undone(filled: MemoryStore) -> None:
    filled.purge("a")
    with pytest.raises(UndoRefused, match="gone for good"):
        filled.undo(filled.journal()[0].operation.batch)
    assert filled.get("a") is None


def test_what_was_removed_by_an_undo_and_written_again_is_not_overwritten(store: MemoryStore) -> None:
    store.remember("first", id="a")
    undone = store.undo()[0].operation.batch
    store.remember("again", id="a")
    with pytest.raises(UndoRefused, match="exists again"):
        store.undo(undone)


def test_an_unknown_act_is_refused(store: MemoryStore) -> None:
    with pytest.raises(UndoRefused, match="no such operation"):
        store.undo("nothing")


@pytest.mark.parametrize("when", ["before it reads the entries", "before it writes"])
def test_an_operation_that_is_compacted_away_meanwhile_is_not_said_to_be_undone(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    store.remember("one text", id="a")
    store.edit("a", text="another text")
    step = "LongUndo.write" if when == "before it reads the entries" else "undo_part"
    later: Callable[..., list[JournalEntry]] = attrgetter(step)(undo)

    def compacted_meanwhile(*values: object) -> list[JournalEntry]:
        monkeypatch.undo()
        assert store.compact(older_than_days=0) == 2
        return later(*values)

    monkeypatch.setattr(f"nacre.engine.undo.{step}", compacted_meanwhile)
    with pytest.raises(OperationNotFound):
        store.undo()
    assert store.get_many(["a"])[0].text == "another text"


def test_an_undo_names_the_act_it_takes_back_and_the_reason(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    batch = filled.journal()[0].operation.batch
    assert filled.undo(why="a slip")[0].operation.why == f"{batch}: a slip"


@pytest.mark.slow
def test_the_last_act_is_found_behind_a_long_journal_of_undos(store: MemoryStore) -> None:
    store.remember("first", id="a")
    for _ in range(20):
        store.edit("a", importance=0.9)
        store.undo()
    store.undo()
    assert store.count() == 0


def test_an_act_is_undone_by_its_entry_by_its_batch_or_by_the_beginning_of_it(filled: MemoryStore) -> None:
    before = content(filled)
    for way in range(3):
        filled.forget("a", "b")
        entry = filled.journal()[0]
        filled.undo((entry, entry.operation.batch, entry.operation.batch[:10])[way])
        assert content(filled) == before


def test_the_last_few_acts_are_undone_as_one_act(filled: MemoryStore) -> None:
    states = [content(filled)]
    for act in ("edit", "supersede", "forget"):
        ACTS[act](filled)
        states.append(content(filled))
    count = len({entry.operation.batch for entry in filled.journal(limit=None)})
    undone = filled.undo(last=3, why="all of it")
    assert content(filled) == states[0]
    assert len({entry.operation.batch for entry in filled.journal(limit=None)}) == count + 1
    filled.undo(undone[0])
    assert content(filled) == states[3]
    filled.undo(last=2)
    assert content(filled) == states[1]


@pytest.mark.parametrize("last", [0, -1])
def test_fewer_than_one_act_cannot_be_undone(filled: MemoryStore, last: int) -> None:
    with pytest.raises(InvalidInput, match="1 or more"):
        filled.undo(last=last)


def test_more_acts_than_there_are_are_not_undone(store: MemoryStore) -> None:
    store.remember("only one", id="a")
    with pytest.raises(UndoRefused, match="Only 1 operation"):
        store.undo(last=2)
    assert store.get("a") is not None
    with pytest.raises(InvalidInput, match="not both"):
        store.undo("abc", last=1)


def test_a_refused_undo_names_the_later_acts_and_once_they_are_undone_it_goes_through(filled: MemoryStore) -> None:
    before = content(filled)
    filled.edit("a", text="once")
    first = filled.journal("a")[0].operation
    filled.edit("a", text="twice")
    filled.forget("a")
    with pytest.raises(UndoBlocked) as caught:
        filled.undo(first.batch)
    later = [act for act in caught.value.later if isinstance(act, Operation)]
    assert [act.name for act in later] == ["forget", "edit"]
    assert f"forget {later[0].batch[:8]}" in str(caught.value)
    assert filled.journal("a")[0].operation.name == "forget"
    for act in later:
        filled.undo(act.batch)
    filled.undo(first.batch)
    assert content(filled) == before


def test_a_later_operation_on_the_same_memory_blocks_an_undo_and_one_on_another_does_not(filled: MemoryStore) -> None:
    filled.link("a", "b")
    linked = filled.journal()[0].operation.batch
    filled.edit("b", text="other words")
    filled.link("a", "new", "refines")
    with pytest.raises(UndoBlocked) as caught:
        filled.undo(linked)
    assert [act.name for act in caught.value.later if isinstance(act, Operation)] == ["link"]
    filled.undo()
    filled.undo(linked)
    assert [link.to for memory in content(filled) if memory.id == "a" for link in memory.links] == []


def test_a_word_that_was_changed_since_blocks_the_undo(store: MemoryStore) -> None:
    store.register_relation("foretells", "first")
    first = store.journal()[0].operation.batch
    store.register_relation("foretells", "second")
    with pytest.raises(UndoBlocked, match="foretells"):
        store.undo(first)
    store.undo()
    store.undo()
    assert "foretells" not in store.relations()


def test_after_a_purge_the_last_act_is_named_and_not_stepped_over(filled: MemoryStore) -> None:
    filled.edit("b", importance=0.9)
    filled.purge("a")
    with pytest.raises(UndoRefused, match="purge"):
        filled.undo()
    filled.undo(filled.journal("b")[0].operation.batch)
    found = filled.get("b")
    assert found is not None
    assert found.importance == 0.5


@pytest.mark.slow
def test_a_beginning_that_fits_several_acts_or_none_is_refused(filled: MemoryStore) -> None:
    for _ in range(20):
        filled.edit("a", importance=0.9)
        filled.edit("a", importance=0.1)
    beginnings = [entry.operation.batch[0] for entry in filled.journal(limit=None)]
    several = next(letter for letter in beginnings if beginnings.count(letter) > 1)
    with pytest.raises(InvalidInput, match="more characters"):
        filled.undo(several)
    for nothing in ("", "zz"):
        with pytest.raises(UndoRefused, match="no such operation"):
            filled.undo(nothing)


def test_the_journal_is_narrowed_by_what_is_asked(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    edited = filled.journal(limit=1)[0]
    filled.forget("a", "b")
    assert {entry.operation.name for entry in filled.journal("a")} == {"remember", "edit", "forget"}
    assert filled.journal(operation="edit") == [edited]
    assert filled.journal(batch=edited.operation.batch[:12]) == [edited]
    assert filled.journal(actor="tester", limit=None) == filled.journal(limit=None)
    assert filled.journal(actor="somebody") == []
    assert filled.journal(since=edited.operation.at, until=edited.operation.at) == [edited]
    assert [entry.operation.name for entry in filled.journal(since=edited.operation.at)] == ["forget", "forget", "edit"]
    assert filled.journal(newest_first=False)[0].operation.name == "remember"
    assert len(filled.journal(limit=2)) == 2


def test_undo_without_a_name_takes_back_the_callers_own_last_operation(filled: MemoryStore) -> None:
    other = filled.as_actor("somebody")
    filled.edit("a", importance=0.9)
    other.edit("b", importance=0.1)
    filled.undo()
    assert [memory.importance for memory in filled.get_many(["a", "b"])] == [0.5, 0.1]
    with pytest.raises(UndoRefused, match="--any"):
        filled.as_actor("newcomer").undo()
    filled.undo(any_actor=True)
    assert [memory.importance for memory in filled.get_many(["a", "b"])] == [0.5, 0.5]


def test_an_own_operation_that_somebody_else_took_back_is_passed_over(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    filled.edit("b", importance=0.9)
    filled.as_actor("somebody").undo(any_actor=True)
    filled.undo()
    assert [memory.importance for memory in filled.get_many(["a", "b"])] == [0.5, 0.5]


def pinned(memory: Memory) -> Memory:
    return replace(memory, pinned=True)


def test_what_a_tool_wrote_for_the_caller_is_the_callers_own(filled: MemoryStore) -> None:
    filled.acting_as("decay").change("default", ["a"], "decay", pinned)
    filled.undo()
    assert not filled.get_many(["a"])[0].pinned


def test_what_a_tool_wrote_last_for_somebody_unknown_is_named_and_not_stepped_over(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    filled.as_actor("somebody").acting_as("decay").change("default", ["a"], "decay", pinned)
    tool = filled.journal()[0].operation
    with pytest.raises(UndoRefused, match=tool.batch[:8]):
        filled.undo()
    filled.undo(tool.batch)
    filled.undo()
    assert filled.get_many(["a"])[0].importance == 0.5


def test_unattended_maintenance_does_not_stand_between_a_caller_and_undo(filled: MemoryStore) -> None:
    filled.edit("a", importance=0.9)
    filled.as_actor("somebody").acting_as("decay").change("default", ["b"], "decay", pinned, why="maintenance")
    filled.undo()
    assert [memory.importance for memory in filled.get_many(["a"])] == [0.5]


def test_a_type_that_memories_have_cannot_be_unregistered_by_an_undo(store: MemoryStore) -> None:
    store.register_type("recipe")
    registered = store.journal()[0]
    store.remember("Boil the pasta", id="pasta", type="recipe")
    stored = store.journal()[0].operation
    with pytest.raises(UndoBlocked, match="'recipe' is in use") as blocked:
        store.undo(registered)
    assert blocked.value.later == (stored,)
    assert "recipe" in store.types()
    store.undo(registered, cascade=True)
    assert "recipe" not in store.types()
    assert store.get("pasta") is None


def test_a_type_that_another_space_uses_is_refused_by_the_name_of_that_space(store: MemoryStore) -> None:
    store.register_type("recipe")
    store.in_space("kitchen").remember("Boil the pasta", type="recipe")
    with pytest.raises(UndoRefused, match="'kitchen'"):
        store.undo(cascade=True)
    assert "recipe" in store.types()


def test_a_memory_does_not_come_back_with_a_type_that_is_no_longer_registered(store: MemoryStore) -> None:
    store.register_type("recipe")
    registered = store.journal()[0]
    store.remember("Boil the pasta", id="pasta", type="recipe")
    undone = store.undo()
    store.undo(registered)
    with pytest.raises(UndoRefused, match="not registered"):
        store.undo(undone[0])


def test_the_creation_of_a_memory_that_others_were_linked_to_is_not_undone_alone(filled: MemoryStore) -> None:
    filled.remember("text of c", id="c", on_conflict="ignore")
    created = filled.journal()[0]
    filled.link("a", "c", "refines")
    linked = filled.journal()[0].operation
    filled.edit("b", importance=0.9)
    with pytest.raises(UndoBlocked, match="c was linked from a") as blocked:
        filled.undo(created)
    assert blocked.value.later == (linked,)
    filled.undo(created, cascade=True)
    assert filled.get("c") is None
    a, b = filled.get_many(["a", "b"])
    assert (a.links, b.importance) == ((), 0.9)


def test_a_link_that_is_older_than_its_target_does_not_block_the_undo_of_the_target(filled: MemoryStore) -> None:
    filled.link("a", "c", "refines")
    filled.remember("text of c", id="c", on_conflict="ignore")
    filled.undo()
    assert filled.get("c") is None


def test_memories_of_one_operation_that_are_linked_with_each_other_are_undone_together(store: MemoryStore) -> None:
    drafts = [store.draft(f"text of {id}", id=id, links=[Link(other, "refines")]) for id, other in ("ab", "ba")]
    store.write("learn", new=drafts)
    store.undo()
    assert content(store) == []


def test_a_relation_that_was_learned_from_a_link_stays_while_another_link_has_it(filled: MemoryStore) -> None:
    filled.link("a", "b", "foretells")
    first = filled.journal()[0].operation.batch
    filled.link("b", "new", "foretells")
    filled.undo(first)
    assert filled.get_many(["a"])[0].links == ()
    assert "foretells" in filled.relations()
    filled.undo()
    assert filled.edges(rel="foretells") == []


def test_a_relation_that_somebody_registered_is_not_taken_from_links_that_have_it(filled: MemoryStore) -> None:
    filled.register_relation("foretells", "what comes")
    registered = filled.journal()[0]
    filled.link("a", "b", "foretells")
    with pytest.raises(UndoBlocked, match="'foretells' is in use"):
        filled.undo(registered)
    filled.undo(registered, cascade=True)
    assert "foretells" not in filled.relations()
    assert filled.get_many(["a"])[0].links == ()


def test_an_undo_does_not_bring_back_a_link_to_a_memory_that_was_purged(filled: MemoryStore) -> None:
    filled.link("a", "b", "refines")
    filled.unlink("a", "b")
    unlinked = filled.journal()[0]
    filled.purge("b")
    filled.undo(unlinked)
    assert filled.get_many(["a"])[0].links == ()


def test_an_undo_brings_back_a_link_to_a_memory_from_which_only_a_purge_took_a_link(filled: MemoryStore) -> None:
    filled.link("new", "b", "refines")
    filled.link("a", "new", "refines")
    filled.unlink("a", "new")
    unlinked = filled.journal()[0]
    filled.purge("b")
    assert filled.journal("new")[0].operation.name == "purge"
    filled.undo(unlinked)
    assert ("new", "refines") in [(link.to, link.rel) for link in filled.get_many(["a"])[0].links]


@pytest.fixture
def many(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """Ten memories of one operation, which takes four parts to undo."""
    monkeypatch.setattr("nacre.engine.operation_parts.PART_GROWTH", 1)
    monkeypatch.setattr("nacre.engine.undo.PART", 3)
    store.remember_many([{"text": f"text of {number}", "id": f"m{number}"} for number in range(10)])
    return store


def test_many_entries_are_undone_in_parts_as_one_operation(many: MemoryStore) -> None:
    before = content(many)
    undone = many.undo(why="too many")
    assert content(many) == []
    assert len(undone) == 10
    assert {entry.operation.why.partition(": ")[2] for entry in many.journal(operation="undo")} == {"too many"}
    many.undo(undone[0])
    assert content(many) == before
    assert many.health(thorough=True).problems == ()


def test_many_entries_are_not_undone_in_part_when_a_later_operation_depends_on_one(many: MemoryStore) -> None:
    created = many.journal()[0]
    many.edit("m0", importance=0.9)
    edited = many.journal()[0].operation
    with pytest.raises(UndoBlocked, match="m0") as blocked:
        many.undo(created)
    assert blocked.value.later == (edited,)
    assert len(content(many)) == 10
    assert many.journal()[0].operation == edited
    many.undo(created, cascade=True)
    assert content(many) == []


def test_an_undo_in_parts_that_is_overtaken_by_a_change_brings_everything_back(many: MemoryStore) -> None:
    created = many.journal()[0]

    other = many.as_actor("somebody")
    between_parts(many, lambda: other.edit("m1", importance=0.9))
    with pytest.raises(UndoBlocked, match="m1"):
        many.undo(created)
    assert {memory.id: memory.importance for memory in content(many)} == {
        f"m{number}": 0.9 if number == 1 else 0.5 for number in range(10)
    }


def test_several_changes_of_one_memory_in_different_parts_are_undone_together(many: MemoryStore) -> None:
    before = content(many)
    for importance in (0.1, 0.2, 0.3, 0.4, 0.9):
        many.bump("m0", to=importance)
    many.undo(last=5)
    assert content(many) == before


def test_an_undo_on_a_full_disk_is_completed_by_the_next_one_when_there_is_room(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = undo.undo_part
    parts = iter((really,))

    def part(*arguments: object) -> object:
        write = next(parts, None)
        if write is None:
            raise StoreFull("s.db")
        return write(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(undo, "undo_part", part)
        for _ in range(2):  # the second one finds the first
            with pytest.raises(StoreFull, match="not complete") as full:
                many.undo()
            assert "Free some space, and `nacre undo` completes it" in str(full.value)
            assert len(content(many)) == 7
    many.undo()
    assert content(many) == [] and len(undos(many)) == 1


class Killed(BaseException):
    pass


def killed_after(parts: int, undoing: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets an undo write so many parts and nothing more, as when its process is killed."""
    really, done = undo.undo_part, 0

    def part(*given: object) -> object:
        nonlocal done
        done += 1
        if done > parts:
            raise Killed
        return really(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(undo, "undo_part", part)
        with pytest.raises(Killed):
            undoing()


def undos(store: MemoryStore) -> list[str]:
    return list(dict.fromkeys(entry.operation.batch for entry in store.journal(operation="undo", limit=None)))


FINISHING: dict[str, Callable[[MemoryStore, JournalEntry], object]] = {
    "without a name": lambda store, _: store.undo(),
    "the last of anybody": lambda store, _: store.as_actor("somebody").undo(any_actor=True),
    "by name": lambda store, created: store.undo(created),
    "with what depends on it": lambda store, created: store.undo(created, cascade=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", FINISHING)
def test_an_undo_that_was_killed_is_finished_by_the_next_one_and_nothing_else_is_undone(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    many.remember("text of another", id="another", on_conflict="ignore")
    before = content(many)
    many.write("learn", new=[many.draft(f"text {number}", id=f"n{number}") for number in range(10)])
    created = many.journal()[0]
    killed_after(2, lambda: many.undo(why="too many"), monkeypatch)
    assert len(content(many)) == 11 + 4
    done = FINISHING[how](many, created)
    assert content(many) == before
    assert [entry.memory_id for entry in done] == ["n3", "n2", "n1", "n0"]  # type: ignore[attr-defined]
    assert "it is finished now" in caplog.text
    (finished,) = undos(many)
    many.undo(finished)
    assert len(content(many)) == 11 + 10
    assert many.health(thorough=True).problems == ()


def test_an_undo_that_was_killed_is_finished_before_another_operation_or_itself_is_undone(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(many)
    created = many.journal()[0]
    killed_after(1, lambda: many.undo(created), monkeypatch)
    many.remember("text of another", id="another", on_conflict="ignore")
    many.undo(many.journal()[0])
    assert content(many) == []
    many.undo(undos(many)[1])
    assert content(many) == before
    killed_after(2, lambda: many.undo(created), monkeypatch)
    many.undo(undos(many)[0])
    assert content(many) == before


def test_an_undo_that_was_killed_is_taken_back_when_a_change_since_then_blocks_it(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    created = many.journal()[0]
    killed_after(2, lambda: many.undo(created), monkeypatch)
    many.edit("m1", importance=0.9)
    with pytest.raises(UndoBlocked, match="m1"):
        many.undo(created)
    assert "could not be finished" in caplog.text
    with pytest.raises(UndoRefused, match="an undo that was not complete"):
        many.undo(undos(many)[0])
    assert len(content(many)) == 10
    many.undo(created, cascade=True)
    assert content(many) == []


def test_an_undo_that_was_killed_while_it_was_taken_back_is_taken_back_by_the_next_one(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = many.journal()[0]
    killed_after(3, lambda: many.undo(created), monkeypatch)
    many.edit("m0", importance=0.9)
    killed_after(2, lambda: many.undo(created), monkeypatch)
    assert 1 < len(content(many)) < 10
    many.undo()
    assert len(content(many)) == 10
    many.undo()
    assert {memory.importance for memory in content(many)} == {0.5}


def test_an_undo_that_was_killed_is_finished_under_the_new_name_of_its_space(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after(1, many.undo, monkeypatch)
    many.rename_space("harbour")
    many.undo()
    assert content(many) == []


def between_parts(store: MemoryStore, meanwhile: Callable[[], object]) -> None:
    """Does something once, after the first part of the next undo of `many`."""

    class Sink:
        def __call__(self, entries: Sequence[JournalEntry]) -> None:
            if [entry.memory_id for entry in entries] == ["m9", "m8", "m7"]:
                meanwhile()

        def scrub(self, space: str, ids: object) -> None: ...

    store._engine = replace(store._engine, sink=Sink())


def test_two_processes_at_the_same_undo_finish_it_together(many: MemoryStore) -> None:
    created, other = many.journal()[0], many.as_actor("somebody")
    between_parts(many, lambda: other.undo(created))
    assert [entry.memory_id for entry in many.undo(created)] == ["m9", "m8", "m7"]
    assert content(many) == [] and len(undos(many)) == 1


def test_an_undo_that_goes_on_stops_when_its_space_is_renamed_at_that_moment(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    created, other, really = many.journal()[0], many.as_actor("somebody"), undo.LongUndo._goes_on
    between_parts(many, lambda: killed_after(1, lambda: other.undo(created), monkeypatch))

    def goes_on(undoing: undo.LongUndo, store: Backend) -> bool:
        more = really(undoing, store)
        if more:
            other.rename_space("harbour")
        return more

    monkeypatch.setattr(undo.LongUndo, "_goes_on", goes_on)
    with pytest.raises(OperationStopped, match="renamed to 'harbour'"):
        many.undo(created)
    other.undo(any_actor=True)
    assert content(other) == []


def test_an_undo_goes_on_where_another_process_has_brought_it(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    created, other = many.journal()[0], many.as_actor("somebody")
    between_parts(many, lambda: killed_after(1, lambda: other.undo(created), monkeypatch))
    assert [entry.memory_id for entry in many.undo(created)] == ["m9", "m8", "m7", "m3", "m2", "m1", "m0"]
    assert content(many) == [] and len(undos(many)) == 1


@pytest.mark.parametrize("killed", [False, True])
def test_an_undo_that_another_process_took_back_says_so(
    many: MemoryStore, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    created, other = many.journal()[0], many.as_actor("somebody")

    def meanwhile() -> None:
        other.edit("m1", importance=0.9)
        if killed:  # one part further, one refused, one taken back
            killed_after(3, lambda: other.undo(created), monkeypatch)
        else:
            with pytest.raises(UndoBlocked):
                other.undo(created)

    between_parts(many, meanwhile)
    with pytest.raises(UndoRefused, match="took this undo back"):
        many.undo(created)
    if killed:
        assert len(content(many)) == 7
        other.undo()
    assert len(content(many)) == 10


ITEMS = [{"text": f"text of {number}", "id": f"m{number}"} for number in range(10)]


def test_an_undo_that_begins_while_the_operation_runs_takes_all_of_it_back(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.memory_store.PART", 3)
    other, really = store.as_actor("somebody"), undo.undo_part
    left = iter(ITEMS)
    operation = OperationParts(store.space, store._engine.operation("remember", ""))

    def write_part() -> None:
        new = [Change(None, store.draft(**each)) for each in islice(left, 3)]  # type: ignore[arg-type]
        operation.write(store._engine, lambda _: new)

    def undo_part(*arguments: object) -> object:
        if len(content(store)) in (3, 6):
            write_part()  # after the undo has read what it takes back
        return really(*arguments)  # type: ignore[arg-type]

    write_part()
    monkeypatch.setattr(undo, "undo_part", undo_part)
    assert len(other.undo(other.journal()[0])) == 9
    assert content(store) == []
    with pytest.raises(OperationStopped, match="undone"):
        write_part()


@pytest.mark.parametrize("event", ["rename", "purge"])
def test_an_undo_stops_when_its_space_is_renamed_or_deleted_while_it_runs(many: MemoryStore, event: str) -> None:
    other = many.as_actor("somebody")
    rename = event == "rename"
    between_parts(many, lambda: other.rename_space("harbour") if rename else other.delete_space(purge=True))
    with pytest.raises(OperationStopped, match="--space harbour undo` completes it" if rename else "was removed"):
        many.undo()
    assert len(content(other)) == (7 if rename else 0)
    if rename:
        other.undo(any_actor=True)
    assert content(other) == []


def test_a_link_that_was_undone_and_made_again_is_undone_with_its_target(filled: MemoryStore) -> None:
    filled.remember("text of c", id="c", on_conflict="ignore")
    created = filled.journal()[0]
    for _ in range(2):
        filled.link("a", "c", "foretells")
        linked = filled.journal(operation="link")[0].operation
        if _ == 0:
            filled.undo()
    with pytest.raises(UndoBlocked) as blocked:
        filled.undo(created)
    assert blocked.value.later == (linked,)
    filled.undo(created, cascade=True)
    assert filled.get("c") is None and "foretells" not in filled.relations()


def test_a_relation_goes_with_its_last_link_though_an_earlier_one_was_undone(filled: MemoryStore) -> None:
    filled.link("a", "b", "foretells")
    filled.undo()
    filled.link("a", "b", "foretells")
    filled.undo()
    assert "foretells" not in filled.relations()


def test_the_redo_of_what_brought_a_relation_and_a_type_is_undone_with_them(filled: MemoryStore) -> None:
    done = many_with_a_type(filled)
    filled.undo(done)
    undone = filled.journal()[0]
    filled.undo(undone)
    redone = filled.journal()[0]
    assert "recipe" in filled.types() and "foretells" in filled.relations()
    filled.undo(redone)
    assert "recipe" not in filled.types() and "foretells" not in filled.relations()


def test_a_type_is_unregistered_with_the_operation_that_gave_it_and_not_with_one_that_was_undone(
    filled: MemoryStore,
) -> None:
    filled.register_type("recipe")
    registered = filled.journal()[0]
    filled.edit("a", type="recipe")
    edited = filled.journal()[0].operation
    filled.edit("a", type="semantic")
    filled.edit("a", type="recipe")
    filled.undo(last=2)
    with pytest.raises(UndoBlocked, match="'recipe' is in use") as blocked:
        filled.undo(registered)
    assert blocked.value.later == (edited,)
    filled.undo(registered, cascade=True)
    assert "recipe" not in filled.types() and filled.get_many(["a"])[0].type == "semantic"


def many_with_a_type(store: MemoryStore) -> JournalEntry:
    """One operation that registers a type and a relation, and then writes ten memories that have them."""

    def plan(_: Reader) -> list[AnyChange]:
        drafts = [store.draft(f"text {n}", id=f"n{n}", links=[Link("m0", "foretells")]) for n in range(10)]
        terms = [
            TermChange("default", "type", "recipe", None, {}),
            TermChange("default", "relation", "foretells", None, {}),
        ]
        return [*terms, *(Change(None, replace(draft, type="recipe")) for draft in drafts)]

    return store._engine.write_named("learn", plan, "")[0]


@pytest.mark.parametrize("kind", ["type", "relation"])
def test_many_entries_are_not_undone_in_part_when_a_later_operation_uses_their_term(
    many: MemoryStore, kind: str
) -> None:
    learned = many_with_a_type(many)
    if kind == "type":
        many.remember("Boil the pasta", id="pasta", type="recipe", on_conflict="ignore")
    else:
        many.link("m1", "m2", "foretells")
    length = len(many.journal(limit=None))
    with pytest.raises(UndoBlocked, match="is in use"):
        many.undo(learned.operation.batch)
    assert len(many.journal(limit=None)) == length
    many.undo(learned.operation.batch, cascade=True)
    assert {memory.id for memory in content(many)} == {f"m{number}" for number in range(10)}
    assert "recipe" not in many.types() and "foretells" not in many.relations()


def test_many_entries_are_not_undone_in_part_when_a_term_was_changed_since(many: MemoryStore) -> None:
    learned = many_with_a_type(many)
    many.register_relation("foretells", "what comes")
    length = len(many.journal(limit=None))
    with pytest.raises(UndoBlocked, match="'foretells' was changed"):
        many.undo(learned.operation.batch)
    assert len(many.journal(limit=None)) == length


def test_many_memories_do_not_come_back_in_part_with_a_type_that_is_no_longer_registered(many: MemoryStore) -> None:
    many.register_type("recipe")
    registered = many.journal()[0]
    many.write(
        "learn", new=[many.draft(f"text {n}", id=f"n{n}", type="recipe" if n == 9 else "semantic") for n in range(10)]
    )
    undone = many.undo()[0]
    many.undo(registered)
    length = len(many.journal(limit=None))
    with pytest.raises(UndoRefused, match="n9 is of the type 'recipe', which is not registered"):
        many.undo(undone)
    assert len(many.journal(limit=None)) == length


def test_a_type_that_only_a_state_in_between_had_need_not_be_registered(many: MemoryStore) -> None:
    before = content(many)
    many.register_type("recipe")
    registered = many.journal()[0]
    many.remember("Boil the pasta", id="pasta", type="recipe", on_conflict="ignore")
    many.edit("pasta", type="semantic")
    for importance in (0.1, 0.2, 0.3):
        many.bump("m0", to=importance)
    many.undo(registered)
    many.undo(last=5)
    assert content(many) == before
