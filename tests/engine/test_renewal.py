"""A store that a former version of the shipped embedder filled is renewed by itself: words answer until all memories
have new vectors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, Role, ScopeLevel, user_capabilities
from nacre.engine import indexing
from nacre.engine.checked_embedder import MODEL_CHANGED
from nacre.errors import AccessDenied, EmbeddingMismatch, StoreBusy, StoreReadOnly
from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL
from nacre.protocols import EmbedderBound, EmbedderIdentity
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.embedders import WordBag
from tests.former_model import TEXTS, fill, former, is_renewed, model, settle, under_way
from tests.stores_in_postgres import stored_in as stored_in

LIMIT = 60.0  # seconds; what is waited for takes milliseconds


@pytest.fixture
def place(stored_in: str, tmp_path: Path) -> Iterator[Path]:  # noqa: ARG001
    """That of a store which an earlier version filled."""
    fill(tmp_path / "s.db")
    yield tmp_path / "s.db"
    settle()


@pytest.fixture
def kept() -> Iterator[MemoryStore]:
    """In memory."""
    with MemoryStore(":memory:", embedder=model()) as store:
        store.remember_many(TEXTS)
        former(store.unrestricted_backend)
        yield store


def check_renewal_by_recall(store: MemoryStore) -> None:
    assert store.unrestricted_backend.embedder().name == MULTILINGUAL.replaces[0]
    found = store.recall("kettle")
    assert ([hit.memory.text for hit in found], found.notes) == (
        [TEXTS[0]],
        (f"Answered from words alone: {MODEL_CHANGED}",),
    )
    assert is_renewed(store)
    again = store.recall(TEXTS[2], strategy="semantic")
    assert (again[0].memory.text, again.notes) == (TEXTS[2], ())
    assert again[0].score == pytest.approx(1.0, abs=2e-3)
    assert len(store.journal(limit=None)) == len(TEXTS), "no record changes"


def test_a_recall_answers_from_words_says_so_once_and_lets_the_store_be_renewed(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as store:
        check_renewal_by_recall(store)


def test_a_store_in_memory_is_renewed_as_well(kept: MemoryStore) -> None:
    check_renewal_by_recall(kept)


WRITES: tuple[Callable[[MemoryStore], object], ...] = (
    lambda store: store.remember("The teapot is red"),
    lambda store: store.remember_many(["The teapot is red", "The cup is white"]),
    lambda store: store.edit(store.list_recent()[0].id, text="The teapot is red"),
    lambda store: store.in_space("other").remember("The teapot is red"),
    lambda store: store.copy_space("other"),
)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_renews_the_store_and_what_it_writes_has_its_vector(
    place: Path, write: Callable[[MemoryStore], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing.BackgroundCatchUp, "start", lambda _: None)
    with MemoryStore(place, embedder=model()) as store:
        write(store)
        health = store.health()
        assert (health.embedder, under_way(store)) == (MULTILINGUAL.identity, True)
        assert health.memories - health.pending >= 1 and health.pending in (2, 3)
        assert store.recall(TEXTS[0]).notes == (f"Answered from words alone: {MODEL_CHANGED}",)
        assert store.catch_up() == health.pending
        assert is_renewed(store)


def test_who_remembers_is_told_once_and_conflicts_are_found_at_once(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as store:
        result = store.remember_result("The copper kettle is not blue")
        assert result.notes == (MODEL_CHANGED,)
        assert [each.b.text for each in result.conflicts] == [TEXTS[0]]
        assert is_renewed(store)
        assert store.remember_result("The cup is white").notes == ()


def test_old_memories_are_not_compared_again(place: Path) -> None:
    compared: list[object] = []
    with MemoryStore(place, embedder=model()) as store:
        store._parts.catch_up.on_embedded = compared.append
        store.recall("kettle")
        assert is_renewed(store) and compared == []
        former(store.unrestricted_backend)
        assert store.catch_up() == len(TEXTS)
        assert is_renewed(store) and compared == []


@pytest.mark.parametrize("renewing", ["recall", "remember"])
def test_the_process_that_renewed_the_store_goes_on_to_the_end(
    place: Path, renewing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "STEP", 1)
    monkeypatch.setattr(indexing, "STEPS_SECONDS", 0.0)
    with MemoryStore(place, embedder=model()) as store:
        getattr(store, renewing)("The red teapot")
        assert is_renewed(store)


def test_another_process_goes_on_for_a_moment_after_each_call(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STEP", 1)
    with MemoryStore(place, embedder=model()) as store:
        store._engine.embedder.renew()
    with MemoryStore(place, embedder=model()) as store:
        monkeypatch.setattr(indexing, "STEPS_SECONDS", 0.0)
        store.recall("kettle")
        settle()
        assert store.stats().waiting_for_model == len(TEXTS) - 1
        monkeypatch.setattr(indexing, "STEPS_SECONDS", LIMIT)
        store.recall("kettle")
    with MemoryStore(place, embedder=model()) as store:
        assert is_renewed(store), "also while the store was being closed"


def test_a_process_without_the_model_renews_the_store_and_loads_nothing(place: Path) -> None:
    away = model()
    away.well = False
    with MemoryStore(place, embedder=away) as store:
        assert store.recall("kettle").notes == (f"Answered from words alone: {MODEL_CHANGED}",)
        settle()
        assert (store.stats().waiting_for_model, store.stats().embedder) == (len(TEXTS), MULTILINGUAL.identity)
        assert "out today" in store.recall("kettle").notes[0]
        assert "out today" in store.remember_result("The teapot is red").notes[0]


def test_of_two_that_find_the_store_outdated_one_renews_it(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as one, MemoryStore(place, embedder=model()) as other:
        first, second = one._engine.embedder, other._engine.embedder
        commit = first.store.commit

        def overtaken(*args: object, **options: object) -> object:
            assert second.renew()
            assert indexing.catch_up(other._engine) == len(TEXTS)
            return commit(*args, **options)  # type: ignore[arg-type]

        first.store.commit = overtaken  # type: ignore[method-assign,assignment]
        first.check()
        assert first.outdated and not first.renew() and not first.outdated
        first.store.commit = commit
        assert is_renewed(one)
        assert one.recall(TEXTS[1], strategy="semantic")[0].memory.text == TEXTS[1]


def test_one_that_was_overtaken_reads_and_writes_on(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as one, MemoryStore(place, embedder=model()) as other:
        one._engine.embedder.check()
        other._engine.embedder.renew()
        assert one._engine.embedder.embed(["a kettle"]).shape == (1, 64)
        assert one.remember_result("The teapot is red").notes == ()
        assert is_renewed(one) or one.catch_up()


def recall_in_a_process(path: str) -> None:
    with MemoryStore(path, embedder=model()) as store:
        assert [hit.memory.text for hit in store.recall("kettle")] == [TEXTS[0]]
        store.remember(f"A note of process {os.getpid()}")


@pytest.mark.slow
def test_two_processes_at_once_renew_the_store_together(tmp_path: Path) -> None:
    fill(tmp_path / "s.db")
    code = f"from tests.engine.test_renewal import recall_in_a_process as go; go({str(tmp_path / 's.db')!r})"
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) for _ in range(2)]
    assert [process.wait(LIMIT) for process in processes] == [0, 0]
    with MemoryStore(tmp_path / "s.db", embedder=model()) as store:
        store.catch_up()
        assert is_renewed(store) and store.count() == len(TEXTS) + 2


def test_a_recall_does_not_wait_while_somebody_writes(kept: MemoryStore) -> None:
    answered: list[str] = []
    with kept.unrestricted_backend.transaction():  # type: ignore[attr-defined]
        reader = threading.Thread(target=lambda: answered.append(kept.recall("kettle", touch=False)[0].memory.text))
        reader.start()
        reader.join(LIMIT)
        assert answered == [TEXTS[0]]
    assert is_renewed(kept)


@pytest.mark.parametrize("error", [StoreReadOnly, StoreBusy])
def test_where_nothing_can_be_written_words_answer(
    tmp_path: Path, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "s.db")
    with MemoryStore(tmp_path / "s.db", embedder=model()) as store:

        def refused(*_: object, **__: object) -> object:
            raise StoreReadOnly(tmp_path / "s.db") if error is StoreReadOnly else StoreBusy(tmp_path / "s.db", 10.0)

        with monkeypatch.context() as patched:
            patched.setattr(store.unrestricted_backend, "commit", refused)
            for _ in range(2):
                assert [hit.memory.text for hit in store.recall("kettle", touch=False)] == [TEXTS[0]]
                settle()
            with pytest.raises(error):
                store.remember("The teapot is red")
        assert store.unrestricted_backend.embedder().name == MULTILINGUAL.replaces[0]
        store.recall("kettle")
        assert is_renewed(store)


def test_an_agent_that_may_not_write_renews_the_store_and_nothing_more(place: Path) -> None:
    can = AgentCapabilities(ScopeLevel.GLOBAL_READ)
    with MemoryStore(place, embedder=model(), agent="ada", session="s", capabilities=can) as ada:
        assert [hit.memory.text for hit in ada.recall("kettle")] == [TEXTS[0]]
        settle()
        with pytest.raises(AccessDenied):
            ada.reindex()
        anew = EmbedderBound(EmbedderIdentity(MULTILINGUAL.identity), anew=True)
        with pytest.raises(AccessDenied):
            ada.backend.commit([anew])
        assert ada.remember_result("The teapot is red", on_conflict="ignore").notes == ()
        assert is_renewed(ada)


def test_a_reader_of_a_server_is_not_refused(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as store:
        reader = store.as_user("ada", user_capabilities(Role.READER))
        assert [hit.memory.text for hit in reader.recall("kettle")] == [TEXTS[0]]
        assert is_renewed(store)


@pytest.mark.parametrize("name", ["nacre-english-1", "of another maker", "nacre-multilingual-3"])
def test_the_vectors_of_any_other_model_are_refused_as_ever(tmp_path: Path, name: str) -> None:
    fill(tmp_path / "s.db", name)
    with MemoryStore(tmp_path / "s.db", embedder=model()) as store:
        for use in (lambda: store.recall("kettle"), lambda: store.remember("The teapot is red")):
            with pytest.raises(EmbeddingMismatch, match="nacre store reindex"):
                use()
        assert store.health().vectors == len(TEXTS)


def test_a_former_version_refuses_a_store_of_its_successor(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", MULTILINGUAL.identity)
    with (
        MemoryStore(tmp_path / "s.db", embedder=WordBag(identity=MULTILINGUAL.replaces[0])) as store,
        pytest.raises(EmbeddingMismatch, match="nacre store reindex"),
    ):
        store.recall("kettle")


def test_a_reindexing_of_an_outdated_store_ends_the_renewal(place: Path) -> None:
    for renewed in (False, True):
        with MemoryStore(place, embedder=model()) as store:
            former(store.unrestricted_backend)
            if renewed:
                store._engine.embedder.renew()
            else:
                store._engine.embedder.check()
            assert store.reindex() == len(TEXTS)
            assert is_renewed(store)


def test_where_the_last_waiting_memories_were_deleted_maintenance_ends_the_renewal(place: Path) -> None:
    with MemoryStore(place, embedder=model()) as store:
        store._engine.embedder.renew()
        store.purge(*(memory.id for memory in store.list_recent()))
        assert under_way(store)
        assert store.catch_up() == 0
        assert is_renewed(store)


def test_an_empty_store_is_renewed(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=model()) as store:
        former(store.unrestricted_backend)
        assert store.catch_up() == 0
        assert is_renewed(store)


def test_an_import_renews_the_store_and_a_dry_run_does_not(place: Path, tmp_path: Path) -> None:
    with MemoryStore(":memory:", embedder=model()) as other:
        other.remember("The teapot is red")
        export_archive(other, tmp_path / "all.nacre")
    with MemoryStore(place, embedder=model()) as store:
        import_archive(store, tmp_path / "all.nacre", dry_run=True)
        assert store.unrestricted_backend.embedder().name == MULTILINGUAL.replaces[0]
        import_archive(store, tmp_path / "all.nacre")
        assert store.count() == len(TEXTS) + 1
        assert is_renewed(store)


def test_the_english_embedder_has_a_successor_of_its_own(tmp_path: Path) -> None:
    fill(tmp_path / "s.db", "nacre-english-1")
    english = WordBag(identity=ENGLISH.identity)
    with MemoryStore(tmp_path / "s.db", embedder=english) as store:
        assert store.catch_up() == len(TEXTS)
        assert store.health().embedder == ENGLISH.identity
