"""What the interfaces work with: a project's space, and `personal` beside it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache, wraps
from inspect import Parameter, signature
from itertools import accumulate, islice
from typing import Any, NamedTuple, Self, Unpack

from nacre.engine.undo import LastRefused, last_batches
from nacre.errors import AccessDenied, AmbiguousId, InvalidInput, MemoryNotFound, UndoRefused
from nacre.memory_store import MemoryStore, used_hits
from nacre.model import (
    Conflict,
    Difference,
    ExpandSpec,
    Filter,
    Graph,
    Hit,
    JournalEntry,
    Listing,
    Memory,
    Recollection,
    RememberResult,
)
from nacre.model.graph import Entity
from nacre.model.instants import Instant
from nacre.model.journal import OperationStatus
from nacre.model.recollection import with_conflicts
from nacre.model.review import KINDS, STALE_DAYS, ReviewItem, kinds_named
from nacre.protocols import Embedder, Order, Tallied, Vectors
from nacre.recall_options import RecallOptions, Scope, make_query, split_options, time_asked
from nacre.settings import DEFAULT, Settings, SpaceChoice
from nacre.storage.pages import ORDERS, RISING, check_page

END = "."  # in a cursor: nothing is left in this space
BETWEEN = "~"  # the cursors of two spaces
NO_LIMIT = 2**53  # SQLite takes a limit of 64 bits, and JSON numbers are exact so far; no list is as long
MOST_STORED = 1000  # memories, by others, while a list is read twice
# How likely a memory outside of the time that the question names answers, compared with one in it.
LEAST_TIME_FACTOR = 0.5

Choose = Callable[[Iterable[str]], SpaceChoice]  # see `settings.choose_space`; the argument is `known`


def by_id(name: str, ids: int | None = None) -> Any:
    """The method of this name, run in the space that has the memories which its first `ids` arguments name, by default
    all arguments."""
    own = getattr(MemoryStore, name)

    @cache
    def parameters() -> list[str]:
        known = list(signature(own).parameters.values())[1:]
        return [each.name for each in known if each.kind is Parameter.POSITIONAL_OR_KEYWORD][:ids]

    @wraps(own)
    def method(self: ProjectStore, *arguments: Any, **options: Any) -> Any:
        named_ids = (*arguments[:ids], *(options[each] for each in parameters() if each in options))
        other = self.beside if self.is_beside(*filter(None, named_ids)) else None
        run = getattr(super(ProjectStore, self) if other is None else other, name)
        return run(*arguments, **options)

    return method


def personal(store: MemoryStore, refusal: str) -> MemoryStore:
    """The same store in `personal`. Raises `InvalidInput` with this text where another space is used alone."""
    other = store if store.space == store.personal_space else store.beside
    if other is None:
        raise InvalidInput(refusal)
    return other


def known_spaces(store: MemoryStore) -> list[str]:
    """The spaces among which a project finds its own, also those in which a restricted agent sees nothing yet."""
    if store.access.capabilities is None:
        return list(store.spaces())
    allowed = store.access.capabilities.allowed_spaces
    return [space for space in store.unrestricted_backend.spaces() if not allowed or space in allowed]


def times_of_last(store: MemoryStore, count: int, *, any_actor: bool) -> list[float]:
    """The times of the last operations of its own space that can be undone: as many, or else of the last; and of one
    among them that cannot be."""
    times: list[float] = []
    with suppress(UndoRefused):
        for wanted in sorted({1, count}):
            try:
                batches = last_batches(store._engine, store.space, wanted, any_actor=any_actor)
            except LastRefused as refused:
                return [*times, refused.at]
            entries = (entry for batch in batches for entry in MemoryStore.journal(store, batch=batch, limit=1))
            times = [entry.operation.at for entry in entries]
    return times


class ProjectStore(MemoryStore):
    """Writes to its own space. Searches and lists look into `beside` too, and each hit names its space; whatever is
    named by its id is found in either. All else is about its own space alone, also `iterate`: what walks over every
    memory, such as upkeep and exports, is about one space."""

    at_close: Callable[[MemoryStore], object] | None = None  # called once, while the store is still open

    @classmethod
    def open(
        cls, settings: Settings, choose: Choose, *, actor: str, embedder: Embedder | None = None, alone: bool = False
    ) -> Self:
        """In the space that the rule chooses for this store; `alone` without another beside it."""
        first = choose(())
        store = cls(settings=replace(settings, space=first.space), actor=actor, embedder=embedder)
        try:
            return store._in_chosen_space(first, choose, alone=alone)
        except BaseException:
            store.close()
            raise

    def _in_chosen_space(self, first: SpaceChoice, choose: Choose, *, alone: bool) -> Self:
        """`first` is what the rule chooses before it knows the spaces of the store."""
        choice = choose(known_spaces(self))
        store = self if choice.space == first.space else self.in_space(choice.space)
        return store if alone else store.looking_into(choice.beside)

    def close(self) -> None:
        if self.at_close is not None:
            self.at_close(self)
            self.at_close = None
        super().close()

    def looking_into(self, space: str) -> Self:
        """This store, with another space beside its own; without one for an agent that may not use it."""
        try:
            self.beside = self.in_space(space) if space and space != self.space else None
        except AccessDenied:
            self.beside = None
        return self

    def as_actor(self, name: str) -> Self:
        view = super().as_actor(name)
        view.beside = None if self.beside is None else self.beside.as_actor(name)
        return view

    def expecting(self, versions: Mapping[str, int], *, check: bool = True) -> Self:
        there = self._ids_beside(list(versions))[1]
        view = super().expecting({id: each for id, each in versions.items() if id not in there}, check=check)
        others = {id: each for id, each in versions.items() if id in there}
        view.beside = self.beside if self.beside is None else self.beside.expecting(others, check=check)
        return view

    def _alone(self) -> Self:
        """This store without the space beside its own."""
        view = copy(self)
        view.beside = None
        return view

    # What is remembered, by question

    def recall(
        self, query: str, k: int = 5, *, touch: bool = True, rerank: bool = True, **options: Unpack[RecallOptions]
    ) -> Recollection:
        """As `MemoryStore.recall` in each space, with the statistics of each, merged by relevance."""
        filled = self.spaces()
        if self.access.capabilities is not None and self.beside is not None:
            filled |= self.beside.spaces()  # each view shows a restricted agent its own space only
        if self.beside is None or self.beside.space not in filled:
            own = super().recall(query, k, touch=touch, rerank=rerank, **options)
            return self._with_unread(own if self.beside is None else named(own, self.space), filled)
        own = super().recall(query, k, touch=False, rerank=rerank, **options)
        other = self.beside.recall(query, k, touch=False, rerank=rerank, **options)
        hits, fits_time = (named(own, self.space), named(other, self.beside.space)), self._fits_time(query, options)
        both = merged(*hits, k, fits_time, options.get("expand"))
        if touch and options.get("as_of") is None:
            self._count_uses(used_hits(both, options.get("strategy") or "auto"))
        return self._with_unread(both, filled)

    def _count_uses(self, hits: Iterable[Hit]) -> None:
        """Of hits in either space."""
        used = list(hits)
        super()._count_uses(used)
        if self.beside is not None:
            self.beside._count_uses(used)

    def _fits_time(self, query: str, options: RecallOptions) -> Callable[[Memory], float]:
        """1 for a memory of the time that the question names, and where it names none; down to 0 for others."""
        from nacre.recall.gather import understand  # slow to import, and not every command recalls
        from nacre.recall.signals import time_match

        ranking, scope = split_options(options)
        now = time_asked(scope.get("as_of"), self._clock()).now
        question = understand(make_query(query, 1, ranking, Filter(), now))
        if not question.windows and not question.future_windows:
            return lambda _: 1.0
        return lambda memory: time_match(memory, question)

    def _with_unread(self, recalled: Recollection, filled: Mapping[str, int]) -> Recollection:
        """With `unread_note` where nothing was found."""
        named_alone = self.beside is None and self.space != self.personal_space
        note = "" if recalled or named_alone else self.unread_note(filled)
        return replace(recalled, notes=(*recalled.notes, note)) if note else recalled

    def unread_note(self, filled: Mapping[str, int]) -> str:
        """A sentence on memories of Python programs that name no space; `filled` counts by space. Empty where there are
        none."""
        if not filled.get(DEFAULT) or self.space == DEFAULT or self.settings.scope:
            return ""
        many, what = (f"{filled[DEFAULT]:,} memories", "them") if filled[DEFAULT] > 1 else ("1 memory", "it")
        return f"The space {DEFAULT!r}, which is not read here, has {many}; `nacre space list` says how to copy {what}."

    def touch(self, *ids: str) -> None:
        there = [] if self.beside is None else [memory.id for memory in self.beside.get_many(ids)]
        own = [id for id in ids if id not in there]
        if own:
            super().touch(*own)
        if there and self.beside is not None:
            self.beside.touch(*there)

    # Reading and listing

    def get(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> Memory | None:
        memory = super().get(id, as_of=as_of, valid_at=valid_at)
        if memory is None and self.beside is not None:
            return self.beside.get(id, as_of=as_of, valid_at=valid_at)
        return memory

    def get_many(self, ids: Sequence[str]) -> list[Memory]:
        own = super().get_many(ids)
        if self.beside is None or len(own) == len(set(ids)):
            return own
        memories = {memory.id: memory for memory in (*self.beside.get_many(ids), *own)}
        return [memories[id] for id in dict.fromkeys(ids) if id in memories]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        own = super().vectors(ids)
        others = [id for id in ids if id not in own]
        return own if self.beside is None or not others else {**own, **self.beside.vectors(others)}

    def resolve_id(self, prefix: str) -> str:
        if self.beside is None:
            return super().resolve_id(prefix)
        ids = []
        for resolve in (super().resolve_id, self.beside.resolve_id):
            try:
                ids.append(resolve(prefix))
            except MemoryNotFound:
                continue
        if not ids:
            raise MemoryNotFound(prefix, self.space, self.beside.space)
        if len(set(ids)) > 1 and prefix not in ids:
            raise AmbiguousId(prefix, ids)
        return prefix if prefix in ids else ids[0]

    def list_recent(
        self, limit: int = 20, *, order: Order = "newest", offset: int = 0, cursor: str = "", **scope: Unpack[Scope]
    ) -> Listing:
        if self.beside is None:
            return super().list_recent(limit, order=order, offset=offset, cursor=cursor, **scope)
        check_page(limit, offset)
        cursors = cursor.split(BETWEEN) if cursor else ["", ""]
        if len(cursors) != 2:
            raise InvalidInput("This cursor belongs to a list of one space; begin again without one.")
        stores, listing = (super().list_recent, self.beside.list_recent), Listing([], "")
        wanted = min(limit + offset, NO_LIMIT)
        lists = [
            listing if at == END else read(wanted, order=order, cursor=at, **scope)
            for read, at in zip(stores, cursors, strict=True)
        ]
        taken = in_order(lists, order)[:wanted]
        counts = [sum(memory.space == store.space for memory in taken) for store in (self, self.beside)]
        following = [
            after(read, each, count, at, order, scope)
            for read, each, count, at in zip(stores, lists, counts, cursors, strict=True)
        ]
        return Listing(taken[offset:], "" if following == [END, END] else BETWEEN.join(following))

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        """Of its own space."""
        # A remote store reads its lists for this, which look into both.
        return super().iterate(**scope) if self.beside is None else self._alone().iterate(**scope)

    def count(self, **scope: Unpack[Scope]) -> int:
        return super().count(**scope) + (0 if self.beside is None else self.beside.count(**scope))

    def tally(self, field: Tallied, **scope: Unpack[Scope]) -> dict[str, int]:
        own = super().tally(field, **scope)
        others = {} if self.beside is None else self.beside.tally(field, **scope)
        both = {name: own.get(name, 0) + others.get(name, 0) for name in (*own, *others)}
        return dict(sorted(both.items(), key=lambda item: (-item[1], item[0])))

    def memories_about(self, name: str, limit: int = 20, **scope: Unpack[Scope]) -> list[Memory]:
        own = super().memories_about(name, limit, **scope)
        others = [] if self.beside is None else self.beside.memories_about(name, limit, **scope)
        return in_order((own, others), "newest")[:limit]

    def entities(self, limit: int | None = None, *, offset: int = 0) -> list[Entity]:
        if self.beside is None:
            return super().entities(limit, offset=offset)
        check_page(limit, offset)
        both = {each.name: each for each in super().entities()}
        for each in self.beside.entities():
            own = both.get(each.name, Entity(each.name))
            aliases = tuple(dict.fromkeys((*own.aliases, *each.aliases)))
            both[each.name] = Entity(each.name, aliases, own.count + each.count)
        every = sorted(both.values(), key=lambda each: (-each.count, each.name))
        return every[offset:] if limit is None else every[offset : offset + limit]

    # What is named by its id

    edit, edit_result, validate, history = by_id("edit"), by_id("edit_result"), by_id("validate"), by_id("history")
    forget, restore, purge, redact = by_id("forget"), by_id("restore"), by_id("purge"), by_id("redact")
    pin, unpin, archive, unarchive = by_id("pin"), by_id("unpin"), by_id("archive"), by_id("unarchive")
    tag, bump, merge, supersede = by_id("tag"), by_id("bump"), by_id("merge"), by_id("supersede")
    link, unlink, path, neighbors = by_id("link", 2), by_id("unlink", 2), by_id("path"), by_id("neighbors")
    find_conflicts, move = by_id("find_conflicts"), by_id("move")

    def subgraph(self, ids: Iterable[str], **options: Any) -> Graph:
        """Links join memories of one space, so that the graphs of two make one."""
        named_ids = list(ids)
        there = self._ids_beside(named_ids)[1]
        if self.beside is None or not there:
            return super().subgraph(named_ids, **options)
        other = self.beside.subgraph([id for id in named_ids if id in there], **options)
        if there.issuperset(named_ids):
            return other
        own = super().subgraph([id for id in named_ids if id not in there], **options)
        dangling = tuple(dict.fromkeys((*own.dangling, *other.dangling)))
        return Graph({**other.nodes, **own.nodes}, own.edges + other.edges, dangling)

    def remember_result(self, text: str, *, replaces: str | None = None, **options: Any) -> RememberResult:
        """What replaces a memory is stored where that one is."""
        if replaces is not None and self.beside is not None and self.is_beside(replaces):
            return self.beside.remember_result(text, replaces=replaces, **options)
        return super().remember_result(text, replaces=replaces, **options)

    def is_beside(self, *ids: str) -> bool:
        """Whether these memories are in the space beside its own. Raises `InvalidInput` where only some are."""
        own, there = self._ids_beside(ids)
        if own and there and self.beside is not None:
            raise InvalidInput(
                f"These memories are in two spaces, {self.space} and {self.beside.space}; name those of one at a time."
            )
        return bool(there)

    def _ids_beside(self, ids: Sequence[str]) -> tuple[set[str], set[str]]:
        """Of these ids, those in its own space and those in the one beside it."""
        if self.beside is None:
            return set(ids), set()
        own = {memory.id for memory in super().get_many(ids)}
        others = [id for id in ids if id not in own]
        there = {memory.id for memory in self.beside.get_many(others)}
        there |= {id for id in others if id not in there and self.beside.journal(id, limit=1)}  # what was purged
        return own, there

    # History and review

    def diff(self, earlier: Instant, later: Instant | None = None) -> Difference:
        own = super().diff(earlier, later)
        if self.beside is None:
            return own
        other = self.beside.diff(earlier, later)
        return Difference(own.added + other.added, own.removed + other.removed, own.changed + other.changed)

    def journal(
        self, id: str | None = None, *, batch: str | None = None, limit: int | None = 20, newest_first: bool = True,
        **options: Any,
    ) -> list[JournalEntry]:  # fmt: skip
        read = {"batch": batch, "limit": limit, "newest_first": newest_first, **options}
        if self.beside is None:
            return super().journal(id, **read)
        own = self._alone().journal(id, **read)
        if (id or batch) and own:
            return own
        both = (own, self.beside.journal(id, **read))
        return list(heapq.merge(*both, key=lambda entry: entry.operation.at, reverse=newest_first))[:limit]

    def iterate_journal(self, id: str | None = None, **options: Any) -> Iterator[JournalEntry]:
        if self.beside is None:
            return super().iterate_journal(id, **options)
        own, other = self._alone(), self.beside
        if id is not None:
            return (other if self.is_beside(id) else own).iterate_journal(id, **options)
        both = (own.iterate_journal(**options), other.iterate_journal(**options))
        return heapq.merge(*both, key=lambda entry: entry.operation.at)

    def resolve_operation(self, prefix: str) -> str:
        try:
            return super().resolve_operation(prefix)
        except UndoRefused:
            if self.beside is None:
                raise
            return self.beside.resolve_operation(prefix)

    def operation(self, batch: str) -> OperationStatus:
        full = self.resolve_operation(batch)
        if self.beside is None or self._alone().journal(batch=full, limit=1):
            return super().operation(full)
        return self.beside.operation(full)

    def undo(
        self, batch: str | JournalEntry | None = None, *, last: int | None = None, any_actor: bool = False,
        **options: Any,
    ) -> list[JournalEntry]:  # fmt: skip
        """The last operation is the newest of both spaces."""
        store = self._space_to_undo(batch, 1 if last is None else last, any_actor=any_actor)
        if store is not None:
            return store.undo(batch, last=last, any_actor=any_actor, **options)
        return super().undo(batch, last=last, any_actor=any_actor, **options)

    def _space_to_undo(self, batch: str | JournalEntry | None, count: int, *, any_actor: bool) -> MemoryStore | None:
        """The store beside, where the operation is there. Raises `InvalidInput` where the last ones are in both."""
        other = self.beside
        if other is None or isinstance(batch, JournalEntry):
            return other if isinstance(batch, JournalEntry) and other and batch.space == other.space else None
        if batch is not None:
            return None if super().journal(batch=self.resolve_operation(batch), limit=1) else other
        done = [(at, store.space) for store in (self, other) for at in self._last_done(store, count, any_actor)]
        spaces = {space for _, space in sorted(done, reverse=True)[:count]}
        if len(spaces) > 1:
            raise InvalidInput(f"The last {count} operations are in two spaces; undo them one by one.")
        return other if spaces == {other.space} else None

    def _last_done(self, store: MemoryStore, count: int, any_actor: bool) -> list[float]:
        """See `times_of_last`."""
        return times_of_last(store, count, any_actor=any_actor)

    def review(
        self,
        *,
        kinds: Iterable[str] | str = KINDS,
        stale_days: float = STALE_DAYS,
        limit: int | None = 50,
        offset: int = 0,
    ) -> list[ReviewItem]:
        if self.beside is None:
            return super().review(kinds=kinds, stale_days=stale_days, limit=limit, offset=offset)
        read = None if limit is None else offset + limit
        own = super().review(kinds=kinds, stale_days=stale_days, limit=read)
        others = self.beside.review(kinds=kinds, stale_days=stale_days, limit=read)
        return list({item.id: item for item in (*own, *others)}.values())[offset:read]

    def note_conflicts(self, conflicts: Iterable[Conflict], *, why: str = "") -> int:
        """Each in the space of its memories, since those of a memory are found in either."""
        if self.beside is None:
            return super().note_conflicts(conflicts, why=why)
        every = list(conflicts)
        there = [each for each in every if each.a.space == self.beside.space]
        own = [each for each in every if each.a.space != self.beside.space]
        noted = self.beside.note_conflicts(there, why=why) if there else 0
        return noted + (super().note_conflicts(own, why=why) if own else 0)

    def decide(self, item: ReviewItem | str, decision: str, **options: Any) -> bool:
        if self.beside is None:
            return super().decide(item, decision, **options)
        if isinstance(item, str):
            try:
                return super().decide(item, decision, **options)
            except InvalidInput:
                if not any(each.is_named(item) for each in self.beside.review(kinds=kinds_named(item), limit=None)):
                    raise
                return self.beside.decide(item, decision, **options)
        about = item.memory if item.conflict is None else item.conflict.a
        if about is None:
            there = item in self.beside.review(kinds=item.kind, limit=None)
        else:
            there = about.space == self.beside.space
        return self.beside.decide(item, decision, **options) if there else super().decide(item, decision, **options)


def named(recalled: Recollection, space: str) -> Recollection:
    """Each hit says which space it is from."""

    def name(hit: Hit) -> Hit:
        return replace(hit, space=space)

    sessions = tuple(replace(each, hits=tuple(map(name, each.hits))) for each in recalled.sessions)
    nearest = None if recalled.nearest is None else name(recalled.nearest)
    return replace(recalled, hits=tuple(map(name, recalled.hits)), sessions=sessions, nearest=nearest)


def merged(
    own: Recollection,
    other: Recollection,
    k: int,
    fits_time: Callable[[Memory], float],
    spec: ExpandSpec | None = None,
) -> Recollection:
    """The best of both, by relevance and the time that was asked for, then by score. Each keeps its own order, which
    may follow more than relevance. Scores compare the hits of one space: those of the space that is less likely to
    answer are reduced as much, and they fall from hit to hit. What links lead to comes after the best k,
    as in one space."""
    notes, calibrated = tuple(dict.fromkeys((*own.notes, *other.notes))), own.calibrated and other.calibrated
    if own.sessions or other.sessions:
        best = sorted((*own.sessions, *other.sessions), key=lambda each: -max(hit.relevance for hit in each.hits))[:k]
        return Recollection(tuple(hit for each in best for hit in each.hits), notes, tuple(best), calibrated)
    spaces = [ranked([hit for hit in each if hit.via is None], fits_time) for each in (own, other)]
    most = max((hits[0].rank for hits in spaces if hits), default=0.0)
    both = heapq.merge(*(comparable(hits, most) for hits in spaces), key=lambda each: (-each.rank, -each.hit.score))
    hits = [each.hit for each in islice(both, k)]
    scores = accumulate((hit.score for hit in hits), min)
    falling = tuple(
        hit if hit.score == score else replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)
    )
    nearest = max(filter(None, (own.nearest, other.nearest)), key=lambda hit: hit.relevance, default=None)
    falling = tuple(with_conflicts(falling))  # what one of them named may be no hit any more
    expanded = falling if spec is None else with_linked(falling, (*own, *other), spec)
    return Recollection(expanded, notes, (), calibrated, None if hits else nearest)


def with_linked(best: Sequence[Hit], hits: Iterable[Hit], spec: ExpandSpec) -> tuple[Hit, ...]:
    """The best, with those of all hits that links from them lead to."""
    from nacre.recall.recall import expand  # slow to import, and seldom asked for

    by_id = {hit.memory.id: hit for hit in hits}
    expanded = expand(best, spec, lambda ids: [by_id[id].memory for id in dict.fromkeys(ids) if id in by_id])
    linked = expanded[len(best) :]
    own = [by_id[hit.memory.id] for hit in linked]
    return (*best, *(replace(hit, space=one.space, context=one.context) for hit, one in zip(linked, own, strict=True)))


class Ranked(NamedTuple):
    rank: float
    hit: Hit


def ranked(hits: Sequence[Hit], fits_time: Callable[[Memory], float]) -> list[Ranked]:
    """A hit that is less likely to answer than those after it, above which its space puts it, counts as the mean of
    them."""
    likely = [hit.relevance * (LEAST_TIME_FACTOR + (1 - LEAST_TIME_FACTOR) * fits_time(hit.memory)) for hit in hits]
    means = [max(sum(likely[i:end]) / (end - i) for end in range(i + 1, len(hits) + 1)) for i in range(len(hits))]
    return list(map(Ranked, means, hits))


def comparable(hits: Sequence[Ranked], most: float) -> list[Ranked]:
    """`most` is the rank of the first hit of all."""
    share = hits[0].rank / most if hits and most else 1.0
    return [each._replace(hit=replace(each.hit, score=each.hit.score * share)) for each in hits]


def in_order(lists: Iterable[Sequence[Memory]], order: Order) -> list[Memory]:
    def key(memory: Memory) -> tuple[float, ...]:
        return tuple(getattr(memory, field) for field in ORDERS[order])

    return list(heapq.merge(*lists, key=key, reverse=order != RISING))


def after(read: Callable[..., Listing], listing: Listing, taken: int, cursor: str, order: Order, scope: Scope) -> str:
    """Where a list of one space goes on after the memories that were taken of it. A cursor is that of a list which ends
    with the last of them; others may have stored or removed some before it since."""
    if taken == len(listing):
        return listing.cursor or END
    left, wanted = [memory.id for memory in listing[:taken]], taken
    while left:
        again = read(wanted, order=order, cursor=cursor, **scope)
        ids = [memory.id for memory in again]
        if ids[-1:] == left[-1:]:
            return again.cursor or END
        if left[-1] in ids:
            wanted = ids.index(left[-1]) + 1
        elif again.cursor and wanted < taken + MOST_STORED:
            wanted += taken
        else:
            left.pop()  # it is gone; the list goes on after the one before it
            wanted = max(1, len(left))
    return cursor
