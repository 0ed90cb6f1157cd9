"""Remember, edit, forget, purge, restore, supersede."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from nacre import Memory, MemoryStore
from nacre.engine import engine as engine_module
from nacre.engine import operation_parts
from nacre.engine.engine import change_term
from nacre.engine.operation_parts import PART_GROWTH, PART_SECONDS, PartSize, long_operation
from nacre.errors import InvalidInput, MemoryNotFound, StorageError, SupersedeCycle
from nacre.model import Link
from nacre.protocols import Data, TermSet, Vectors
from tests.embedders import Moody
from tests.samples import existing


def test_what_is_remembered_is_what_is_kept(store: MemoryStore) -> None:
    kept = store.remember("The sky is blue", tags=["sky"], importance=0.7, metadata={"a": 1})
    assert existing(store, kept.id) == kept
    assert (kept.space, kept.status, kept.type) == ("default", "short_term", "semantic")
    assert kept.created_at == kept.updated_at == kept.last_accessed
    entry = store.journal()[0]
    assert (entry.operation.name, entry.operation.actor, entry.memory_id, entry.before) == (
        "remember",
        "tester",
        kept.id,
        None,
    )


def test_identical_text_is_known_and_not_kept_twice(store: MemoryStore) -> None:
    first = store.remember("twice told")
    result = store.remember_result("twice told")
    assert (result.action, result.memory.id, store.count()) == ("known", first.id, 1)


def test_an_edit_changes_what_it_names_and_nothing_else(store: MemoryStore, embedder: Moody) -> None:
    kept = store.remember("old words", title="t", tags=["a"])
    edited = store.edit(kept.id, text="new words", importance=0.9)
    assert edited == replace(kept, text="new words", importance=0.9, updated_at=edited.updated_at)
    assert edited.updated_at > kept.updated_at
    assert existing(store, kept.id) == edited
    assert [hit.memory.id for hit in store.recall("new", strategy="keyword")] == [kept.id]
    assert not store.recall("old", strategy="keyword")
    assert embedder.asked[:2] == ["t\n\nold words", "t\n\nnew words"]


def test_an_edit_embeds_again_only_when_text_or_title_changed(store: MemoryStore, embedder: Moody) -> None:
    kept = store.remember("some words")
    asked = len(embedder.asked)
    store.edit(kept.id, importance=0.1, metadata={"x": 1}, links=[Link("y")], status="long_term")
    store.edit(kept.id, tags=["zebra"], entities=["Ada"])
    store.edit(kept.id, text="some words")
    assert len(embedder.asked) == asked
    assert [hit.memory.id for hit in store.recall("zebra", strategy="keyword")] == [kept.id]
    asked = len(embedder.asked)
    store.edit(kept.id, title="a title")
    store.edit(kept.id, text="other words")
    assert len(embedder.asked) == asked + 2


def test_an_edit_that_changes_nothing_is_no_operation(store: MemoryStore) -> None:
    kept = store.remember("some words", tags=["a"])
    assert store.edit(kept.id, text=" some words ", tags=["a"]) == kept
    assert len(store.journal()) == 1


def test_editing_what_is_not_there_says_so(store: MemoryStore) -> None:
    with pytest.raises(MemoryNotFound, match="'nobody'"):
        store.edit("nobody", importance=0.5)


@pytest.mark.slow
def test_concurrent_edits_lose_nothing(store: MemoryStore) -> None:
    kept = store.remember("shared", metadata={})
    errors: list[Exception] = []

    def extended(word: str) -> Callable[[Memory], Memory]:
        return lambda m: replace(m, text=f"{m.text} {word}", access_count=m.access_count + 1)

    def edit(number: int) -> None:
        try:
            for step in range(8):
                store._engine.change(store.space, [kept.id], "edit", extended(f"w{number}x{step}"))
        except Exception as error:  # noqa: BLE001 - a thread's failure must reach the test
            errors.append(error)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    words = existing(store, kept.id).text.split()
    assert sorted(words[1:]) == sorted(f"w{n}x{s}" for n in range(4) for s in range(8))
    assert existing(store, kept.id).access_count == 32
    unfound = [word for word in words if not store.recall(word, strategy="keyword", touch=False)]
    assert unfound == []
    assert len(store.journal(limit=None)) == 33


def test_an_edit_made_while_another_is_embedding_is_not_lost_nor_its_words(store: MemoryStore, embedder: Moody) -> None:
    kept = store.remember("base")

    def extended(word: str) -> Callable[[Memory], Memory]:
        return lambda m: replace(m, text=f"{m.text} {word}")

    embed, interruptions = embedder.embed, ["during"]

    def interrupted(texts: Sequence[str]) -> Vectors:
        if interruptions:
            store._engine.change(store.space, [kept.id], "edit", extended(interruptions.pop()))
        return embed(texts)

    embedder.embed = interrupted  # type: ignore[method-assign]
    store._engine.change(store.space, [kept.id], "edit", extended("after"))
    assert existing(store, kept.id).text == "base during after"
    for word in ("base", "during", "after"):
        assert [hit.memory.id for hit in store.recall(word, strategy="keyword")] == [kept.id]
    assert store.recall("base during after", strategy="semantic")[0].score == pytest.approx(1.0, abs=2e-3)


def test_forgetting_hides_and_restoring_brings_back_the_former_status(store: MemoryStore) -> None:
    kept = store.remember("to forget", status="long_term")
    assert store.forget(kept.id)
    assert not store.forget(kept.id)
    assert not store.forget("nobody")
    assert store.get(kept.id) is not None
    assert store.list_recent() == []
    assert not store.recall("to forget")
    assert [m.id for m in store.list_recent(status="trashed")] == [kept.id]
    assert store.restore(kept.id)
    back = existing(store, kept.id)
    assert back == replace(kept, updated_at=back.updated_at)
    assert not store.restore(kept.id)
    assert store.recall("to forget")[0].memory.id == kept.id


def test_purging_leaves_neither_memory_nor_content_in_the_journal(store: MemoryStore) -> None:
    kept, other = store.remember("secret words"), store.remember("other words")
    store.edit(kept.id, title="secret title", why="a secret reason")
    assert store.purge(kept.id, "nobody", kept.id) == 1
    assert store.get(kept.id) is None
    told = store.journal(kept.id)
    assert [entry.operation.name for entry in told] == ["purge", "edit", "remember"]
    assert all((e.before, e.after) == (None, None) for e in told)
    assert "secret" not in repr(told)
    assert existing(store, other.id) == other
    assert store.health().problems == ()


def test_a_superseded_memory_stays_but_is_no_longer_recalled(store: MemoryStore) -> None:
    old, new = store.remember("the capital is Bonn"), store.remember("the capital is Berlin")
    store.supersede(old.id, new.id)
    gone = existing(store, old.id)
    assert (gone.superseded_by, gone.valid_until) == (new.id, new.created_at)
    assert (old.id, "supersedes") in [(link.to, link.rel) for link in existing(store, new.id).links]
    assert [hit.memory.id for hit in store.recall("capital")] == [new.id]
    assert {hit.memory.id for hit in store.recall("capital", include_superseded=True)} == {old.id, new.id}


def test_repeating_a_supersession_changes_nothing(store: MemoryStore) -> None:
    old, new = store.remember("a"), store.remember("b")
    store.supersede(old.id, new.id)
    before, entries = existing(store, old.id), len(store.journal())
    store.supersede(old.id, new.id)
    assert (existing(store, old.id), len(store.journal())) == (before, entries)


def test_cycles_of_one_two_and_three_are_refused_and_change_nothing(store: MemoryStore) -> None:
    a, b, c = (store.remember(text).id for text in ("a", "b", "c"))
    with pytest.raises(SupersedeCycle):
        store.supersede(a, a)
    store.supersede(a, b)
    with pytest.raises(SupersedeCycle):
        store.supersede(b, a)
    store.supersede(b, c)
    before = store.journal()
    with pytest.raises(SupersedeCycle, match="Restore"):
        store.supersede(c, a)
    assert store.journal() == before
    assert existing(store, c).superseded_by == ""


def test_superseding_what_is_not_there_says_so(store: MemoryStore) -> None:
    a = store.remember("a").id
    for old, new in ((a, "nobody"), ("nobody", a)):
        with pytest.raises(MemoryNotFound):
            store.supersede(old, new)


def test_restoring_undoes_a_supersession_on_both_sides(store: MemoryStore) -> None:
    old, new = store.remember("a"), store.remember("b")
    store.supersede(old.id, new.id)
    assert store.restore(old.id)
    assert replace(existing(store, old.id), updated_at=0.0) == replace(old, updated_at=0.0)
    assert existing(store, new.id).links == ()


def test_a_validity_that_the_caller_set_outlives_the_supersession(store: MemoryStore) -> None:
    old, new = store.remember("a", valid_until="2030-01-01"), store.remember("b")
    store.supersede(old.id, new.id)
    assert existing(store, old.id).valid_until == old.valid_until
    store.restore(old.id)
    assert existing(store, old.id).valid_until == old.valid_until


def test_a_second_successor_takes_the_place_of_the_first(store: MemoryStore) -> None:
    old, first, second = (store.remember(text) for text in ("a", "b", "c"))
    store.supersede(old.id, first.id)
    store.supersede(old.id, second.id)
    assert existing(store, old.id).superseded_by == second.id
    assert existing(store, first.id).links == ()
    assert [(link.to, link.rel) for link in existing(store, second.id).links] == [(old.id, "supersedes")]
    store.restore(old.id)
    assert replace(existing(store, old.id), updated_at=0.0) == replace(old, updated_at=0.0)


def test_a_trashed_and_superseded_memory_is_restored_in_two_steps(store: MemoryStore) -> None:
    old, new = store.remember("a"), store.remember("b")
    store.supersede(old.id, new.id)
    store.forget(old.id)
    assert store.restore(old.id)
    assert existing(store, old.id).superseded_by == new.id
    assert store.restore(old.id)
    assert existing(store, old.id).superseded_by == ""


def test_a_reason_that_cannot_be_written_is_refused(store: MemoryStore) -> None:
    kept = store.remember("a")
    with pytest.raises(InvalidInput, match="why"):
        store.edit(kept.id, importance=0.1, why="\ud800")
    assert existing(store, kept.id) == kept


def test_a_taken_id_that_is_edited_in_the_same_write_is_refused_at_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("first", id="m1")
    monkeypatch.setattr(engine_module, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(InvalidInput, match="'m1' exists already"):
        store.write("note", new=[store.draft("second", id="m1")], edits={"m1": lambda m: replace(m, title="t")})
    assert [memory.text for memory in store.list_recent()] == ["first"]


def test_an_edit_of_a_term_that_another_one_overtakes_is_made_on_what_is_there(store: MemoryStore) -> None:
    backend, seen = store._engine.store, []

    def count(before: Data | None) -> Data:
        seen.append(before)
        if len(seen) == 1:  # somebody else is faster
            change_term(backend, "kind", "t", lambda _: {"n": 5})
        return {"n": 1 if before is None else int(str(before["n"])) + 1}

    change_term(backend, "kind", "t", count)
    assert seen == [None, {"n": 5}] and backend.term("kind", "t") == {"n": 6}


def test_an_edit_of_a_term_that_is_always_overtaken_is_given_up(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "ATTEMPTS", 3)
    monkeypatch.setattr(engine_module, "PATIENCE_SECONDS", 0.0)
    backend, numbers = store._engine.store, iter(range(1_000))

    def overtaken(_: Data | None) -> Data:
        backend.commit([TermSet("kind", "t", {"n": next(numbers)})])
        return {"n": -1}

    with pytest.raises(StorageError, match=r"3 times .* nothing was written"):
        change_term(backend, "kind", "t", overtaken)
    assert backend.term("kind", "t") == {"n": 2}


def test_a_part_of_a_long_operation_is_as_large_as_others_can_wait_for() -> None:
    sizes = PartSize(256)
    sizes.took(PART_SECONDS / 2)
    assert sizes.size == 256
    for _ in range(5):
        sizes.took(PART_SECONDS / 10)
    assert sizes.size == 256 * PART_GROWTH
    for _ in range(9):
        sizes.took(PART_SECONDS * 2)
    assert sizes.size == 256 // PART_GROWTH
    tiny = PartSize(1)
    tiny.took(PART_SECONDS * 2)
    assert tiny.size == 1


def test_the_collector_passes_over_old_objects_during_a_long_operation_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        with long_operation():
            counts.append(gc.get_freeze_count())
            assert gc.get_threshold()[0] > before[0]
            raise InvalidInput("no")

    counts: list[int] = []
    before = gc.get_threshold()
    gc.unfreeze()  # the tests have frozen them
    monkeypatch.setattr(operation_parts, "_frozen_by", None)
    try:
        with pytest.raises(InvalidInput):
            fails()
        assert counts[0] > 0 == gc.get_freeze_count() and gc.get_threshold() == before
        gc.set_threshold(0, *before[1:])  # a program that looks for garbage itself
        with long_operation():
            assert gc.get_threshold()[0] == 0
        gc.set_threshold(*before)
        gc.freeze()
        with long_operation():
            frozen = gc.get_freeze_count()
            assert gc.get_threshold() == before
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.freeze()
        gc.set_threshold(*before)


def test_what_a_program_has_frozen_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long as there are objects."""
    counts = iter([1_000_000])
    monkeypatch.setattr(operation_parts, "_frozen_by", None)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: next(counts))
    for _ in range(3):
        with long_operation(), long_operation():
            pass


def test_an_operation_within_another_neither_counts_nor_thaws(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        steps.append("count")
        return 0

    steps: list[str] = []
    monkeypatch.setattr(operation_parts, "_frozen_by", None)
    monkeypatch.setattr(gc, "get_freeze_count", count)
    monkeypatch.setattr(gc, "freeze", lambda: steps.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: steps.append("unfreeze"))
    for _ in range(2):
        with long_operation(), long_operation():
            pass
    assert steps == ["count", "freeze", "unfreeze"] * 2
