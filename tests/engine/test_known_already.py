"""A text that is stored already is touched and gets what the new one adds; it is not stored twice."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.engine import engine
from nacre.engine.engine import Engine
from nacre.errors import ConflictError, StorageError
from nacre.model import Link
from tests.embedders import WordBag

TEXT = "The spare key hangs behind the clock"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder=WordBag())


@pytest.mark.parametrize("policy", ["note", "ignore", "warn"])
def test_the_same_text_is_known_already_and_gets_tags_and_source(store: MemoryStore, policy: str) -> None:
    first = store.remember(TEXT, tags=["home"], source="me")
    again = store.remember_result(TEXT, tags=["keys"], source="letter", on_conflict=policy)
    assert (again.action, again.memory.id, store.count()) == ("known", first.id, 1)
    assert (again.memory.tags, again.memory.source) == (("home", "keys"), "me")
    assert again.memory.metadata["other_sources"] == ["letter"]
    assert (again.memory.access_count, again.conflicts) == (1, ())
    assert store.recall("spare key", tag="keys")


def test_case_and_blanks_do_not_make_another_text(store: MemoryStore) -> None:
    first = store.remember(TEXT)
    assert store.remember("the SPARE key  hangs\nbehind the clock").id == first.id


def test_one_undo_brings_tags_back_and_the_use_stays_counted_as_every_use(store: MemoryStore) -> None:
    first = store.remember(TEXT, tags=["home"])
    store.remember(TEXT, tags=["keys"])
    store.undo()
    kept = store.get(first.id)
    assert kept is not None
    assert (kept.tags, kept.access_count, store.count()) == (("home",), 1, 1)


@pytest.mark.parametrize("policy", ["note", "ignore", "warn"])
def test_a_repetition_that_adds_nothing_is_a_use_and_no_operation(store: MemoryStore, policy: str) -> None:
    first = store.remember(TEXT, tags=["home"], source="me")
    other = store.remember("The boat is in the shed")
    before = store.journal(limit=None)
    again = store.remember_result(TEXT, tags=["home"], source="me", on_conflict=policy)
    many = store.remember_many([TEXT])
    assert (again.action, again.memory.access_count, again.memory.version) == ("known", 1, first.version)
    kept = store.get(first.id)
    assert kept is not None and (kept.access_count, kept.updated_at) == (2, first.updated_at)
    assert [each.id for each in many] == [first.id] and store.journal(limit=None) == before
    (undone,) = store.undo()
    assert undone.memory_id == other.id, "the last thing that was done, and not the use"


def test_a_batch_counts_a_use_of_what_is_known_beside_what_is_new(store: MemoryStore) -> None:
    first = store.remember(TEXT)
    store.remember_many([TEXT, "A boat"])
    kept = store.get(first.id)
    assert kept is not None and kept.access_count == 1
    assert {entry.memory_id for entry in store.undo()} != {first.id} and store.count() == 1


@pytest.mark.parametrize("spoken_first", [False, True])
def test_what_somebody_said_is_stored_beside_the_same_words_that_nobody_said(
    store: MemoryStore, spoken_first: bool
) -> None:
    first = store.remember(TEXT, role="user" if spoken_first else "")
    second = store.remember_result(TEXT, role="" if spoken_first else "user")
    assert (second.action, store.count()) == ("stored", 2)
    assert {first.role, second.memory.role} == {"", "user"}


def test_what_differs_in_meaning_is_another_memory(store: MemoryStore) -> None:
    store.remember(TEXT)
    for fields in (
        {"id": "chosen"}, {"valid_from": "2026-01-01"}, {"type": "procedural"}, {"agent": "other"}, {"polarity": -1},
        {"metadata": {"a": 1}, "title": "Keys"}, {"trust": 0.4},
    ):  # fmt: skip
        before = store.count()
        result = store.remember_result(TEXT, **fields)
        assert (result.action, store.count()) == ("stored", before + 1), fields


def test_what_was_said_or_happened_twice_is_kept_twice(store: MemoryStore) -> None:
    for position in (0, 1):
        store.remember("yes", session="s", position=position, role="user")
        store.remember("We sailed to the island", type="episodic")
        store.remember("We sailed to the cape", type="episodic", occurred_at=f"2026-05-0{position + 1}")
    assert store.count() == 6
    again = store.remember_result("We sailed to the cape", type="episodic", occurred_at="2026-05-01")
    assert again.action == "known"


def test_what_was_forgotten_or_replaced_is_new_again(store: MemoryStore) -> None:
    first = store.remember(TEXT)
    store.forget(first.id)
    second = store.remember(TEXT)
    assert second.id != first.id
    store.remember("The spare key is lost", replaces=second.id)
    assert store.remember_result(TEXT).action == "stored"


def test_a_batch_stores_each_text_once_and_knows_what_is_stored(store: MemoryStore) -> None:
    first = store.remember(TEXT, tags=["home"])
    stored = store.remember_many([{"text": TEXT, "tags": ["keys"]}, "A boat", {"text": "a  BOAT", "tags": ["sea"]}])
    assert [each.id for each in stored] == [first.id, stored[1].id, stored[1].id]
    assert (stored[0].tags, stored[1].tags, store.count()) == (("home", "keys"), ("sea",), 2)
    store.undo()
    kept = store.get(first.id)
    assert kept is not None and (kept.tags, store.count()) == (("home",), 1)


def test_ids_that_are_asked_for_are_given_to_copies(store: MemoryStore) -> None:
    store.remember_many([{"text": TEXT, "id": "a"}, {"text": TEXT, "id": "b"}])
    assert {memory.id for memory in store.list_recent()} == {"a", "b"}


@pytest.mark.parametrize("way", ["supersede", "replaces"])
def test_a_correction_takes_copies_along(store: MemoryStore, way: str) -> None:
    store.remember_many([{"text": TEXT, "id": "a"}, {"text": TEXT, "id": "b"}, {"text": TEXT, "id": "c", "agent": "x"}])
    if way == "supersede":
        new = store.remember("The spare key is with the neighbour", id="new", on_conflict="ignore").id
        store.supersede("a", new)
    else:
        new = store.remember("The spare key is with the neighbour", replaces="a").id
    assert {memory.id for memory in store.list_recent()} == {new, "c"}
    store.undo()
    assert {"a", "b", "c"} <= {memory.id for memory in store.list_recent()}


def test_a_known_text_is_refused_where_conflicts_are_and_merged_where_they_supersede(store: MemoryStore) -> None:
    first = store.remember(TEXT, importance=0.5)
    with pytest.raises(ConflictError):
        store.remember(TEXT, on_conflict="raise")
    merged = store.remember_result(TEXT, importance=0.5, on_conflict="supersede")
    assert (merged.action, merged.memory.id, merged.memory.importance) == ("merged", first.id, 0.55)


@pytest.mark.parametrize("policy", ["note", "ignore", "supersede"])
def test_another_session_is_another_origin(store: MemoryStore, policy: str) -> None:
    first = store.remember(TEXT, session="s1")
    second = store.remember_result(TEXT, session="s2", on_conflict=policy)
    assert (second.action, store.count()) == ("stored", 2)
    assert store.remember(TEXT, session="s1").id == first.id


@pytest.mark.parametrize("policy", ["note", "ignore", "supersede"])
def test_copies_that_an_agent_may_not_write_are_left_alone(tmp_path: Path, policy: str) -> None:
    def opened(session: str) -> MemoryStore:
        reading = AgentCapabilities(ScopeLevel.CROSS_SESSION_READ)
        return MemoryStore(tmp_path / "s", embedder=WordBag(), agent="a", session=session, capabilities=reading)

    with opened("s1") as other:
        theirs = other.remember(TEXT).id
    with opened("s2") as store:
        mine = store.remember(TEXT, on_conflict=policy).id
        assert mine != theirs
        store.supersede(mine, store.remember("The spare key is lost", on_conflict="ignore").id)
        again = store.remember(TEXT, on_conflict="ignore").id
        store.remember("The spare key is with the neighbour", replaces=again)
        left = store.get(theirs)
        assert left is not None and not left.superseded_by


@pytest.mark.parametrize("policy", ["note", "ignore"])
@pytest.mark.parametrize(
    "fields", [{"anti_contexts": ["boat"]}, {"created_at": "2024-01-01"}, {"confidence": 0.3}, {"valence": -0.9}]
)
def test_a_given_field_that_differs_is_not_lost(store: MemoryStore, fields: dict[str, Any], policy: str) -> None:
    first = store.remember(TEXT, confidence=0.7)
    other = store.remember_result(TEXT, on_conflict=policy, **fields)
    assert (other.action, store.count()) == ("stored", 2)
    assert store.remember_result(TEXT, on_conflict=policy, **fields).memory.id == other.memory.id
    assert store.remember_result(TEXT, on_conflict=policy, anti_contexts=[], confidence=0.7).memory.id == first.id


@pytest.mark.parametrize("again", [TEXT.lower(), f"{TEXT}."], ids=["capitals", "full stop"])
def test_a_repetition_that_is_merged_brings_all_that_was_given_and_says_so(store: MemoryStore, again: str) -> None:
    first, other = store.remember(TEXT, importance=0.5), store.remember("The ladder is in the cellar")
    more: dict[str, Any] = {"tags": ["home"], "contexts": ["moving"], "entities": ["Ann"], "metadata": {"page": 7}}
    more |= {"source": "letter", "pinned": True, "importance": 0.8, "links": [Link(other.id, "related")]}
    result = store.remember_result(again, on_conflict="supersede", **more)
    merged = result.memory
    assert (result.action, merged.id, store.count()) == ("merged", first.id, 2)
    assert (merged.tags, merged.contexts, merged.entities) == (("home",), ("moving",), ("Ann",))
    assert (merged.source, merged.metadata["page"], merged.pinned) == ("letter", 7, True)
    assert (round(merged.importance, 2), merged.access_count, len(merged.links)) == (0.85, 1, 1)
    assert "metadata" in result.notes[-1] and "undo" in result.notes[-1]


@pytest.mark.parametrize("again", [TEXT, f"{TEXT}."], ids=["the same text", "full stop"])
@pytest.mark.parametrize(
    "fields",
    [{"anti_contexts": ["boat"]}, {"created_at": 5.0}, {"confidence": 0.3}, {"title": "Keys"}, {"id": "key"}],
    ids=str,
)
def test_a_repetition_with_a_field_that_differs_is_not_merged(
    store: MemoryStore, fields: dict[str, Any], again: str
) -> None:
    store.remember(TEXT, confidence=0.7)
    other = store.remember_result(again, on_conflict="supersede", **fields)
    assert (other.action, other.memory.text, store.count()) == ("stored", again, 2)


@pytest.mark.parametrize("policy", ["note", "ignore"])
def test_the_notes_say_what_a_known_text_got_and_what_it_did_not(store: MemoryStore, policy: str) -> None:
    store.remember(TEXT, importance=0.9)
    assert store.remember_result(TEXT, on_conflict=policy).notes == ()
    (note,) = store.remember_result(TEXT, tags=["home"], on_conflict=policy).notes
    assert "tags" in note and "undo" in note
    (kept,) = store.remember_result(TEXT, importance=0.2, on_conflict=policy).notes
    assert "0.9" in kept


def test_one_text_of_two_types_is_known_as_both(store: MemoryStore) -> None:
    items = [{"text": TEXT}, {"text": TEXT, "type": "procedural"}]
    first = store.remember_many(items)
    assert [each.id for each in store.remember_many(items)] == [each.id for each in first]
    assert store.count() == 2


def test_a_known_text_gets_no_link_to_itself(store: MemoryStore) -> None:
    first = store.remember(TEXT)
    assert store.remember(TEXT, links=[Link(first.id, "about")]).links == ()


def test_a_correction_leaves_pinned_copies_and_its_own_successor(store: MemoryStore) -> None:
    store.remember_many([{"text": TEXT, "id": "a"}, {"text": TEXT, "id": "b"}])
    store.remember_many([{"text": TEXT, "id": "pinned", "pinned": True}, {"text": "Nobody has a key", "id": "new"}])
    store.supersede("new", "b")
    store.supersede("a", "new")
    assert {memory.id for memory in store.list_recent()} == {"b", "pinned"}


@pytest.fixture
def overtaken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., MemoryStore]]:
    """A store in which somebody else writes this text, or does something else, just before the next write."""
    write, path = Engine.write, tmp_path / "s.db"
    with MemoryStore(path, embedder=WordBag()) as store, MemoryStore(path, embedder=WordBag()) as other:
        store.remember("The kettle is blue")

        def before(text: str, act: Callable[[MemoryStore], object] | None = None) -> MemoryStore:
            acts = [act or (lambda other: other.remember(text, tags=["first"]))]

            def late(self: Engine, *args: Any, **options: Any) -> Any:
                if acts:
                    acts.pop()(other)
                return write(self, *args, **options)

            if act is not None:
                store.remember(text, id="known")

            monkeypatch.setattr(Engine, "write", late)
            return store

        yield before


@pytest.mark.parametrize("policy", ["note", "ignore", "supersede"])
def test_two_who_store_a_text_at_the_same_moment_store_it_once(
    overtaken: Callable[[str], MemoryStore], policy: str
) -> None:
    store = overtaken(TEXT)
    second = store.remember_result(TEXT.upper(), tags=["second"], on_conflict=policy)
    assert (second.action, store.count()) == ("merged" if policy == "supersede" else "known", 2)
    assert second.memory.tags == ("first", "second")


def test_of_many_texts_one_that_somebody_stores_at_the_same_moment_is_stored_once(
    overtaken: Callable[[str], MemoryStore],
) -> None:
    store = overtaken(TEXT)
    first, second = store.remember_many([TEXT, "The saw is in the shed"])
    assert (store.count(), first.tags, second.tags) == (3, ("first",), ())


def test_a_text_that_somebody_stores_at_the_same_moment_is_refused_where_conflicts_are(
    overtaken: Callable[[str], MemoryStore],
) -> None:
    store = overtaken(TEXT)
    with pytest.raises(ConflictError):
        store.remember(TEXT, on_conflict="raise")
    assert store.count() == 2


def test_what_was_said_twice_at_the_same_moment_is_kept_twice(overtaken: Callable[[str], MemoryStore]) -> None:
    store = overtaken(TEXT)
    store.remember(TEXT, type="episodic")
    assert store.count() == 3


@pytest.mark.parametrize("policy", ["note", "ignore", "supersede"])
@pytest.mark.parametrize(
    "act",
    [
        lambda other: other.forget("known"),
        lambda other: other.archive("known"),
        lambda other: other.purge("known"),
        lambda other: other.edit("known", text="The boat is green"),
    ],
    ids=["forget", "archive", "purge", "edit"],
)
def test_what_somebody_removes_or_changes_at_the_same_moment_is_stored_anew(
    overtaken: Callable[..., MemoryStore], act: Callable[[MemoryStore], object], policy: str
) -> None:
    store = overtaken(TEXT, act)
    again = store.remember_result(TEXT, on_conflict=policy)
    assert (again.action, again.memory.text) == ("stored", TEXT) and again.memory.id != "known"
    assert again.memory.id in {each.id for each in store.list_recent()}


@pytest.mark.parametrize("replaces", [None, "known"])
def test_who_is_overtaken_again_and_again_gives_up_with_an_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, replaces: str | None
) -> None:
    monkeypatch.setattr(engine, "ATTEMPTS", 3)
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(Engine, "make_edits", lambda *_, **__: [])  # as where the known one has always just changed
    known = store.remember(TEXT, id="known")
    with pytest.raises(StorageError, match="3 times"):
        store.remember(TEXT, replaces=replaces)
    assert store.get("known") == known


def test_a_wording_is_not_merged_into_what_somebody_removes_at_the_same_moment(
    overtaken: Callable[..., MemoryStore],
) -> None:
    store = overtaken(TEXT, lambda other: other.forget("known"))
    again = store.remember_result(f"{TEXT}!", on_conflict="supersede")
    assert again.action == "stored" and again.memory.id != "known"


@pytest.mark.parametrize(
    ("stored", "again"),
    [
        ("Toplantı İstanbul'da", "toplantı istanbul'da"),
        ("Le café ferme à midi", unicodedata.normalize("NFD", "Le café ferme à midi")),
    ],
)
def test_a_text_is_known_whatever_the_case_of_its_turkish_i_and_the_encoding_of_its_accents(
    store: MemoryStore, stored: str, again: str
) -> None:
    first = store.remember(stored)
    second = store.remember_result(again)
    assert (second.action, second.memory.id) == ("known", first.id)


def test_two_turkish_words_that_differ_in_the_dot_of_an_i_are_two_texts(store: MemoryStore) -> None:
    store.remember("Evin sınır sorunu var")
    assert store.remember_result("Evin sinir sorunu var").action == "stored"
