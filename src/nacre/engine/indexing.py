"""Keeps the indexes complete: embeds what waits, in the background too, and computes everything anew."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from nacre.engine.checked_embedder import MODEL_CHANGED, RENEWAL, UNDER_WAY
from nacre.engine.engine import Engine
from nacre.engine.operation_parts import PART
from nacre.errors import (
    EmbeddingMismatch,
    NacreError,
    StorageError,
)
from nacre.files import ThreadLock
from nacre.model import Filter, Memory
from nacre.model.memory import Json, key_of
from nacre.models.calibration import is_calibrated, measured_values, median_cosines
from nacre.protocols import (
    UPKEEP,
    Change,
    Committed,
    Data,
    Embedder,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    IndexesRebuilt,
    Progress,
    Reader,
    TermSet,
)
from nacre.remember.derive import derive, same_derived_input

log = logging.getLogger("nacre")

OnEmbedded: TypeAlias = Callable[[Memory], object]  # what is done with a memory that has got its vector later
STEPS_WITHOUT_EFFECT = 20  # a step is lost when others edit its memories meanwhile; twenty in a row are an error
TEXTS_A_SPACE = 100  # texts by which an embedder's cosines are calibrated
STEP = 32  # pending memories embedded after one call: about 50 ms, because the process may end soon
QUIET_SECONDS = 1.0  # pause after a step in which no pending memory could be embedded
STEPS_SECONDS = 0.3  # in which step follows step after a renewal, also when the store is closed: 200 memories or more
CLOSING_SECONDS = 1.0  # how long closing waits for a step; longer only where another process locks the store
RENEWING_SECONDS = 5.0  # how long it waits while an outdated store is renewed: 1.6 s with 100,000 memories


def catch_up(
    engine: Engine,
    limit: int = PART,
    on_embedded: OnEmbedded | None = None,
    *,
    keep_going: Callable[[], bool] = lambda: True,
) -> int:
    """Embeds up to `limit` waiting memories and returns how many; not journaled, since no record changes. Then each is
    given to `on_embedded`, unless the indexes are being computed anew, as long as `keep_going` says so.

    Raises `EmbeddingError` when the model cannot answer.
    """
    waiting = engine.store.pending(limit)
    done = embed_waiting(engine, waiting)
    if done and interrupted(engine):
        end_reindexing(engine)
    elif done and on_embedded is not None:
        for memory in waiting:
            if keep_going():
                on_embedded(memory)
    return done


def embed_waiting(engine: Engine, waiting: Sequence[Memory]) -> int:
    """Returns how many of them were embedded; those that changed meanwhile are not. Not journaled."""
    derived = dict(zip(map(key_of, waiting), derive(waiting, engine.embedder, engine.store), strict=True))

    def plan(reader: Reader) -> list[Change]:
        spaces = dict.fromkeys(memory.space for memory in waiting)
        present = [m for space in spaces for m in reader.get_many(space, [m.id for m in waiting if m.space == space])]
        then = {key_of(memory): memory for memory in waiting}
        return [Change(m, m, derived[key_of(m)]) for m in present if same_derived_input(m, then[key_of(m)])]

    return len(engine.write(None, plan).versions)


def catch_up_all(engine: Engine, *, progress: Progress | None = None, on_embedded: OnEmbedded | None = None) -> int:
    """Of an outdated store, all memories."""
    if not fits(engine) and engine.embedder.outdated:
        engine.embedder.renew()
    total, done, stuck = engine.store.health().pending, 0, 0
    while True:
        step = catch_up(engine, PART, on_embedded)
        if not step and not (waiting := engine.store.pending(PART)):
            end_reindexing(engine)  # others may have embedded the last ones, or deleted them
            return done
        done += step
        stuck = 0 if step else stuck + 1
        if stuck > STEPS_WITHOUT_EFFECT:
            raise StorageError(
                f"{len(waiting):,} memories cannot be indexed: the store's indexes disagree with its records. "
                "Run `nacre doctor --fix`."
            )
        if progress is not None:
            progress(done, max(done, total), "embedding memories")


def reindex(engine: Engine, *, restart: bool = False, progress: Progress | None = None) -> int:
    """Computes the words, chunks and vectors of every space again, with the engine's embedder.

    An interruption loses nothing: what is left waits, and `catch_up_all` or the next `reindex` with the same embedder
    continues, unless `restart` is given.
    """
    engine.embedder.measure()  # a model that cannot answer must not cost the vectors of the old one
    identity = engine.embedder.identity
    engine.store.commit([IndexesRebuilt()])
    if restart or interrupted(engine) != identity or not fits(engine) or not engine.store.pending(1):
        anew = EmbedderBound(engine.embedder.current(), anew=True)
        engine.store.commit([anew, TermSet(UPKEEP, UNDER_WAY, {"embedder": identity})])
    return catch_up_all(engine, progress=progress)


def end_reindexing(engine: Engine) -> None:
    """Where nothing waits any more, also of what the caller cannot see, ends the reindexing that is under way."""
    unrestricted = replace(engine, store=engine.embedder.store)
    while not (bound := unrestricted.store.embedder()).waiting and interrupted(unrestricted):
        measured = EmbedderBound(replace(bound, measured=measure_cosines(unrestricted)))
        ended = unrestricted.store.commit([TermSet(UPKEEP, UNDER_WAY, None), measured], Expected(embedder=bound))
        if isinstance(ended, Committed):
            return


def measure_cosines(engine: Engine) -> dict[str, Json] | None:
    """What the cosines of a foreign embedder mean, measured on the store's own texts; None where that is known, or
    there are too few texts."""
    if is_calibrated(engine.embedder.identity):
        return None
    spaces = engine.store.spaces()
    pages = (engine.store.page(space, Filter(), limit=TEXTS_A_SPACE).memories for space in spaces)
    medians = median_cosines([memory.text for memories in pages for memory in memories], engine.embedder)
    return measured_values(engine.embedder.identity, engine.embedder.dimensions, medians) if medians else None


def fits(engine: Engine) -> bool:
    """Whether the store's vectors can be of the engine's embedder."""
    try:
        engine.embedder.check()
    except EmbeddingMismatch:
        return False
    return not engine.embedder.outdated


def interrupted(engine: Engine) -> str:
    """The identity of the embedder of a reindexing that did not end; empty when there is none."""
    return str(term_under_way(engine).get("embedder", ""))


def is_to_be_renewed(engine: Engine) -> bool:
    """Whether the store is outdated, or was, and some memories still wait for their new vectors."""
    return (not fits(engine) and engine.embedder.outdated) or RENEWAL in term_under_way(engine)


def embedder_for_questions(engine: Engine, stored: EmbedderIdentity) -> Embedder:
    """`stored` is what the store is bound to: until a renewal has ended, words answer alone."""
    if not stored.waiting or RENEWAL not in term_under_way(engine):
        return engine.embedder
    from nacre.models.background import WithoutAnswers

    return WithoutAnswers(engine.embedder, MODEL_CHANGED)


def term_under_way(engine: Engine) -> Data:
    return engine.embedder.store.terms(UPKEEP).get(UNDER_WAY, {})


class BackgroundCatchUp:
    """Embeds what waits for the model in a thread of its own: no caller waits for it, or fails because of it.

    For all users of one open store. Its engine is not restricted: vectors belong to nobody.
    """

    def __init__(self, engine: Engine, on_embedded: OnEmbedded | None = None) -> None:
        self._engine = engine
        self.on_embedded = on_embedded
        self._lock = ThreadLock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._closed = False
        self._renewing = False
        self._quiet_until = -math.inf

    def start(self) -> None:
        """Begins a step and returns at once, unless nothing waited when the store was last asked, or the model is not
        loaded; beside a step that is under way, lets another one follow. Renews an outdated store, whether or not the
        model is loaded."""
        embedder = self._engine.embedder
        due = embedder.outdated or (embedder.waiting and embedder.ready)
        if self._closed or not due or time.monotonic() < self._quiet_until:
            return
        with self._lock:
            self._again = self._thread is not None and self._thread.is_alive()
            if not self._again and not self._closed:
                self._thread = threading.Thread(target=self._step, name="nacre-catch-up", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Closes the store after the step that is under way; who closes it waits only a moment for that."""
        with self._lock:
            self._closed, thread = True, self._thread
        if thread is not None:
            thread.join(RENEWING_SECONDS if self._renewing else CLOSING_SECONDS)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return  # the step closes it
        self._engine.store.close()

    def _step(self) -> None:
        again, until = True, time.monotonic() + STEPS_SECONDS
        while again:
            goes_on = False
            try:
                self._renew()
                goes_on = self._embed()
            except NacreError as error:
                log.debug("Waiting memories were not embedded: %s", error)
            with self._lock:
                closed, to_the_end = self._closed, self._engine.embedder.renewed_here and not self._closed
                again = (goes_on and (to_the_end or time.monotonic() < until)) or (self._again and not closed)
                self._again = False
                if not again:
                    self._thread = None
        if closed:
            self._engine.store.close()

    def _renew(self) -> None:
        if self._engine.embedder.outdated:
            self._renewing = True
            try:
                self._engine.embedder.renew()
            finally:
                self._renewing = False

    def _embed(self) -> bool:
        """Whether another step should follow at once: after a renewal, in the process that began it until the end, so
        that not every process does the same work, and in others for a moment."""
        if not self._engine.embedder.ready:  # it came to renew the store, and the process may end soon
            return False
        done = catch_up(self._engine, STEP, self.on_embedded, keep_going=lambda: not self._closed)
        if not done:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
        return bool(done and RENEWAL in term_under_way(self._engine))
