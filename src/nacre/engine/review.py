"""Looks through a whole space for pairs that conflict, candidates from the indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from nacre.conflicts.candidates import Comparison, gravity
from nacre.engine.changes import AnyChange, Change, TermChange
from nacre.engine.engine import FOR_REVIEW, RELATION, Engine, Prepared, fits
from nacre.engine.links import near_miss, relations, renamed
from nacre.engine.remember import CONFLICTS, noted, states
from nacre.engine.supersede import SUPERSEDES, superseded
from nacre.errors import InvalidInput, UnknownName
from nacre.model import Conflict, Filter, Link, Memory
from nacre.model.instants import DAY
from nacre.model.memory import LESSON
from nacre.model.review import DECISIONS, KINDS, ReviewItem
from nacre.protocols import Progress, Transaction
from nacre.remember.guard import is_suspicious, restore_trust

PAGE = 256


def scan(comparison: Comparison, space: str, progress: Progress | None = None) -> list[Conflict]:
    """Each memory with what stood before it, as it would have been compared when it was written; worst first."""
    store, where = comparison.store, comparison.where
    total = store.count(space, where)
    found: list[Conflict] = []
    done = 0
    for page in pages(store.iterate(space, where)):
        vectors = store.vectors(space, [memory.id for memory in page])
        for memory in filter(states, page):
            own = vectors.get(memory.id)
            found += comparison.conflicts(memory, None if own is None else own[0], partial(stood_before, memory))
        done += len(page)
        if progress is not None:
            progress(min(done, total), total, "comparing memories")
    return sorted(found, key=gravity)


def pages(memories: Iterator[Memory]) -> Iterator[list[Memory]]:
    while page := list(islice(memories, PAGE)):
        yield page


def stood_before(memory: Memory, other: Memory) -> bool:
    return states(other) and (other.created_at, other.id) < (memory.created_at, memory.id)


def noted_conflicts(engine: Engine, space: str, conflicts: Sequence[Conflict], *, why: str = "") -> int:
    noted_now = 0

    def plan(transaction: Transaction) -> list[AnyChange]:
        nonlocal noted_now
        by_newer: dict[str, list[Conflict]] = {}
        for conflict in conflicts:
            by_newer.setdefault(conflict.a.id, []).append(conflict)
        changes: list[AnyChange] = []
        for id, found in by_newer.items():
            memory = engine.found(transaction, space, id)
            tied = {link.to for link in memory.links if link.rel == "conflicts"}
            new = [each for each in found if each.b.id not in tied and transaction.get(space, each.b.id) is not None]
            if new:
                noted_now += len(new)
                changes.append(Change(memory, replace(noted(memory, new), updated_at=engine.clock())))
        return changes

    engine.commit("note_conflicts", plan, why)
    return noted_now


STALE_DAYS = 365.0
DOUBTFUL = 0.5  # a confidence or trust below this asks for somebody's word
# Events do not grow old: what happened has happened. What is held to be true does.
HELD = ("semantic", "procedural", "feedback", "prospective", LESSON)
CONTRADICTS, DISTINCT = "contradicts", "distinct_from"


@dataclass(frozen=True, slots=True)
class Queue:
    engine: Engine
    space: str
    stale_days: float = STALE_DAYS

    def items(self, kinds: Sequence[str] = KINDS, limit: int | None = None) -> list[ReviewItem]:
        sources: dict[str, Callable[[], Iterator[ReviewItem]]] = {
            "conflict": self.conflicts, "unvalidated": self.unvalidated, "stale": self.stale, "word": self.words,
            "entity": self.entities,
        }  # fmt: skip
        if limit is not None and limit < 0:
            raise InvalidInput(f"{limit} items cannot be listed; give 0 or more.")
        for kind in kinds:
            if kind not in sources:
                raise UnknownName("kind of review", kind, KINDS)
        return list(islice((item for kind in kinds for item in sources[kind]()), limit))

    def conflicts(self) -> Iterator[ReviewItem]:
        """Noted ones whose two sides still stand, contradictions first."""
        noted = self.engine.store.edges(self.space, rels=[CONFLICTS])
        ends = list(dict.fromkeys(id for edge in noted for id in edge[:2]))
        live = {m.id: m for m in self.engine.store.get(self.space, ends) if self._live().admits(m)}
        pairs = [told(live[e.source], live[e.target]) for e in noted if e.source in live and e.target in live]
        standing = (each for each in pairs if each is not None)
        for conflict in sorted(standing, key=lambda each: (each.kind != "contradiction", each.kind == "duplicate")):
            yield ReviewItem(conflict_id(conflict), "conflict", str(conflict), conflict.a, conflict)

    def unvalidated(self) -> Iterator[ReviewItem]:
        for field in ("confidence", "trust"):
            doubted = Filter.where(last_validated_at__unset=True, **{f"{field}__lt": DOUBTFUL})
            for memory in self.engine.store.select(self.space, self._live() & doubted, order="oldest"):
                if field == "confidence" or memory.confidence >= DOUBTFUL:
                    why = f"{field} {getattr(memory, field):g}, never validated"
                    yield ReviewItem(memory.id, "unvalidated", why, memory)

    def stale(self) -> Iterator[ReviewItem]:
        edge = self.engine.clock() - self.stale_days * DAY
        held = self._live() & Filter.where(type__in=HELD, pinned=False)
        for narrowed in (
            Filter.where(last_validated_at__lt=edge),
            Filter.where(last_validated_at__unset=True, created_at__lt=edge),
        ):
            for memory in self.engine.store.select(self.space, held & narrowed, order="oldest"):
                days = (self.engine.clock() - (memory.last_validated_at or memory.created_at)) / DAY
                yield ReviewItem(memory.id, "stale", f"not confirmed for {days:.0f} days", memory)

    def words(self) -> Iterator[ReviewItem]:
        known = relations(self.engine.store)
        for name, data in self.engine.store.terms(RELATION).items():
            if data.get(FOR_REVIEW):
                others = {other: line for other, line in known.items() if other != name}
                hint = " ".join(near_miss(name, others)) or f"The relation {name!r} is new here."
                yield ReviewItem(f"{RELATION}:{name}", "word", hint, word=name)

    def entities(self) -> Iterator[ReviewItem]:
        from nacre.engine.entities import waiting  # most queues are asked for something else

        return waiting(self.engine, self.space)

    def _live(self) -> Filter:
        return Filter.live(self.engine.clock())

    def found(self, id: str) -> ReviewItem:
        """The item with this id, or whose id begins so. Raises `InvalidInput` when there is none, or several."""
        items = {item.id: item for item in self.items()}
        if id in items:
            return items[id]
        near = [item for key, item in items.items() if id and key.startswith(id)]
        if len(near) == 1:
            return near[0]
        state = "several things that wait" if near else "nothing that waits"
        raise InvalidInput(f"{id!r} names {state} for review; `nacre review` lists them.")


def decide(
    engine: Engine, space: str, item: ReviewItem, decision: str, *, into: str = "", text: str = "", why: str = ""
) -> bool:
    """Carries a decision out as one act; False for `skip`. `into` names the relation to merge a word with, or the name
    that merged entities go by, `text` what two memories that are merged say together."""
    if decision not in DECISIONS[item.kind]:
        raise UnknownName(f"decision on a {item.kind}", decision, DECISIONS[item.kind])
    if decision == "skip":
        return False
    if item.kind == "entity":
        from nacre.engine.entities import entity_decided

        return entity_decided(engine, space, item.names, decision, into, why)
    if item.kind == "word":
        return word_decided(engine, space, item.word, decision, into, why)
    if item.conflict is not None:
        return conflict_decided(engine, space, item.conflict, decision, text, why)
    if item.memory is None:
        raise InvalidInput(f"{item.id} names no memory.")
    name, edit = ("validate", validated(engine.clock())) if decision == "validate" else ("forget", trashed)
    return bool(engine.change(space, [item.memory.id], name, edit, why=why))


def conflict_decided(engine: Engine, space: str, conflict: Conflict, decision: str, text: str, why: str) -> bool:
    while True:
        newer, older = engine.existing(space, [conflict.a.id, conflict.b.id])
        merged = united(newer, older, text) if decision == "merge" else newer
        planned = engine.prepared([(newer, merged)])
        done = try_conflict(engine, space, conflict, decision, text, planned, why)
        if done is not None:
            return done
        # Someone wrote between the reading and the transaction: read again.


def try_conflict(
    engine: Engine, space: str, conflict: Conflict, decision: str, text: str, planned: dict[str, Prepared], why: str
) -> bool | None:
    def plan(transaction: Transaction) -> list[AnyChange] | None:
        stood = [engine.found(transaction, space, each.id) for each in (conflict.a, conflict.b)]
        if any(each.superseded_by or each.status == "trashed" for each in stood):
            raise InvalidInput(f"One of {conflict_id(conflict)} no longer stands; `nacre review` lists what waits.")
        newer, older = settled(stood[0], stood[1].id), settled(stood[1], stood[0].id)
        after = outcome(transaction, newer, older, decision, conflict, text, engine.clock())
        before = {each.id: each for each in stood}
        if not all(fits(planned.get(id), before[id], each) for id, each in after.items()):
            return None
        return [
            Change(before[id], replace(each, updated_at=engine.clock()), planned[id].derived if id in planned else None)
            for id, each in after.items()
            if each != before[id]
        ]

    told_of = engine.commit(ACTS[decision], plan, why)
    return None if told_of is None else bool(told_of)


ACTS = {
    "keep_both": "keep_both", "newer": "supersede", "older": "supersede", "merge": "merge", "trash_newer": "forget",
    "trash_older": "forget",
}  # fmt: skip


def outcome(
    transaction: Transaction, newer: Memory, older: Memory, decision: str, conflict: Conflict, text: str, now: float
) -> dict[str, Memory]:
    """Both memories as the decision leaves them, the noted tie gone."""
    after = {newer.id: newer, older.id: older}
    if decision == "keep_both":
        rel = DISTINCT if conflict.kind == "duplicate" else CONTRADICTS
        after[newer.id] = replace(newer, links=(*newer.links, Link(older.id, rel)))
    elif decision in ("trash_newer", "trash_older"):
        gone = newer if decision == "trash_newer" else older
        after[gone.id] = trashed(gone)
    else:
        heir, former = (older, newer) if decision == "older" else (newer, older)
        if decision == "merge":
            heir = united(heir, former, text)
        for change in superseded(transaction, former, heir, now):
            after[change.subject.id] = change.subject
    return after


def settled(memory: Memory, other: str) -> Memory:
    return replace(memory, links=tuple(x for x in memory.links if not (x.to == other and x.rel == CONFLICTS)))


def united(newer: Memory, older: Memory, text: str) -> Memory:
    """The newer one with what only the older one knew."""
    # What the older one had replaced stays tied to it: a chain has one way.
    kept = (link for link in older.links if link.rel != SUPERSEDES)
    ties = {(link.to, link.rel): link for link in (*kept, *newer.links) if link.to != newer.id}
    return replace(
        newer,
        text=text or newer.text,
        title=newer.title or older.title,
        tags=tuple(dict.fromkeys((*newer.tags, *older.tags))),
        contexts=tuple(dict.fromkeys((*newer.contexts, *older.contexts))),
        entities=tuple(dict.fromkeys((*newer.entities, *older.entities))),
        importance=max(newer.importance, older.importance),
        confidence=max(newer.confidence, older.confidence),
        pinned=newer.pinned or older.pinned,
        metadata={**older.metadata, **newer.metadata},
        links=tuple(ties.values()),
    )


def word_decided(engine: Engine, space: str, name: str, decision: str, into: str, why: str) -> bool:
    known = relations(engine.store)
    if decision == "merge" and (into not in known or into == name):
        raise UnknownName("relation to merge into", into, [other for other in known if other != name])

    def plan(transaction: Transaction) -> list[AnyChange]:
        stood = transaction.term(RELATION, name)
        if stood is None:
            raise InvalidInput(f"The relation {name!r} is no longer there; `nacre review` lists what waits.")
        if decision == "keep":
            kept = {key: value for key, value in stood.items() if key != FOR_REVIEW}
            return [TermChange(space, RELATION, name, stood, kept)]
        edges = engine.store.edges(space, rels=[name])
        tied = [transaction.get(space, id) for id in dict.fromkeys(edge.source for edge in edges)]
        moved = renamed([memory for memory in tied if memory is not None], name, into, engine.clock())
        elsewhere = any(engine.store.edges(other, rels=[name]) for other in engine.store.spaces() if other != space)
        return moved if elsewhere else [*moved, TermChange(space, RELATION, name, stood, None)]

    return bool(engine.commit(f"{decision}_{RELATION}", plan, why))


def validated(now: float, confidence: float | None = None) -> Callable[[Memory], Memory]:
    def edit(memory: Memory) -> Memory:
        memory = restore_trust(memory) if is_suspicious(memory) else memory
        sure = memory.confidence if confidence is None else confidence
        return replace(memory, last_validated_at=now, confidence=sure)

    return edit


def trashed(memory: Memory) -> Memory:
    return memory if memory.status == "trashed" else replace(memory, status="trashed", trashed_from=memory.status)


def told(newer: Memory, older: Memory) -> Conflict | None:
    """A noted conflict with the words that decided, found again; None when someone has settled it meanwhile."""
    from nacre.conflicts.judge import judge  # its tables of words cost a command 20 ms

    tie = next((link for link in newer.links if link.to == older.id and link.rel == CONFLICTS), None)
    if tie is None:
        return None
    similarity = tie.data.get("similarity")
    likeness = float(similarity) if isinstance(similarity, int | float) else 0.0
    verdict = judge(newer, older, likeness)
    words = verdict.words if verdict is not None else ("", "")
    return Conflict(newer, older, likeness, str(tie.data.get("kind", "")), str(tie.data.get("reason", "")), words)


def conflict_id(conflict: Conflict) -> str:
    return f"{conflict.a.id}:{conflict.b.id}"
