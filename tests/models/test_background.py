from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.models.background import RETRY_SECONDS, BackgroundEmbedder
from nacre.models.embedders import Hashing
from nacre.protocols import Vectors
from tests.waiting import wait_for

PATIENCE_OF_TESTS = 120.0  # seconds


class Slow(Hashing):
    """Ready once it was let go on."""

    def __init__(self, failing: bool = False) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.failing = failing
        self.loads = 0
        self.ready = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.ready:
            self.loads += 1
            self.go_on.wait(PATIENCE_OF_TESTS)
            if self.failing:
                raise EmbeddingError("There is no network; connect it and repeat.")
            self.ready = True
        return super().embed(texts)


def soon(condition: Callable[[], object]) -> bool:
    return bool(wait_for(condition, "what the background does"))


def test_until_the_model_is_loaded_embedding_fails_at_once() -> None:
    slow = Slow()
    background = BackgroundEmbedder(slow)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="not loaded yet"):
            background.embed(["x"])
    assert not background.ready and background.count_tokens(["two words"])[0] > 0
    slow.go_on.set()
    assert soon(lambda: background.ready)
    assert background.embed(["x"]).shape == (1, slow.dimensions) and slow.loads == 1
    assert (background.identity, background.token_limit) == (slow.identity, slow.token_limit)


def test_a_failed_load_is_reported_and_tried_again_later() -> None:
    now = 0.0
    slow = Slow(failing=True)
    slow.go_on.set()
    reported: list[str] = []
    background = BackgroundEmbedder(slow, on_failure=reported.append, clock=lambda: now)
    loading = background.start()
    assert loading is not None
    loading.join()
    assert "no network" in reported[0]
    with pytest.raises(EmbeddingError, match="no network"):
        background.embed(["x"])
    assert slow.loads == 1
    now, slow.failing = RETRY_SECONDS + 1, False
    background.start()
    assert soon(lambda: background.ready) and slow.loads == 2


def test_an_unloaded_model_is_reported_and_keeps_its_identity() -> None:
    waiting = BackgroundEmbedder(Slow(), load=False)
    assert (waiting.identity, waiting.dimensions) == (Hashing.identity, Hashing().dimensions)
    with pytest.raises(ModelUnavailable, match="not loaded yet"):
        waiting.embed(["x"])


def test_a_loaded_model_is_not_loaded_again() -> None:
    assert BackgroundEmbedder(Hashing()).start() is None
