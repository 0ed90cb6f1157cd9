"""An embedder that loads in the background: nobody waits, everybody is told, and a failure is tried again later."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.mcp.store_provider import RETRY_SECONDS, WarmingEmbedder
from nacre.models.hashing import Hashing
from nacre.protocols import Vectors

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


def soon(condition: object) -> bool:
    end = time.monotonic() + PATIENCE_OF_TESTS
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.005)
    return False


def test_until_it_is_there_nobody_waits_and_everybody_is_told() -> None:
    slow = Slow()
    warming = WarmingEmbedder(slow)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="still loading"):
            warming.embed(["x"])
    assert not warming.ready and warming.count_tokens(["two words"])[0] > 0
    slow.go_on.set()
    assert soon(lambda: warming.ready)
    assert warming.embed(["x"]).shape == (1, slow.dimensions) and slow.loads == 1
    assert (warming.identity, warming.token_limit) == (slow.identity, slow.token_limit)


def test_a_load_that_failed_is_told_and_tried_again_later() -> None:
    now = 0.0
    slow = Slow(failing=True)
    slow.go_on.set()
    warming = WarmingEmbedder(slow, clock=lambda: now)
    warming.start()
    assert soon(lambda: warming.failure)
    with pytest.raises(EmbeddingError, match="no network"):
        warming.embed(["x"])
    assert slow.loads == 1
    now, slow.failing = RETRY_SECONDS + 1, False
    warming.start()
    assert soon(lambda: warming.ready) and slow.loads == 2
