"""A reindexing that was interrupted is gone on with; one that is asked to begins anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nacre import MemoryStore
from nacre.engine.checked_embedder import checked
from nacre.protocols import Vectors
from tests.embedders import WordBag

MANY = 600  # more than two batches


class Stopped(WordBag):
    """Somebody presses Ctrl-C when it is asked for the second batch."""

    batches = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches += len(texts) > 1
        if self.batches == 2:
            raise KeyboardInterrupt
        return super().embed(texts)


@pytest.fixture(params=["file", pytest.param("memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    path = tmp_path_factory.mktemp("s") / "s.db" if request.param == "file" else ":memory:"
    found = MemoryStore(path, embedder=WordBag())
    found.remember_many(f"note {number}" for number in range(MANY))
    return found


def with_embedder(store: MemoryStore, embedder: WordBag) -> MemoryStore:
    store._engine = replace(store._engine, embedder=checked(embedder, store._engine.store))
    return store


@pytest.mark.slow
def test_what_was_done_is_not_done_again(store: MemoryStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        with_embedder(store, Stopped(identity="second")).reindex()
    left = store.health().pending
    assert 0 < left < MANY
    told: list[tuple[int, int]] = []
    done = with_embedder(store, WordBag(identity="second")).reindex(progress=lambda a, b, _: told.append((a, b)))
    assert done == left and told[-1] == (left, left)
    assert store.health().pending == 0
    assert store.reindex() == MANY


@pytest.mark.slow
def test_a_restart_and_another_embedder_begin_anew(store: MemoryStore) -> None:
    for identity, restart in (("second", True), ("third", False)):
        with pytest.raises(KeyboardInterrupt):
            with_embedder(store, Stopped(identity="second")).reindex(restart=True)
        assert with_embedder(store, WordBag(identity=identity)).reindex(restart=restart) == MANY


@pytest.mark.slow
def test_one_that_others_have_ended_begins_anew(store: MemoryStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        with_embedder(store, Stopped(identity="second")).reindex()
    with_embedder(store, WordBag(identity="second")).catch_up()
    assert store.reindex() == MANY
