"""One space of a store, and the engine that acts on it: what every part of the face stands on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from nacre.config import Settings
from nacre.config import settings as read_settings
from nacre.engine import Engine, indexing
from nacre.engine.past import Past, past
from nacre.engine.remembering import known_policy
from nacre.errors import EmbeddingError, StoreBusy, StoreFull, StoreReadOnly
from nacre.model import TYPES, Filter, Memory
from nacre.model.instants import Instant, seconds
from nacre.model.memory import Json
from nacre.ports import Clock, Embedder, JournalSink, Reranker, Store
from nacre.remember.check import label
from nacre.remember.compare import Alike, Comparison, ConflictFn, Judge, alike_by
from nacre.remember.derive import derive_or_wait
from nacre.store.closing import Closing
from nacre.store.scope import Scope, filter_of
from nacre.wiring import (
    EmbedFunction,
    as_known,
    check_mirror,
    embedder_from,
    make_access,
    make_conflict_judge,
    make_guard,
    make_journal_mirror,
    make_reranker,
    make_suggesting,
    narrowed,
    open_store,
)

if TYPE_CHECKING:
    from nacre.safety.access import AgentCapabilities

CATCH_UP = 32  # waiting memories that a call embeds on its way; some 50 ms


class Space(Closing):
    """`path` is a file, a directory (which gets `nacre.db` inside) or `:memory:`; without one, and without a `space`,
    the settings decide. `embedder` is a name, an `Embedder`, or any function from texts to rows of numbers. So do the
    settings for what follows: `on_conflict` is one of note, ignore, warn, supersede and raise. `agent` and `session`
    are those of every new memory that names none; `capabilities` narrow what that agent sees and changes.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        space: str | None = None,
        embedder: Embedder | EmbedFunction | str | None = None,
        reranker: Reranker | None = None,
        actor: str = "lib",
        clock: Clock = time.time,
        on_conflict: str | None = None,
        conflict_threshold: float | None = None,
        contradiction_fn: ConflictFn | None = None,
        strict_links: bool | None = None,
        agent: str | None = None,
        session: str | None = None,
        capabilities: AgentCapabilities | None = None,
        settings: Settings | None = None,
    ) -> None:
        found = settings or read_settings()
        self.space = label("space", found.space if space is None else space) or "default"
        known = self._settings = found.for_space(self.space)
        self.agent = label("agent", known.agent if agent is None else agent)
        self.session = label("session", known.session if session is None else session)
        self._access = make_access(known, self.space, self.agent, self.session, capabilities)
        actor = actor if self._access is None else self.agent  # nobody narrowed acts under another's name
        place = known.store if path is None else path
        check_mirror(known, place)
        self._store = narrowed(open_store(place, known), self._access)
        sink: JournalSink | None = make_journal_mirror(known)
        self._guard = make_guard(known)
        self._engine = Engine(self._store, embedder_from(embedder, known), clock, actor, sink, self._guard.words)
        self._reranker = make_reranker(known) if reranker is None else reranker
        self._clock = clock
        self._policy = known_policy(known.on_conflict if on_conflict is None else on_conflict)
        self._threshold = known.conflict_threshold if conflict_threshold is None else conflict_threshold
        self._contradiction_fn = contradiction_fn
        self._strict_links = known.strict_links if strict_links is None else strict_links
        self._alike: Alike = alike_by(self._engine.embedder)
        self._suggesting = make_suggesting(known)
        self._second: Judge | None = make_conflict_judge(known)

    @property
    def embedder(self) -> Embedder:
        return self._engine.embedder

    @property
    def settings(self) -> Settings:
        return self._settings

    def types(self) -> tuple[str, ...]:
        return (*TYPES, *(name for name in self._store.words("type") if name not in TYPES))

    def vocabulary(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The words of a kind that this space was taught (tags, sources, names), and what is told of each."""
        return self._store.words(self._kind(kind))

    def _kind(self, kind: str) -> str:
        return f"{kind}/{self.space}"

    @property
    def may_teach(self) -> bool:
        """Whether the vocabulary, which is everybody's, may be changed through this store."""
        return self._access is None or self._access.unrestricted

    def shown(self, memory: Memory) -> Memory:
        """As it may leave the store: without secrets that were kept before there was a guard."""
        return self._guard.shown(memory)

    def now(self) -> float:
        return self._clock()

    def acting_as(self, actor: str) -> Engine:
        """The engine with another name in the journal: for what acts on the store of its own accord."""
        return self._engine if self._access is not None else replace(self._engine, actor=actor)

    def signed(self, actor: str) -> Self:
        """The same store, nothing opened twice, whose acts the journal tells under another name; a narrowed one keeps
        its own."""
        other = copy(self)
        other._engine = self.acting_as(actor)
        return other

    def close(self) -> None:
        self._store.close()

    def _filter(self, scope: Scope) -> Filter:
        at = scope.get("as_of")
        now = self._clock() if at is None else seconds(at)
        return filter_of(scope, now=now, types=self.types() if scope.get("type") else ())

    def _past(self, at: Instant) -> Past:
        return past(self._store, self.space, seconds(at))

    def _known(self, at: Instant | None, *, searched: bool = False) -> Store:
        """What to read from: the store as it is, or as it was known then; words and vectors only when `searched`."""
        if at is None:
            return self._store
        then = self._past(at)
        if not searched:
            return as_known(self._store, self.space, then.stood, {})
        memories = [memory for memory in then.stood.values() if memory is not None]
        derived, _ = derive_or_wait(memories, self.embedder, self._store)
        searchable = dict(zip((memory.id for memory in memories), derived, strict=True))
        return as_known(self._store, self.space, then.stood, searchable)

    def _comparison(
        self, where: Filter, threshold: float | None = None, contradiction_fn: ConflictFn | None = None
    ) -> Comparison:
        return Comparison(
            self._store,
            where,
            self._alike if self.embedder.ready else None,
            self._threshold if threshold is None else threshold,
            contradiction_fn or self._contradiction_fn,
            self._second,
        )

    def _catch_up(self) -> None:
        if self.embedder.ready and self._store.pending(1):
            try:
                indexing.catch_up(self._engine, CATCH_UP)
            except (EmbeddingError, StoreBusy, StoreFull, StoreReadOnly):
                return  # the call itself says what is wrong, if it is in its way
