"""Brings what is derived up to date: memories kept without the model, or with another one."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.engine.engine import Engine
from nacre.errors import StorageError
from nacre.model import Memory
from nacre.protocols import Progress
from nacre.remember.derive import derive, same_derived_input

BATCH = 256
STEPS_WITHOUT_EFFECT = 20  # others may edit what is being embedded, but not twenty times the same 256
UPKEEP, UNDER_WAY = "upkeep", "reindex"  # the word of the store's vocabulary that stands while a reindexing goes on


def catch_up(engine: Engine, limit: int = BATCH) -> int:
    """Embeds up to `limit` memories that wait for it and returns how many; not an act, since no record changes.

    Raises `EmbeddingError` when the model cannot answer.
    """
    return embed_waiting(engine, engine.store.pending(limit))


def embed_waiting(engine: Engine, waiting: Sequence[Memory]) -> int:
    """Returns how many of them were embedded; those that somebody has changed meanwhile are not."""
    if not waiting:
        return 0
    done = 0
    found = derive(waiting, engine.embedder, engine.store)
    with engine.store.transaction() as transaction:
        transaction.claim_embedder(engine.embedder.identity, engine.embedder.dimensions)
        for memory, derived in zip(waiting, found, strict=True):
            current = transaction.get(memory.space, memory.id)
            if current is not None and same_derived_input(current, memory):
                transaction.put(current, derived)
                done += 1
    return done


def catch_up_all(engine: Engine, *, progress: Progress | None = None) -> int:
    total, done, stuck = engine.store.health().pending, 0, 0
    while waiting := engine.store.pending(BATCH):
        step = embed_waiting(engine, waiting)
        done += step
        stuck = 0 if step else stuck + 1
        if stuck > STEPS_WITHOUT_EFFECT:
            raise StorageError(
                f"{len(waiting):,} memories cannot be indexed: the store's indexes disagree with its records. "
                "Run `nacre doctor --fix`."
            )
        if progress is not None:
            progress(done, max(done, total), "embedding memories")
    return done


def reindex(engine: Engine, *, restart: bool = False, progress: Progress | None = None) -> int:
    """Computes the words, chunks and vectors of every space again, with the engine's embedder.

    An interruption loses nothing: what is left waits, `catch_up_all` goes on with it, and so does the next `reindex`
    with the same embedder, unless it is told to `restart`.
    """
    engine.embedder.embed([""])  # a model that cannot answer must not cost the vectors of the old one
    identity = engine.embedder.identity
    with engine.store.transaction() as transaction:
        transaction.rebuild_indexes()
    if restart or interrupted(engine) != identity or not engine.store.pending(1):
        with engine.store.transaction() as transaction:
            transaction.change_embedder(identity, engine.embedder.dimensions)
            transaction.put_term(UPKEEP, UNDER_WAY, {"embedder": identity})
    done = catch_up_all(engine, progress=progress)
    with engine.store.transaction() as transaction:
        transaction.put_term(UPKEEP, UNDER_WAY, None)
    return done


def interrupted(engine: Engine) -> str:
    """The identity of the embedder with which a reindexing was begun and not ended; empty when there is none."""
    told = engine.store.terms(UPKEEP).get(UNDER_WAY, {})
    return str(told.get("embedder", ""))
