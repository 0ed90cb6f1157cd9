"""The store as an agent with limited capabilities sees it, what it may write, and what a question costs it.

Costs are in the published units: a full scan is ten times a look-up, an unbounded answer twenty.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nacre.access.capabilities import NOTHING, Access, Role, ScopeLevel
from nacre.engine.engine import FOR_REVIEW, FORMER_NAMES, PURGE, RELATION, SPACE, UNDO
from nacre.engine.operation_parts import undone_batches
from nacre.engine.space_names import renamed_in_tokens, why_others_would_enter
from nacre.errors import AccessDenied, Cancelled, InvalidInput, QueryCostExceeded, QuotaExceeded
from nacre.files import ThreadLock
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import EVERYTHING, HIDDEN_SPACE, MEMORY, MOVED, UNDO_UNDER_WAY
from nacre.model.memory import json_list, key_of, reverted, size
from nacre.protocols import (
    ALL,
    TOKEN_KIND,
    AnyChange,
    AnyOf,
    Backend,
    Candidates,
    Change,
    Clock,
    Committed,
    Compressed,
    Data,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    FileFeatures,
    Health,
    IndexesRebuilt,
    JournalDropped,
    Key,
    Listed,
    Match,
    Order,
    Outdated,
    Page,
    Reader,
    Scrubbed,
    Search,
    SpacePurged,
    SpaceRenamed,
    Tallied,
    TermChange,
    TermSet,
    Vectors,
)

MEGABYTE = 1_000_000
COUNTED_ANEW = 100  # a hundredth of the quota may be written before others' writing is counted again


class Quota:
    """Limits the bytes that an agent may hold.

    `count` returns the bytes stored now; it is called again now and then, because other processes write too.
    """

    def __init__(self, count: Callable[[], int], megabytes: float | None) -> None:
        self._limit = None if megabytes is None else megabytes * MEGABYTE
        self._count = count
        self._held = 0
        self._uncounted = float("inf")
        self._lock = ThreadLock()

    def take(self, more: int) -> None:
        """Raises `QuotaExceeded`, and takes nothing, when that is more than may be held."""
        if self._limit is None:
            return
        with self._lock:
            long_ago = self._uncounted + max(more, 0) > self._limit / COUNTED_ANEW
            if long_ago or (self._uncounted and self._held + more > self._limit):  # something may have been undone
                self._held, self._uncounted = self._count(), 0
            if more > 0 and self._held + more > self._limit:
                raise QuotaExceeded(self._limit / MEGABYTE)
            self._held += more
            self._uncounted += max(more, 0)


# The kinds of terms in which a server keeps its users, tokens, answers, jobs and sessions: no view of a store shows
# them. With blanks, so that no archive and no space has them.
USER_KIND, ANSWER_KIND, JOB_KIND, SESSION_KIND = "server user", "server answer", "server job", "server session"
PRIVATE_KINDS = frozenset((USER_KIND, TOKEN_KIND, ANSWER_KIND, JOB_KIND, SESSION_KIND))


@dataclass(slots=True)
class Marker:
    """A term that is changed together with the first operation that is written in a context, and must be as in `before`
    until then: so that a request which was sent twice is carried out once."""

    key: Key
    before: Data
    after: Data
    written: bool = False


marker: ContextVar[Marker | None] = ContextVar("marker", default=None)
# Where whoever sets it finds the ids of the operations that were written in this context.
performed: ContextVar[list[str] | None] = ContextVar("performed", default=None)

# What concerns everybody, and how it is called in an error.
OF_ALL: tuple[tuple[type, str], ...] = (
    (SpacePurged, "delete a space"),
    (SpaceRenamed, "rename a space"),
    (JournalDropped, "compact the journal"),
    (IndexesRebuilt, "rebuild the indexes"),
)


# What a refused change of a term is called in the error, by the kind of the term.
CHANGED_TERM = {
    SPACE: "create or describe the space {name!r}",
    RELATION: "change the relation {name!r}",
    "type": "change the memory type {name!r}",
}


@dataclass(frozen=True, slots=True)
class Permission:
    """Reads `below`, the store as it is; what it reads must still be so when the changes are written."""

    access: Access
    below: Reader

    def permitted(self, changes: Sequence[AnyChange], operation: Operation | None = None) -> list[AnyChange]:
        """Without optional changes of what is not the agent's. Raises `AccessDenied`."""
        if changes:
            self.access.demand_role(Role.WRITER, "write")
        if operation is not None and operation.name == UNDO:
            self._demand_own(operation)
        return [allowed for change in changes if (allowed := self._allowed(change)) is not None]

    def _demand_own(self, undo: Operation) -> None:
        """A user without the role reviewer takes back only what it did itself."""
        for batch in undone_batches(undo):
            entries = self.below.journal(self.access.space, JournalFilter(batch=batch), limit=1)
            if any(entry.operation.actor != self.access.agent for entry in entries):
                self.access.demand_role(Role.REVIEWER, "undo what others did")

    def refuse_hidden(self, changes: Sequence[AnyChange], outdated: Outdated) -> None:
        """An id may be that of a memory which the agent does not see. Raises `AccessDenied`."""
        for change in changes:
            if isinstance(change, Change) and change.before is None:
                taken = outdated.actual.memories.get(key_of(change.subject))
                if taken is not None:
                    self._demand(taken)

    def _allowed(self, change: AnyChange) -> AnyChange | None:
        if isinstance(change, Change):
            return self._of_memory(change)
        if isinstance(change, TermChange):
            written = change.written and self._writes_term(change.kind, change.name, change.after)
            return change._replace(written=written)
        if isinstance(change, TermSet):
            return change if self._writes_term(change.kind, change.name, change.data) else None
        if isinstance(change, Compressed):
            own = (memory.id for memory in self.below.get_many(change.space, change.ids) if self.writes(memory))
            return change._replace(ids=tuple(own))
        if isinstance(change, EmbedderBound) and change.anew:
            self.access.demand("change the embedder")
        if isinstance(change, Scrubbed):
            self.access.demand_role(Role.ADMIN, "delete for good")
            return change._replace(linked_from=self.access.writable)
        for kind, what in OF_ALL:
            if isinstance(change, kind):
                self._demand_all(change, what)
        return change

    def _demand_all(self, change: AnyChange, what: str) -> None:
        """A user with the role admin may do it to a space that is open to it."""
        spaces = [getattr(change, name) for name in ("space", "old", "new") if hasattr(change, name)]
        if self.access.is_agent or not spaces or not all(map(self.access.reaches, spaces)):
            self.access.demand(what)
        self.access.demand_role(Role.ADMIN, what)

    def _of_memory(self, change: Change) -> Change | None:
        sides = [memory for memory in (change.before, change.after) if memory is not None]
        if change.optional and not all(map(self.writes, sides)):
            return None
        for memory in sides:
            self._demand(memory)
        return change

    def _writes_term(self, kind: str, name: str, data: Data | None) -> bool:
        """An agent may use a new relation, and take that back, and write how far its own undo has come; everything else
        in the vocabulary is everybody's.

        A relation that others confirmed, which it cannot see, stays as it is.
        """
        if kind in PRIVATE_KINDS:
            raise AccessDenied(
                f"{self.access.who} may not change what a server keeps about its users; use its own API."
            )
        if self.access.unrestricted and kind != RELATION:
            return True
        if self._writes_term_of_space(kind, name):
            return True
        known = self.below.term(kind, name)
        if self.access.is_own_undo(kind, data or known):
            return True
        if kind != RELATION or (data is not None and FOR_REVIEW not in data):
            self.access.demand(CHANGED_TERM.get(kind, "change a name that others use, too").format(name=name))
        elif not self.access.unrestricted and FOR_REVIEW not in (known or {FOR_REVIEW: True}):
            return False
        return data is not None or not any(self.below.edges(space, rels=[name]) for space in self.below.spaces())

    def _writes_term_of_space(self, kind: str, name: str) -> bool:
        """Whether it is a term of a space that is open to a user."""
        if self.access.is_agent:
            return False
        if kind == SPACE and self.access.reaches(name):
            self.access.demand_role(Role.ADMIN, "create or describe a space")
            return True
        return "/" in kind and self.access.reaches(kind.partition("/")[2])

    def writes(self, memory: Memory) -> bool:
        return self.access.reaches(memory.space) and self.access.writable.admits(memory)

    def _demand(self, memory: Memory) -> None:
        if not self.writes(memory):
            self.access.demand_role(Role.WRITER, "write")
            if not self.access.is_agent:
                raise AccessDenied(
                    f"This token does not open the space {memory.space!r}; nothing was written. Choose another "
                    "space, or ask an admin for a token."
                )
            raise AccessDenied(
                f"{self.access.who} may write only what is its own in its scope "
                f"({self.access.capabilities.scope}); nothing was changed. Ask for a wider scope."
            )


def growth(changes: Sequence[AnyChange]) -> int:
    """How many bytes more the agent holds after them."""
    memories = (change for change in changes if isinstance(change, Change))
    sizes = [[0 if each is None else size(each) for each in (change.before, change.after)] for change in memories]
    return sum(after - before for before, after in sizes)


BASE = 1
FULL_SCAN = 10
JOIN = 5
SUBQUERY = 3
ORDERED = 2
NO_LIMIT = 20
PAGE = 500  # journal entries read at once
REMEMBERED_REMOVALS = 32  # the last purges of an agent, which an undo must not pass over


class SeenJournal:
    """`removals` are the operations by which this agent has removed memories for good through its view."""

    def __init__(self, below: Reader, access: Access, removals: Collection[str]) -> None:
        self._below = below
        self._access = access
        self._removals = removals

    def read(self, data: JournalFilter, *, newest_first: bool, limit: int | None) -> list[JournalEntry]:
        space = self._access.space
        if self._access.sees_all:
            return self._below.journal(space, data, newest_first=newest_first, limit=limit)
        if data.batch is not None and not self._is_complete(data) and not self._is_undone_now(data.batch):
            return []  # part of an operation is neither shown nor taken back without the rest
        matches: list[JournalEntry] = []
        while limit is None or len(matches) < limit:
            page = self._below.journal(space, data, newest_first=newest_first, limit=PAGE)
            matches += self._seen(page)
            if len(page) < PAGE:
                break
            data = replace(data, upto=page[-1].seq - 1) if newest_first else replace(data, after=page[-1].seq)
        return matches[:limit]

    def _is_complete(self, data: JournalFilter) -> bool:
        entries = self._below.journal(self._access.space, JournalFilter(batch=data.batch))
        return len(self._seen(entries)) == len(entries)

    def _is_undone_now(self, batch: str) -> bool:
        """Of what an undo of this agent has begun to take back, the rest is seen."""
        kind = f"{UNDO_UNDER_WAY}/{self._access.space}"
        undos = (data for data in self._below.terms(kind).values() if self._access.is_own_undo(kind, data))
        return any(batch in str(data["why"]) for data in undos)

    def _seen(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Of a memory that came into sight later, only what was done since."""
        ids = list(dict.fromkeys(entry.memory_id for entry in entries if entry.kind == MEMORY))
        there = [m for m in self._below.get_many(self._access.space, ids) if self._access.readable.admits(m)]
        since = {memory.id: self._seen_since(memory) for memory in there}
        return [entry for entry in entries if self._shows(entry, since)]

    def _shows(self, entry: JournalEntry, since: dict[str, int]) -> bool:
        if entry.kind != MEMORY:
            return self._is_of_any_session(entry.operation)
        if entry.operation.name == PURGE and entry.before is None and entry.after is None:
            # The memory is gone, and with it whose it was: only who removed it is known.
            return entry.operation.batch in self._removals or self._is_of_any_session(entry.operation)
        return entry.memory_id in since and entry.seq > since[entry.memory_id]

    def _is_of_any_session(self, operation: Operation) -> bool:
        """Whether the agent sees all of its sessions, and this is of one of them: an entry does not say of which."""
        across = self._access.capabilities.scope.includes(ScopeLevel.CROSS_SESSION_READ)
        return across and operation.actor == self._access.agent

    def _seen_since(self, memory: Memory) -> int:
        """The number of the last entry before which it was not this agent's to see; 0 when it always was."""
        stood = memory
        entries = self._below.journal(self._access.space, JournalFilter(memory_id=memory.id))
        for entry in (entry for entry in entries if entry.kind == MEMORY):
            if entry.damaged or entry.after is None:
                return entry.seq
            if entry.before is None:
                return 0
            stood = reverted(stood, entry.before, entry.after)
            if not self._access.readable.admits(stood):
                return entry.seq
        return 0


class RestrictedReader:
    """One state of the store as the agent sees it; what it does not see is not there, not even in a statistic."""

    def __init__(self, below: Reader, access: Access, removals: Collection[str] = ()) -> None:
        self._reader = below
        self._access = access
        self._seen = SeenJournal(below, access, removals)

    def get(self, space: str, id: str) -> Memory | None:
        return next(iter(self.get_many(space, [id])), None)

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        if not self._access.reaches(space):
            return []
        return [memory for memory in self._reader.get_many(space, ids) if self._access.readable.admits(memory)]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        if self._access.sees_all and self._access.reaches(space):
            return self._reader.ids_like(space, prefix, limit)
        begins = Filter.where(id__ge=prefix, id__lt=prefix + "\U0010ffff")
        return sorted(memory.id for memory in self._reader.iterate(space, self._narrowed(space, begins)))[:limit]

    def page(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int, cursor: str = "", offset: int = 0
    ) -> Page:
        self._pay(ORDERED + scan(where))
        narrowed = self._narrowed(space, where)
        return self._reader.page(space, narrowed, order=order, limit=limit, cursor=cursor, offset=offset)

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        self._pay(ORDERED + scan(where) + NO_LIMIT)
        return self._reader.iterate(space, self._narrowed(space, where))

    def values(self, space: str, where: Filter, fields: Sequence[Listed]) -> Iterator[tuple[Any, ...]]:
        self._pay(ORDERED + scan(where) + NO_LIMIT)
        return self._reader.values(space, self._narrowed(space, where), fields)

    def count(self, space: str, where: Filter) -> int:
        self._pay(scan(where))
        return self._reader.count(space, self._narrowed(space, where))

    def size(self, space: str, where: Filter) -> int:
        self._pay(scan(where))
        return self._reader.size(space, self._narrowed(space, where))

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        self._pay(scan(where))
        return self._reader.tally(space, field, self._narrowed(space, where))

    def spaces(self) -> dict[str, int]:
        if not self._access.is_agent:
            return {name: held for name, held in self._reader.spaces().items() if self._access.reaches(name)}
        space = self._access.space
        held = self._reader.count(space, self._narrowed(space, ALL))
        return {space: held} if held else {}

    def gather(self, space: str, search: Search) -> Candidates:
        self._pay(ORDERED)
        narrowed = replace(
            search,
            where=self._narrowed(space, search.where),
            visible=search.visible & self._visible(),
            replaced=None if search.replaced is None else self._narrowed(space, search.replaced),
        )
        return self._reader.gather(space, narrowed)

    def by_words(
        self, space: str, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL
    ) -> list[Match]:
        self._pay(ORDERED)
        return self._reader.by_words(space, terms, self._narrowed(space, where), limit, visible & self._visible())

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        self._pay(ORDERED)
        return self._reader.by_vector(space, vector, self._narrowed(space, where), limit)

    def edges(
        self,
        space: str,
        *,
        out_of: AnyOf = None,
        into: AnyOf = None,
        rels: AnyOf = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> list[Edge]:
        self._pay(JOIN + (FULL_SCAN if out_of is None and into is None else 0))
        everything = self._access.sees_all and self._access.reaches(space)
        read = limit if everything else None  # it counts what this agent may see
        result = self._reader.edges(space, out_of=out_of, into=into, rels=rels, kind=kind, limit=read)
        if everything:
            return result
        seen = {memory.id for memory in self.get_many(space, list(dict.fromkeys(edge.source for edge in result)))}
        return [edge for edge in result if edge.source in seen][:limit]

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        if not self._access.reaches(space):
            return []
        return [memory for memory in self._reader.replaced_by(space, id) if self._access.readable.admits(memory)]

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._reader.vectors(space, [memory.id for memory in self.get_many(space, ids)])

    def term(self, kind: str, name: str) -> Data | None:
        """A relation that its own links have, as if the agent had come up with it itself."""
        if kind in PRIVATE_KINDS or (kind.startswith(f"{MOVED}/") and not self._knows_space(name)):
            return None
        data, space = self._reader.term(kind, name), self._access.space
        if data is None or self._access.sees_terms(kind) or self._access.is_own_undo(kind, data):
            return data
        linked = kind == RELATION and any(
            self.get(space, edge.source) for edge in self._reader.edges(space, rels=[name])
        )
        own_space = kind == SPACE and self._access.reaches(name) and self._access.sees_all
        return {FOR_REVIEW: True} if linked else data if own_space else None

    def terms(self, kind: str) -> dict[str, Data]:
        """Of relations, those that the links it sees have; what others wrote about them is not shown."""
        known = {} if kind in PRIVATE_KINDS else self._reader.terms(kind)
        if kind.startswith(f"{MOVED}/"):
            known = {name: data for name, data in known.items() if self._knows_space(name)}
        if self._access.sees_terms(kind):
            return known
        if own_undos := {name: data for name, data in known.items() if self._access.is_own_undo(kind, data)}:
            return own_undos
        if kind != RELATION:
            own = kind == SPACE and self._access.sees_all
            return {name: data for name, data in known.items() if own and self._access.reaches(name)}
        used = {edge.rel for edge in self.edges(self._access.space)} if known else set()
        return {name: {FOR_REVIEW: True} for name in known if name in used}

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        if not self._access.reaches(space):
            return []
        read = self._seen.read
        if space != self._access.space:  # only a user reaches another one, and sees all of it
            read = partial(self._reader.journal, space)
        entries = read(where, newest_first=newest_first, limit=limit)
        return [seen for entry in entries if (seen := self._without_hidden_space(entry, where)) is not None]

    def _without_hidden_space(self, entry: JournalEntry, where: JournalFilter) -> JournalEntry | None:
        """That memories were moved is seen, the name of a space that is not open is not; nor can it be guessed."""
        if entry.kind != MOVED or self._knows_space(entry.memory_id):
            return entry
        return None if where.memory_id is not None else replace(entry, memory_id=HIDDEN_SPACE)

    def _knows_space(self, name: str) -> bool:
        """Whether it is open, under this name or the present one."""
        if self._access.reaches(name):
            return True
        spaces = self._reader.terms(SPACE).items()
        return any(name in json_list(data.get(FORMER_NAMES)) and self._access.reaches(now) for now, data in spaces)

    def seq_at(self, space: str, time: float) -> int:
        return self._reader.seq_at(space, time)

    def written_since(self, space: str, seq: int, texts: Collection[str]) -> list[Memory]:
        if not self._access.reaches(space):
            return []
        written = self._reader.written_since(space, seq, texts)
        return [memory for memory in written if self._access.readable.admits(memory)]

    def last_positions(self, space: str, seq: int, sessions: Sequence[str], where: Filter = ALL) -> dict[str, int]:
        """Only of the memories that the agent sees: a higher position would tell it that others have said something."""
        return self._reader.last_positions(space, seq, sessions, self._narrowed(space, where))

    def operations_since(self, space: str, id: str, seq: int) -> list[Operation]:
        """Of any memory: an operation must learn that its own was undone, also where the agent cannot see it."""
        return self._reader.operations_since(space, id, seq) if self._access.reaches(space) else []

    def border(self, space: str, upto: int) -> int:
        return self._reader.border(space, upto)

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._reader.journal_begins(space)

    def health(self, *, thorough: bool = False) -> Health:
        """A restricted agent learns nothing of the file."""
        if self._access.unrestricted:
            return self._reader.health(thorough=thorough)
        seen = sum(self.spaces().values())
        bare = replace(self._reader.health(), chunks=None, vectors=None, pending=0, bytes_on_disk=0, problems=())
        return replace(bare, memories=seen)

    def _narrowed(self, space: str, where: Filter) -> Filter:
        return where & self._access.readable if self._access.reaches(space) else NOTHING

    def _visible(self) -> Filter:
        """What statistics count: how rare a word is would tell what others have written."""
        return ALL if self._access.sees_all else self._access.readable

    def _pay(self, cost: float) -> None:
        limit = self._access.capabilities.max_query_cost
        if BASE + cost > limit:
            raise QueryCostExceeded(BASE + cost, limit)


class RestrictedView(RestrictedReader):
    def __init__(self, below: Backend, access: Access) -> None:
        self._removals: deque[str] = deque(maxlen=REMEMBERED_REMOVALS)
        super().__init__(below, access, self._removals)
        self._below = below
        own, megabytes = Filter.where(agent=access.agent), access.capabilities.memory_quota_mb
        self._quota = Quota(lambda: below.size(access.space, own), megabytes)
        self._permission = Permission(access, below)

    def at(self, space: str, seq: int) -> RestrictedReader:
        return RestrictedReader(self._below.at(space, seq), self._access)

    def observed(self, expected: Expected) -> RestrictedReader:
        return RestrictedReader(self._below.observed(expected), self._access, self._removals)

    def commit(
        self,
        changes: Sequence[AnyChange],
        expected: Expected | None = None,
        operation: Operation | None = None,
        clock: Clock = time.time,
    ) -> Committed | Outdated:
        """Raises `AccessDenied` for what is not the agent's, and `QuotaExceeded`."""
        relied_on = Expected() if expected is None else expected
        permission = Permission(self._access, self._below.observed(relied_on))
        permitted = permission.permitted(changes, operation)
        for change in [each for each in permitted if isinstance(each, SpaceRenamed)]:
            if reason := why_others_would_enter(permission.below, change.old, change.new):
                raise InvalidInput(reason)
            permitted += renamed_in_tokens(permission.below, change.old, change.new)
        more = growth(permitted)
        self._quota.take(more)
        mark = marker.get() if operation is not None and changes else None
        if mark is not None and not mark.written:
            permitted.append(TermSet(*mark.key, mark.after))
            relied_on.terms[mark.key] = mark.before
        result = self._below.commit(permitted, relied_on, operation, clock)
        if mark is not None:
            mark.written = mark.written or isinstance(result, Committed)
            if isinstance(result, Outdated) and mark.key in result.actual.terms:
                raise Cancelled  # another request with the same key has taken over
        if operation is not None and operation.name == PURGE and isinstance(result, Committed) and result.entries:
            self._removals.append(operation.batch)
        written = performed.get()
        if written is not None and operation is not None and isinstance(result, Committed):
            written.append(operation.batch)
        if isinstance(result, Outdated):
            self._quota.take(-more)
            permission.refuse_hidden(permitted, result)
        return result

    def changes_since(self, space: str, seq: int) -> list[str]:
        ids = self._below.changes_since(space, seq)
        readers = (self, self.at(space, seq))
        seen = {memory.id for reader in readers for memory in reader.get_many(space, ids)}
        return [id for id in ids if id in seen]

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        self._below.touch(space, [memory.id for memory in self.get_many(space, ids)], at)

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        seen = {memory.id for memory in self.get_many(space, [edge.source for edge in edges])}
        self._below.walked(space, [edge for edge in edges if edge.source in seen])

    def vectors_for(self, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
        # Kept ones are rounded: a vector that was not computed anew would tell that somebody wrote the same words.
        return self._below.vectors_for(digests if self._access.sees_store else ())

    def pending(self, limit: int) -> list[Memory]:
        """Those that the agent may write: it could not store the vectors of others."""
        asked = limit
        while True:  # others' memories may wait before its own
            waiting = self._below.pending(asked)
            own = [memory for memory in waiting if self._permission.writes(memory)][:limit]
            if len(own) >= limit or len(waiting) < asked:
                return own
            asked *= 4

    def health(self, *, thorough: bool = False) -> Health:
        health = super().health(thorough=thorough)
        if self._access.unrestricted:
            return health
        return replace(
            health, pending=sum(map(self._permission.writes, self._below.pending(self._below.health().pending)))
        )

    def embedder(self) -> EmbedderIdentity:
        return self._below.embedder()

    @property
    def files(self) -> FileFeatures | None:
        return None if self._below.files is None else RestrictedFiles(self._below.files, self._access)

    @property
    def rows(self) -> None:
        """An agent that sees a part of the store cannot move the whole."""

    def close(self) -> None:
        self._below.close()


class RestrictedFiles:
    def __init__(self, below: FileFeatures, access: Access) -> None:
        self._below = below
        self._access = access

    def copy_to(self, path: Path) -> None:
        self._access.demand("copy the store")
        self._below.copy_to(path)

    def check_records(self) -> None:
        self._below.check_records()


def scan(where: Filter) -> int:
    """Conditions besides the status that every question asks for narrow it down."""
    current = ("status", "superseded_by", "expires_at")
    return 0 if any(each.field not in current for each in where.conditions) else FULL_SCAN
