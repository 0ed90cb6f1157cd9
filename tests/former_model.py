"""Stores as an earlier version left them, whose shipped embedder was another one; and what is to become of them."""

from __future__ import annotations

import threading
from pathlib import Path

from nacre import MemoryStore
from nacre.engine.checked_embedder import PROBE, UNDER_WAY
from nacre.models.shipped_embedder import MULTILINGUAL
from nacre.protocols import UPKEEP, Backend, EmbedderBound, EmbedderIdentity
from tests.embedders import Moody, WordBag
from tests.waiting import wait_for

TEXTS = ("The copper kettle is blue", "The iron lamp is green", "The harbour opens at dawn")
THREAD = "nacre-catch-up"


def model(**options: int) -> Moody:
    """Its name is that of the shipped one, which replaces another; its vectors are its own."""
    return Moody(identity=MULTILINGUAL.identity, **options)


def former(store: Backend, name: str = MULTILINGUAL.replaces[0]) -> None:
    """As an earlier version left it: with another name, other dimensions and other vectors."""
    probe = WordBag(32).embed([PROBE])[0].astype("<f2").tobytes()
    store.commit([EmbedderBound(EmbedderIdentity(name, 32, probe))])


def fill(place: Path | str, name: str = MULTILINGUAL.replaces[0]) -> None:
    with MemoryStore(place, embedder=WordBag(32, identity="of the test")) as store:
        store.remember_many(TEXTS)
        former(store.unrestricted_backend, name)


def under_way(store: MemoryStore) -> bool:
    return UNDER_WAY in store.unrestricted_backend.terms(UPKEEP)


def settle() -> None:
    wait_for(lambda: not [each for each in threading.enumerate() if each.name == THREAD], "the end of all steps")


def is_renewed(store: MemoryStore, identity: str = MULTILINGUAL.identity) -> bool:
    settle()
    health = store.unrestricted_backend.health(thorough=True)
    assert health.problems == ()
    return (health.embedder, health.pending, under_way(store)) == (identity, 0, False)
