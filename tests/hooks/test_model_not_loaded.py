"""While the model is not loaded, nothing waits for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from nacre import MemoryStore
from nacre.hooks.inject import for_prompt
from nacre.hooks.request import Request
from nacre.models.background import BackgroundEmbedder
from nacre.models.embedders import Hashing
from nacre.protocols import Vectors
from tests.hooks.hook_client import eventually

PORT = "The staging database listens on port 5433 of the host heron."
QUESTION = "Which port does the staging database listen on?"


class Slow(Hashing):
    """Loads only after `let_go` is set."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.loaded = False

    @property
    def ready(self) -> bool:  # type: ignore[override]
        return self.loaded

    def embed(self, texts: Sequence[str]) -> Vectors:
        assert self.let_go.wait(60)
        self.loaded = True
        return super().embed(texts)


def asked(store: MemoryStore, prompt: str) -> str:
    found = for_prompt(store, Request("prompt", {"prompt": prompt, "session_id": "s"}, "/nowhere"))
    return "" if found is None else found.text


def test_a_memory_is_stored_and_found_by_its_words_until_the_model_is_there() -> None:
    slow = Slow()
    with MemoryStore(":memory:", embedder=BackgroundEmbedder(slow, load=False)) as store:
        store.remember(PORT, on_conflict="ignore")
        assert store.stats().waiting_for_model == 1
        assert PORT in asked(store, QUESTION)
        slow.let_go.set()
        loading = BackgroundEmbedder(slow).start()
        assert loading is not None
        loading.join()
        store.recall("anything at all")
        assert eventually(lambda: store.stats().waiting_for_model == 0)


@pytest.mark.parametrize("prompt", ["Which port should the ship sail to?", "the port listens", "which port?"])
def test_by_words_alone_half_of_them_must_be_found(prompt: str) -> None:
    with MemoryStore(":memory:", embedder=BackgroundEmbedder(Slow(), load=False)) as store:
        store.remember(PORT, on_conflict="ignore")
        assert bool(asked(store, prompt)) == (prompt != "Which port should the ship sail to?")
