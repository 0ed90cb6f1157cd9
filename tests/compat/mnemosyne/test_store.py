"""The store: two terms in one place, what is kept of a memory, and what becomes of it."""

from __future__ import annotations

import socket
import sqlite3
import warnings
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nacre.compat.mnemosyne.config.settings import StorageSettings
from nacre.compat.mnemosyne.core.consolidator import MemoryConsolidator
from nacre.compat.mnemosyne.core.models import ConsolidationConfig, EmotionalContext, Memory, MemoryStatus, MemoryType
from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore


def full(**changed: object) -> Memory:
    values = {
        "content": "The heron stood in the shallows until dusk",
        "summary": "A patient bird",
        "memory_type": MemoryType.SEMANTIC,
        "created_at": datetime.now() - timedelta(days=3),
        "last_accessed": datetime.now() - timedelta(days=1),
        "access_count": 4,
        "emotional_context": EmotionalContext(0.4, -0.2, "serene"),
        "related_memory_ids": ["elsewhere"],
        "source_memory_ids": ["before", "earlier"],
        "tags": ["birds", "river"],
        "metadata": {"page": 7, "seen": ["dusk"]},
        "importance_score": 0.8,
    }
    return Memory(**{**values, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["v1", {"version": 1}, {"summary": "own"}, {}, None])
@pytest.mark.parametrize("feeling", [None, EmotionalContext(0.4, -0.2, "serene")])
def test_a_programs_own_key_of_the_same_name_is_kept(
    store: ChromaMemoryStore, value: object, feeling: EmotionalContext | None
) -> None:
    memory = full(metadata={"mnemosyne": value, "page": 7}, emotional_context=feeling)
    store.add_memory(memory)
    assert store.get_memory(memory.id) == memory


def test_what_another_program_noted_under_that_key_hinders_no_reading(store: ChromaMemoryStore) -> None:
    store.memories.remember("Herons nest in colonies", id="native", metadata={"mnemosyne": "v1"})
    (found,) = store.search_memories("where do herons nest?")
    assert found.metadata["mnemosyne"] == "v1"


@pytest.mark.accepts("M3.1", "M3.4")
def test_everything_a_memory_carries_is_kept(store: ChromaMemoryStore) -> None:
    memory = full()
    store.add_memory(memory)
    assert store.get_memory(memory.id) == memory


@pytest.mark.accepts("M3.1")
@pytest.mark.parametrize("summary", ["", "The heron stood", "long " * 300])
def test_a_summary_of_any_kind_is_kept(store: ChromaMemoryStore, summary: str) -> None:
    memory = full(summary=summary)
    store.add_memory(memory)
    kept = store.get_memory(memory.id)
    assert kept is not None and kept.summary == summary


@pytest.mark.accepts("M3.1")
def test_no_field_is_guessed_that_was_not_given(store: ChromaMemoryStore) -> None:
    memory = Memory(content="I am so terribly furious and sad about the lost harvest!")
    store.add_memory(memory)
    assert store.get_memory(memory.id) == memory


@pytest.mark.accepts("M2.1", "M2.3", "M2.4", "M9.1")
def test_the_status_chooses_the_term(store: ChromaMemoryStore) -> None:
    for place, status in enumerate(MemoryStatus):
        store.add_memory(Memory(content=f"Note number {place}", status=status))
    assert (store.short_term.name, store.long_term.name) == ("short_term_memory", "long_term_memory")
    assert (store.short_term.count(), store.long_term.count()) == (2, 2)
    assert store.count_memories() == 4 and store.get_short_term_count() == 2
    assert store.count_memories(MemoryStatus.SHORT_TERM) == store.count_memories(MemoryStatus.LONG_TERM) == 2
    assert {each.status for each in store.get_all_short_term()} == {
        MemoryStatus.SHORT_TERM,
        MemoryStatus.CONSOLIDATING,
    }
    assert len(store.get_all_short_term(limit=1)) == 1


@pytest.mark.accepts("M3.1", "M7.6", "M9.1")
def test_a_promotion_keeps_the_embedding_and_happens_once(store: ChromaMemoryStore) -> None:
    memory = full()
    store.add_memory(memory)
    before = store.get_embeddings_batch([memory.id])
    assert store.promote_memory(memory.id) is True
    assert store.promote_memory(memory.id) is False and store.promote_memory("nobody") is False
    kept = store.get_memory(memory.id)
    assert kept is not None and kept.status is MemoryStatus.LONG_TERM
    assert store.get_embeddings_batch([memory.id]) == before and len(before[memory.id]) == 384
    assert store.count_memories(MemoryStatus.SHORT_TERM) == 0


@pytest.mark.accepts("M9.1")
def test_embeddings_are_plain_lists_of_those_that_are_there(store: ChromaMemoryStore) -> None:
    memory = full()
    store.add_memory(memory)
    result = store.get_embeddings_batch([memory.id, "nobody"])
    assert list(result) == [memory.id] and all(type(figure) is float for figure in result[memory.id])
    assert store.get_embeddings_batch([]) == {}


@pytest.mark.accepts("M9.1")
def test_a_deleted_memory_is_gone_in_the_journal_too(store: ChromaMemoryStore) -> None:
    first, second, third = (Memory(content=f"Page {number} of the logbook") for number in range(3))
    for memory in (first, second, third):
        store.add_memory(memory)
    assert store.delete_memory(first.id) is True and store.delete_memory(first.id) is False
    assert store.get_memory(first.id) is None
    assert store.batch_delete([second.id, "nobody", third.id]) == 2 and store.batch_delete([]) == 0
    assert store.count_memories() == 0
    assert "logbook" not in str(store.memories.journal(limit=None))


@pytest.mark.accepts("M9.1")
def test_an_id_that_is_there_already_keeps_what_it_has(store: ChromaMemoryStore) -> None:
    store.add_memory(Memory(id="one", content="The first words"))
    store.add_memory(Memory(id="one", content="Other words"))
    kept = store.get_memory("one")
    assert kept is not None and kept.content == "The first words" and store.count_memories() == 1


@pytest.mark.accepts("M10.1")
def test_a_store_lives_in_its_folder_and_opens_again(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "down"
    first = ChromaMemoryStore(str(place), "hashing")
    memory = full()
    first.add_memory(memory)
    first.client.close()
    assert [file.name for file in place.iterdir()] == ["nacre.db"]
    again = ChromaMemoryStore(persist_directory=str(place), embedding_model="hashing")
    assert again.get_memory(memory.id) == memory
    again.client.reset()
    assert again.count_memories() == 0
    again.client.close()


@pytest.mark.accepts("M10.1")
def test_the_default_folder_is_the_published_one() -> None:
    store = ChromaMemoryStore(embedding_model="hashing")
    assert store.persist_directory == Path("data/memory") and (Path("data") / "memory" / "nacre.db").is_file()
    store.client.close()


@pytest.mark.accepts("M1.2")
def test_collections_of_other_names_are_other_memories(tmp_path: Path) -> None:
    named = StorageSettings(persist_directory=str(tmp_path), embedding_model="hashing", short_term_collection="mine")
    mine, usual = ChromaMemoryStore(settings=named), ChromaMemoryStore(str(tmp_path), "hashing")
    mine.add_memory(Memory(content="Only mine"))
    assert (mine.count_memories(), usual.count_memories()) == (1, 0)
    mine.client.close()
    usual.client.close()


@pytest.mark.accepts("M1.2", "M7.1")
def test_store_and_consolidator_share_one_engine(store: ChromaMemoryStore) -> None:
    store.add_memory(full(created_at=datetime.now() - timedelta(days=1), access_count=10))
    assert MemoryConsolidator(store).config == ConsolidationConfig()
    assert MemoryConsolidator(store).consolidate().memories_promoted == 1
    assert store.count_memories(MemoryStatus.LONG_TERM) == 1


@pytest.mark.accepts("M3.3")
def test_a_function_from_texts_to_rows_is_a_model_too(tmp_path: Path) -> None:
    calls: list[int] = []

    def lengths(texts: list[str]) -> list[list[float]]:
        calls.append(len(texts))
        return [[1.0, len(text) / 10] for text in texts]

    store = ChromaMemoryStore(str(tmp_path), lengths)  # type: ignore[arg-type]
    store.add_memory(Memory(id="one", content="Seven words are quite enough for anyone"))
    computed = len(calls)
    assert store.promote_memory("one") and len(store.get_embeddings_batch(["one"])["one"]) == 2
    assert len(calls) == computed
    store.client.close()


@pytest.mark.accepts("M10.1")
def test_nothing_is_sent_over_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: called.append(address))
    store = ChromaMemoryStore(str(tmp_path), "hashing")
    store.add_memory(full())
    store.search_memories_hybrid("heron")
    assert store.client.reset() is True and store.count_memories() == 0
    store.client.close()
    assert called == []


@pytest.mark.accepts("M10.2")
def test_one_sqlite_file_holds_the_words_and_the_vectors_as_bytes(store: ChromaMemoryStore) -> None:
    memory = full()
    store.add_memory(memory)
    assert store.get_embeddings_batch([memory.id])
    file = store.persist_directory / "nacre.db"
    assert file.read_bytes().startswith(b"SQLite format 3\0")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT id FROM memory").fetchall() == [(memory.id,)]
        kept = database.execute("SELECT typeof(halves), length(halves) FROM vector").fetchall()
    assert kept and all(kind == "blob" and size >= 384 for kind, size in kept)


def test_data_of_chroma_is_pointed_out_until_something_is_stored(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").touch()
    with pytest.warns(UserWarning, match="short_term_memory\\+long_term_memory import"):
        store = ChromaMemoryStore(tmp_path)
    store.add_memory(full())
    store.client.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChromaMemoryStore(tmp_path).client.close()
