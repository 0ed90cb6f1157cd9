from __future__ import annotations

from nacre import MemoryStore
from nacre.factory import make_embedder
from nacre.models.calibration import calibration, is_calibrated
from nacre.settings import Settings


def test_the_shipped_embedders_have_constants_of_their_own() -> None:
    for name in ("multilingual", "english"):
        assert is_calibrated(make_embedder(Settings(embedder=name)).identity)


def test_a_recall_with_a_foreign_embedder_says_that_its_relevance_is_uncalibrated() -> None:
    assert calibration("callable:mine").by_cosine > 0
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("the kettle is on", session="morning", position=1)
        assert not store.recall("kettle").calibrated
        assert not store.recall("kettle", group_by="session").calibrated
