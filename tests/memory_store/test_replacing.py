"""A memory that replaces another does so in the act that keeps it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.engine.remember import SAME_TEXT, store_replacement
from nacre.errors import InvalidInput, MemoryNotFound


def test_what_is_remembered_can_replace_another_in_one_act() -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    old = store.remember("The staging server is at 10.0.0.7")
    result = store.remember_result("The staging server is at 10.0.0.9", replaces=old.id)
    assert (result.action, store.get(old.id).superseded_by) == ("superseded", result.memory.id)  # type: ignore[union-attr]
    assert [memory.id for memory in store.list_recent()] == [result.memory.id]
    store.undo()
    assert [memory.id for memory in store.list_recent()] == [old.id]
    assert store.get(result.memory.id) is None


def test_nothing_is_kept_when_what_it_replaces_is_not_there() -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    with pytest.raises(MemoryNotFound):
        store.remember("A fact", replaces="nobody")
    assert store.count() == 0


@pytest.mark.parametrize("options", [{"on_conflict": "rais"}, {"contradiction_fn": 3}], ids=str)
def test_options_that_are_wrong_are_refused_also_where_nothing_is_compared(options: dict[str, Any]) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        old = store.remember("The staging server is at 10.0.0.7")
        with pytest.raises(InvalidInput):
            store.remember("The staging server is at 10.0.0.9", replaces=old.id, **options)
        assert store.count() == 1


def test_what_replaces_another_keeps_its_type_and_tags_unless_others_are_given() -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    old = store.remember("Deploy with make ship", type="procedural", tags=["deploy"])
    kept = store.remember("Deploy with make release", replaces=old.id)
    assert (kept.type, kept.tags) == ("procedural", ("deploy",))
    given = store.remember("Releases are made on Monday", replaces=kept.id, type="semantic", tags=[])
    assert (given.type, given.tags) == ("semantic", ())


def test_a_known_text_replaces_another_without_being_stored_again() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("Deploy with make ship on Friday", id="old", type="procedural", tags=["deploy"])
        store.remember("The staging port is 8443", id="third")
        known = store.remember("Deploy with make ship on Monday", id="known", links=[noted("old"), noted("third")])
        before = held(store)
        for text in (known.text, known.text.upper()):
            result = store.remember_result(text, replaces="old", source="docs/deploy.md")
            assert (result.memory.id, result.action, result.conflicts) == ("known", "superseded", ())
            assert result.stored_before and result.memory.source == "docs/deploy.md"
            assert result.memory.tags == ("deploy",) and result.memory.type == known.type
            assert [memory.id for memory in store.list_recent()] == ["known", "third"]
            assert held(store)["old"].superseded_by == "known" and held(store)["third"] == before["third"]
            assert [item.id for item in store.review(kinds="conflict")] == ["known:third"]
            store.undo()
            assert held(store) == before
        assert store.remember("Deploy with make ship on Monday", replaces="old", session="s").id != "known"
        assert not store.remember_result("The staging port is 8080", replaces="third").stored_before


def test_a_known_text_keeps_its_own_time_and_importance_and_says_so() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        store.remember("Deploy with make ship on Friday", id="old", importance=0.5)
        known = store.remember("Deploy with make ship on Monday", id="known", importance=0.9, created_at="2026-03-01")
        result = store.remember_result(known.text, replaces="old", importance=0.2, created_at="2020-01-01")
        assert (result.memory.id, result.memory.created_at) == ("known", known.created_at)
        assert result.notes[:2] == (
            "It keeps its importance of 0.9, which is higher than the given one.",
            "It keeps the time at which it was created, 2026-03-01.",
        )
        assert [memory.id for memory in store.list_recent()] == ["known"]
        assert result.memory == store.get("known")  # its version as well


def test_no_noted_conflict_is_left_between_a_known_text_and_what_it_replaces() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        for holder, other in (("known", "old"), ("old", "known")):
            texts = {"old": "Deploy with make ship on Friday", "known": "Deploy with make ship on Monday"}
            store.remember(texts[other], id=other)
            store.remember(texts[holder], id=holder, links=[noted(other)])
            store.remember(texts["known"], replaces="old")
            links = {id: [(link.to, link.rel) for link in each.links] for id, each in held(store).items()}
            assert links == {"old": [], "known": [("old", "supersedes")]}
            store.purge("old", "known")


def test_what_was_written_down_before_another_replaces_it_only_with_the_time_since_when_it_holds() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        store.remember("Park in lot A", id="old", created_at="2025-01-01")
        with pytest.raises(InvalidInput, match="on 2020-01-01 cannot replace old, which is of 2025-01-01; leave"):
            store.remember("Park in lot B", replaces="old", created_at="2020-01-01")
        assert store.count(include_superseded=True) == 1
        new = store.remember("Park in lot B", replaces="old", created_at="2020-01-01", valid_from="2026-01-01")
        assert (new.date, held(store)["old"].date) == ("since 2026-01-01", "until 2025-12-31")
        later = store.remember("Park in lot C", replaces=new.id, created_at="2026-02-01")
        assert later.date == "since 2026-02-01"


def test_a_memory_is_not_replaced_by_its_own_text() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        old = store.remember("The staging port is 8443", id="old", type="procedural")
        for fields in ({}, {"created_at": "2020-01-01"}, {"tags": ["ops"]}):
            result = store.remember_result(old.text, replaces="old", **fields)
            assert (result.memory.id, result.action, result.notes[0]) == ("old", "known", SAME_TEXT)
        assert store.count(include_superseded=True) == 1 and held(store)["old"].tags == ("ops",)
        other = store.remember_result("The Staging Port is 8443", replaces="old")  # another spelling is a new version
        assert (other.action, other.stored_before, store.count()) == ("superseded", False, 1)


def test_a_known_text_that_another_edits_at_that_moment_does_not_replace(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with MemoryStore(file, embedder="hashing") as other, MemoryStore(file, embedder="hashing") as store:
        store.remember("Deploy with make ship on Friday", id="old")
        store.remember("Deploy with make ship on Monday", id="known", on_conflict="ignore")
        engine = store._engine
        edited: list[Memory] = []

        def edit_first() -> float:
            """Time is asked for when the edit is planned, after the copy was found."""
            if not edited and inspect.currentframe().f_back.f_code.co_name == "repeat":  # type: ignore[union-attr]
                edited.append(other.edit("known", text="Never deploy by hand"))
            return engine.clock()

        handling = store._handling(None)
        memory = store.draft("Deploy with make ship on Monday")
        result = store_replacement(replace(engine, clock=edit_first), memory, "old", handling, explicit=())
        assert edited and result.memory.text == memory.text and not result.stored_before
        assert held(store)["old"].superseded_by == memory.id and held(store)["known"].text == "Never deploy by hand"


def held(store: MemoryStore) -> dict[str, Memory]:
    found = store.iterate(include_superseded=True)
    return {each.id: replace(each, last_accessed=0.0, access_count=0) for each in found}


def test_noted_conflicts_of_what_is_replaced_pass_to_its_successor() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        first = store.remember("The team meets on Thursday at noon", id="first")
        second = store.remember("The team meets on Tuesday at noon", id="second", links=[noted(first.id)])
        later = store.remember("The team meets at noon on Friday", id="later", links=[noted(second.id)])
        third = store.remember("The team meets on Monday at noon", replaces=second.id)
        assert {(link.to, link.kind) for link in third.links if link.rel == "conflicts"} == {
            (first.id, "update"),
            (later.id, "update"),
        }
        pairs = {(item.conflict.a.id, item.conflict.b.id) for item in store.review() if item.conflict}
        assert (third.id, first.id) in pairs
        store.undo()
        assert store.get(third.id) is None and store.get(second.id) == second


def test_no_conflict_passes_on_with_what_says_the_same() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        store.remember("The team meets on Thursday", id="first", session="s")
        store.remember("The team meets on Tuesday", id="second", links=[noted("first")])
        again = store.remember("The team meets on thursday", id="third", replaces="second")
        assert [link.rel for link in again.links] == ["supersedes"]


def noted(id: str) -> Link:
    return Link(id, "conflicts", data={"kind": "update", "sure": True})


def test_a_memory_with_a_last_day_holds_on_that_day_and_no_longer() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        store.remember("a coupon for shoes", id="coupon", valid_from="2020-01-01", valid_until="2023-12-31")
        assert store.count(valid_at="2023-12-31T23:59:59Z") == store.count(valid_at="2023-12-31") == 1
        assert store.count(valid_at="2024-01-01") == 0
        assert held(store)["coupon"].date == "2020-01-01 to 2023-12-31"
        assert store.edit("coupon", valid_until="2022-12-31").date == "2020-01-01 to 2022-12-31"


def test_a_memory_cannot_end_before_it_begins() -> None:
    with MemoryStore(":memory:", embedder="hashing", on_conflict="ignore") as store:
        with pytest.raises(InvalidInput, match=r"valid_until .2025-01-01.* is before valid_from .2026-04-01"):
            store.remember("The database is PostgreSQL 15", valid_from="2026-04-01", valid_until="2025-01-01")
        kept = store.remember("The database is PostgreSQL 15", valid_from="2026-04-01")
        with pytest.raises(InvalidInput, match="is before valid_from"):
            store.edit(kept.id, valid_until="2025-01-01")
        assert store.count() == 1 and store.get(kept.id) == kept
        assert store.edit(kept.id, valid_until="now", valid_from=None).valid_until is not None
