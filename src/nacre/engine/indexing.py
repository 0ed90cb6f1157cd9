"""Brings words and vectors up to date: of memories stored without the model, or with another one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from nacre.engine.engine import Engine
from nacre.errors import EmbeddingError, StorageError, StoreBusy, StoreFull, StoreReadOnly
from nacre.model import Memory
from nacre.protocols import Progress
from nacre.remember.derive import derive, same_derived_input

BATCH = 256
ON_THE_WAY = 32  # memories that another call embeds; some 50 ms
STEPS_WITHOUT_EFFECT = 20  # others may edit what is being embedded, but not twenty times the same 256
UPKEEP, UNDER_WAY = "upkeep", "reindex"  # the term that exists while a reindexing is under way


def catch_up(engine: Engine, limit: int = BATCH) -> int:
    """Embeds up to `limit` waiting memories and returns how many; not journaled, since no record changes.

    Raises `EmbeddingError` when the model cannot answer.
    """
    return embed_waiting(engine, engine.store.pending(limit))


def catch_up_if_ready(engine: Engine) -> None:
    """Embeds a few waiting memories on the way of another call, which reports what is wrong if it matters to it."""
    if engine.embedder.ready and engine.store.pending(1):
        with suppress(EmbeddingError, StoreBusy, StoreFull, StoreReadOnly):
            catch_up(engine, ON_THE_WAY)


def embed_waiting(engine: Engine, waiting: Sequence[Memory]) -> int:
    """Returns how many of them were embedded; those that changed meanwhile are not."""
    if not waiting:
        return 0
    done = 0
    derived = derive(waiting, engine.embedder, engine.store)
    with engine.store.transaction() as transaction:
        engine.claim(transaction)
        for memory, each in zip(waiting, derived, strict=True):
            current = transaction.get(memory.space, memory.id)
            if current is not None and same_derived_input(current, memory):
                transaction.put(current, each)
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

    An interruption loses nothing: what is left waits, and `catch_up_all` or the next `reindex` with the same embedder
    continues, unless it is told to `restart`.
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
    """The identity of the embedder of a reindexing that did not end; empty when there is none."""
    return str(engine.store.terms(UPKEEP).get(UNDER_WAY, {}).get("embedder", ""))
