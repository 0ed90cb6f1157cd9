"""The review queue: finds what needs a person's decision, and carries the decisions out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from nacre.engine.engine import FOR_REVIEW, RELATION, Edit, Engine, Lookup, PendingChanges
from nacre.engine.history import changed_at, newest_first
from nacre.engine.links import relation_hint, relations, with_relation_renamed
from nacre.engine.merge import redirected_links, united, with_all_periods
from nacre.engine.remember import is_compared, version_link, with_conflict_links, with_link, without_notes
from nacre.engine.supersede import never_held, released, restored, superseded, with_times_given
from nacre.errors import InvalidInput, UnknownName
from nacre.model import Conflict, Edge, Filter, JournalFilter, Link, Memory, Operation
from nacre.model.instants import DAY
from nacre.model.memory import CONFLICTS, CONTRADICTS, DISTINCT, LESSON, SUPERSEDES, TRASHED
from nacre.model.recollection import began, effective_from
from nacre.model.review import (
    CONTRADICTION,
    DECISIONS,
    KINDS,
    STALE_DAYS,
    ReviewItem,
    begins,
    item_named,
    newer_first,
    severity,
    severity_order,
)
from nacre.protocols import ALL, AnyChange, Change, Progress, Reader, TermChange
from nacre.remember.guard import is_suspicious, restore_trust
from nacre.storage.pages import check_page, iterate_pages

if TYPE_CHECKING:
    from nacre.conflicts.candidates import Comparison

PAGE = 256
REPORTED = 16  # memories between two reports of progress: a conflict model takes some 20 ms for each
SCREEN = 50  # items that are read at once: as many as one call of `review` returns by default
DOUBTFUL = 0.5  # a confidence or trust below this needs confirmation
# Events do not become outdated: what happened has happened. What is held to be true does.
HELD_TYPES = ("semantic", "procedural", "feedback", "prospective", LESSON)
DECIDED = "decided"  # in the data of a `supersedes` link: a person chose the newer of two that conflicted
# The operation that a decision about a conflict is journaled as.
OPERATIONS = {
    "keep_both": "keep_both", "not_a_conflict": "not_a_conflict", "newer": "supersede", "older": "supersede",
    "merge": "merge", "trash_newer": "forget", "trash_older": "forget",
}  # fmt: skip
# Operations of one memory, which look for conflicts when they write; of bulk writes nothing is compared.
COMPARED_LATE = ("remember", "edit")


def scan(comparison: Comparison, space: str, progress: Progress | None = None) -> list[Conflict]:
    """Compares each memory with those written before it, as when it was written; the worst conflicts first."""
    store, where = comparison.store, comparison.where
    total = store.count(space, where)
    conflicts: list[Conflict] = []
    memories = enumerate(store.iterate(space, where))
    while page := list(islice(memories, PAGE)):
        vectors = store.vectors(space, [memory.id for _, memory in page])
        for done, memory in page:
            if progress is not None and done % REPORTED == 0:
                progress(min(done, total), total, "comparing memories")
            if is_compared(memory):
                own = vectors.get(memory.id)
                conflicts += comparison.conflicts(memory, None if own is None else own[0], partial(is_older, memory))
    if progress is not None:
        progress(total, total, "comparing memories")
    return sorted(conflicts, key=severity_order)


def is_older(memory: Memory, other: Memory) -> bool:
    return is_compared(other) and (other.created_at, other.id) < (memory.created_at, memory.id)


def note_conflicts(engine: Engine, space: str, conflicts: Sequence[Conflict], *, why: str = "") -> int:
    """Puts conflicts into the queue in one operation; returns how many were not there yet."""
    return note(engine, engine.operation("note_conflicts", why), space, conflicts)


def note(
    engine: Engine, operation: Operation, space: str, conflicts: Sequence[Conflict], holder: str = "",
    link: Link | None = None,
) -> int:  # fmt: skip
    """Notes them as a part of this operation; returns how many were not noted yet, by either side. The links are those
    of the memory `holder`, which gets the `link` as well, else of the newer of each pair."""
    noted = 0

    def plan(reader: Reader) -> list[AnyChange]:
        nonlocal noted
        noted = 0
        by_holder: dict[str, list[Conflict]] = {holder: []} if holder else {}
        for conflict in conflicts:
            by_holder.setdefault(holder or conflict.a.id, []).append(conflict)
        changes: list[AnyChange] = []
        for id, own in by_holder.items():
            memory = engine.get_required(reader, space, id)
            others = reader.get_many(space, [each.other(id).id for each in own])
            free = {each.id for each in others if not (conflict_links(memory, each) or conflict_links(each, memory))}
            new = [each for each in own if each.other(id).id in free]
            after = with_link(with_conflict_links(memory, new), link)
            if after is not memory:
                noted += len(new)
                changes.append(Change(memory, replace(after, updated_at=engine.clock())))
        return changes

    engine.write(operation, plan)
    return noted


def note_late(engine: Engine, comparison: Comparison, memory: Memory, *, restricted: bool) -> int:
    """Looks for the conflicts of a memory that was written without the model and has its vector now, and notes them as
    a part of the operation that wrote it, so that one undo takes both back. Of many texts that were stored at once
    nothing is compared, nor a memory that an agent wrote under its own name, as restricted ones do, unless the
    comparison is `restricted` to what that agent sees: the links would tell it of others' memories."""
    last = engine.store.journal(memory.space, JournalFilter(memory_id=memory.id))
    vectors = engine.store.vectors(memory.space, [memory.id]).get(memory.id)
    if not last or vectors is None or last[0].operation.name not in COMPARED_LATE or not is_compared(memory):
        return 0
    operation = last[0].operation
    if not restricted and memory.agent and any(entry.operation.actor == memory.agent for entry in last):
        return 0
    if len(engine.store.journal(memory.space, JournalFilter(batch=operation.batch), limit=2)) > 1:
        return 0
    near = [each for each in comparison.similar(memory, vectors[0]) if is_older(memory, each[0])]
    compared = comparison.compare(memory, vectors[0], near=near)
    version = version_link(memory, near, compared.conflicts, comparison)
    if not compared.conflicts and version is None:
        return 0
    return note(engine, operation, memory.space, compared.conflicts, memory.id, version)


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    engine: Engine
    space: str
    stale_days: float = STALE_DAYS

    def items(self, kinds: Sequence[str] = KINDS, limit: int | None = None, offset: int = 0) -> list[ReviewItem]:
        """At most `limit` of them, after so many."""
        sources: dict[str, Callable[[], Iterator[ReviewItem]]] = {
            "conflict": self.conflicts, "unvalidated": self.unvalidated, "stale": self.stale, "word": self.terms,
            "entity": self.entities,
        }  # fmt: skip
        check_page(limit, offset)
        wanted = [UnknownName.get("kind of review", kind, sources) for kind in kinds]
        end = None if limit is None else min(offset + limit, sys.maxsize)
        return list(islice((item for items in wanted for item in items()), offset, end))

    def item(self, id: str, decision: str) -> ReviewItem:
        """The item with this id, or whose id begins so, or each half of it does (`3f2a:77b0`); of several, the one that
        can be decided so. Raises `InvalidInput` when there is none, or several."""
        return item_named(self._beginning(id) if id else (), id, decision)

    def _beginning(self, start: str) -> Iterator[ReviewItem]:
        """The items whose ids begin so. Of each kind only what can be one of them is read."""
        ids = self.engine.store.ids_like(self.space, start, sys.maxsize)
        newer = self.engine.store.ids_like(self.space, start.partition(":")[0], sys.maxsize) if ":" in start else ids
        named_so = [*newer, *(start[:at] for at, sign in enumerate(start) if sign == ":")]
        yield from (item for item in self.conflicts(named_so, start) if item.is_named(start))
        if ids:
            named = Filter.where(id__in=ids)
            yield from self.unvalidated(named)
            yield from self.stale(named)
        for prefix, items in ((f"{RELATION}:", self.terms), ("entity:", self.entities)):
            if prefix.startswith(start[: len(prefix)]):
                yield from (item for item in items() if item.id.startswith(start))

    def conflicts(self, sources: Sequence[str] | None = None, start: str = "") -> Iterator[ReviewItem]:
        """Noted ones that wait (see `is_open`), contradictions first; only those that `start` names.

        A pair is judged when its turn comes: a caller who wants a few does not wait for the rest.
        """
        store, live = self.engine.store, self._live()
        known: set[frozenset[str]] = set()  # each side may hold a link to the other
        for turn in self._named(sources, start) if start else self._worst_first():
            ids = [id for edge in turn for id in edge[:2]]
            memories = store.get_many(self.space, ids)
            sides = {m.id: m for m in memories if live.admits(replace(m, superseded_by="") if m.superseded_by else m)}
            for edge in turn:
                both = [sides[id] for id in edge[:2] if id in sides]
                if len(both) < 2 or (pair := frozenset(edge[:2])) in known:
                    continue
                conflict = noted_conflict(*both)
                if conflict is not None and is_open(store, conflict.a, conflict.b, conflict.kind):
                    known.add(pair)
                    id = conflict_id(conflict)
                    yield ReviewItem(id, "conflict", conflict.explanation, conflict.a, conflict)

    def _worst_first(self) -> Iterator[list[Edge]]:
        """Every noted pair, a screen at a time. There may be thousands, of which most callers want a screen: the first
        contradictions are read alone."""
        store = self.engine.store
        first = store.edges(self.space, rels=[CONFLICTS], kind=CONTRADICTION, limit=SCREEN)
        if first:
            yield first
        known = {edge[:2] for edge in first}
        rest = [edge for edge in store.edges(self.space, rels=[CONFLICTS]) if edge[:2] not in known]
        yield from screens(rest)

    def _named(self, sources: Sequence[str] | None, start: str) -> Iterator[list[Edge]]:
        """The noted pairs of `sources` whose ids begin with `start`, a screen at a time."""
        store = self.engine.store
        noted = store.edges(self.space, out_of=sources, rels=[CONFLICTS])
        noted += [] if sources is None else store.edges(self.space, into=sources, rels=[CONFLICTS])
        yield from screens([edge for edge in dict.fromkeys(noted) if is_pair(edge, start)])

    def unvalidated(self, among: Filter = ALL) -> Iterator[ReviewItem]:
        for field in ("confidence", "trust"):
            doubted = Filter.where(last_validated_at__unset=True, **{f"{field}__lt": DOUBTFUL})
            for memory in self._walk(self._live() & doubted & among):
                if field == "confidence" or memory.confidence >= DOUBTFUL:
                    why = f"{field} {getattr(memory, field):g}, never validated"
                    yield ReviewItem(memory.id, "unvalidated", why, memory)

    def stale(self, among: Filter = ALL) -> Iterator[ReviewItem]:
        edge = self.engine.clock() - self.stale_days * DAY
        held = self._live() & Filter.where(type__in=HELD_TYPES, pinned=False) & among
        for unconfirmed in (
            Filter.where(last_validated_at__lt=edge),
            Filter.where(last_validated_at__unset=True, created_at__lt=edge),
        ):
            for memory in self._walk(held & unconfirmed):
                since = self._said_at(memory)
                if since < edge:
                    days = (self.engine.clock() - since) / DAY
                    yield ReviewItem(memory.id, "stale", f"not confirmed for {days:.0f} days", memory)

    def _said_at(self, memory: Memory) -> float:
        """When it was last confirmed, or its text written; the journal is only asked about what was ever changed."""
        since = memory.last_validated_at or memory.created_at
        if memory.version == 1:
            return since
        entries = newest_first(self.engine.store, self.space, JournalFilter(memory_id=memory.id))
        return max(since, changed_at(entries, "text"))

    def _walk(self, where: Filter) -> Iterator[Memory]:
        """Oldest first, a screen at a time: most callers stop after the first."""
        return iterate_pages(self.engine.store, self.space, where, SCREEN)

    def terms(self) -> Iterator[ReviewItem]:
        known = relations(self.engine.store)
        for name, data in self.engine.store.terms(RELATION).items():
            if data.get(FOR_REVIEW):
                others = {other: line for other, line in known.items() if other != name}
                hint = " ".join(relation_hint(name, others)) or f"The relation {name!r} is new here."
                yield ReviewItem(f"{RELATION}:{name}", "word", hint, word=name)

    def entities(self) -> Iterator[ReviewItem]:
        from nacre.engine.entities import review_items  # slow to import, and most callers ask for other kinds

        return review_items(self.engine, self.space)

    def _live(self) -> Filter:
        return Filter.live(self.engine.clock())


def decide(
    engine: Engine, space: str, item: ReviewItem, decision: str, *, edit: Edit, into: str = "", why: str = ""
) -> bool:
    """Carries a decision out as one operation; False for `skip`. `into` names the relation that a term is merged with,
    or the name of merged entities; `edit` is applied to what two memories are merged into."""
    UnknownName.check(f"decision on a {item.kind}", decision, DECISIONS[item.kind])
    if decision == "skip":
        return False
    if item.kind == "entity":
        from nacre.engine.entities import decide_entity

        return decide_entity(engine, space, item.names, decision, into, why)
    if item.kind == "word":
        return decide_relation(engine, space, item.word, decision, into, why)
    if item.conflict is not None:
        return decide_conflict(engine, space, item.conflict, decision, edit, why)
    if item.memory is None:
        raise InvalidInput(f"{item.id} names no memory; give an item as `review` returns it.")
    name, change = ("validate", validated(engine.clock())) if decision == "validate" else ("forget", trashed)

    waiting = item.memory

    def decided(memory: Memory) -> Memory:
        doubted = item.kind != "unvalidated" or min(memory.confidence, memory.trust) < DOUBTFUL
        gone = memory.superseded_by or memory.status == TRASHED
        same = doubted and memory.last_validated_at == waiting.last_validated_at
        refuse_settled(item.id, memory, waits=same and not gone)
        return change(memory)

    return bool(engine.change(space, [waiting.id], name, decided, why=why))


def refuse_settled(id: str, *memories: Memory, waits: bool) -> None:
    """Raises `InvalidInput` when somebody has settled the item meanwhile."""
    if not waits:
        gone = any(each.superseded_by or each.status == TRASHED for each in memories)
        event = f"A memory of {id} was superseded or trashed" if gone else f"{id} was settled meanwhile"
        raise InvalidInput(f"{event}; `nacre review` lists what waits.")


def decide_conflict(engine: Engine, space: str, conflict: Conflict, decision: str, edit: Edit, why: str) -> bool:
    def plan(reader: Reader) -> list[AnyChange]:
        current = engine.get_existing(reader, space, [conflict.a.id, conflict.b.id])
        noted = conflict_links(*current) or conflict_links(*reversed(current))
        waits = bool(noted) and is_open(reader, *newer_first(*current), noted[0].kind)
        refuse_settled(conflict_id(conflict), *current, waits=waits)
        newer, older = (without_conflict(*pair) for pair in (current, current[::-1]))
        after = outcome(reader, newer, older, decision, conflict, edit, engine.clock())
        before = {each.id: each for each in engine.get_existing(reader, space, list(after))}
        changed = [(before[id], each) for id, each in after.items() if each != before[id]]
        derived = engine.prepare(changed)
        decided_at = engine.clock()
        pending = PendingChanges(
            reader, (Change(was, replace(now, updated_at=decided_at), derived.get(now.id)) for was, now in changed)
        )
        if decision == "merge":
            pending.add(redirected_links(reader, pending, space, {older.id: newer.id}, decided_at))
        return list(pending)

    return bool(engine.write_named(OPERATIONS[decision], plan, why))


def is_open(lookup: Lookup, newer: Memory, older: Memory, kind: str) -> bool:
    """Whether a noted conflict waits. Of one that a decision for a still newer one has replaced, it is open whether it
    replaced the older one before: that one may hold too long, or this one from the beginning."""
    if any(each.status == TRASHED for each in (newer, older)):
        return False
    replaced = [each for each in (newer, older) if each.superseded_by]
    if not replaced:
        return True
    since = effective_from(newer)
    if kind == "duplicate" or began(newer) <= began(older) or (older.valid_until or inf) <= since:
        return False
    return all(was_chosen(lookup, each) for each in replaced) and not is_chained(lookup, newer, older)


def was_chosen(lookup: Lookup, replaced: Memory) -> bool:
    """Whether a decision of the review let its successor replace it."""
    successor = lookup.get(replaced.space, replaced.superseded_by)
    links = () if successor is None else successor.links
    return any(link.to == replaced.id and link.rel == SUPERSEDES and link.data.get(DECIDED) for link in links)


def is_chained(lookup: Lookup, one: Memory, other: Memory) -> bool:
    """Whether one of the two has replaced the other, also through others."""
    return any(last.id in (each.id for each in chain(lookup, first)) for first, last in ((one, other), (other, one)))


def chain(lookup: Lookup, memory: Memory) -> list[Memory]:
    """The memory and what replaced it since, to the last."""
    steps = {memory.id: memory}
    step: Memory | None = memory
    while step is not None and step.superseded_by:
        step = lookup.get(step.space, step.superseded_by)
        if step is None or step.id in steps:
            break
        steps[step.id] = step
    return list(steps.values())


def outcome(
    lookup: Lookup, newer: Memory, older: Memory, decision: str, conflict: Conflict, edit: Edit, now: float
) -> dict[str, Memory]:
    """Both memories after the decision, without the link that noted the conflict, and others whose successions change.
    What was chosen as right counts as confirmed."""
    after, right = {newer.id: newer, older.id: older}, [newer.id]
    if decision in ("keep_both", "not_a_conflict"):
        apart = decision == "not_a_conflict" or conflict.kind == "duplicate"
        rel = DISTINCT if apart else CONTRADICTS
        if all((link.to, link.rel) != (older.id, rel) for link in newer.links):  # the same may have been decided before
            after[newer.id] = replace(newer, links=(*newer.links, Link(older.id, rel)))
        right = [newer.id, older.id] if decision == "keep_both" else []
    elif decision in ("trash_newer", "trash_older"):
        rejected, kept = (newer, older) if decision == "trash_newer" else (older, newer)
        after[rejected.id], right = trashed(rejected), [kept.id]
    elif decision == "older":
        after, right = {**after, **rejected_by_older(lookup, newer, older, now)}, [older.id]
    else:
        successor, same_fact = newer, decision == "merge" and conflict.kind == "duplicate"
        if decision == "merge":
            merged = united(newer, older)
            successor = edit(with_all_periods(lookup, merged, [older]) if same_fact else merged)
        changes = superseded(lookup, older, successor, now, same_fact=same_fact)
        after |= {change.subject.id: change.subject for change in changes}
        if decision == "newer":
            after[newer.id] = mark_decided(after[newer.id], older.id)
    return {id: confirmed(each, now) if id in right else each for id, each in after.items()}


def mark_decided(successor: Memory, replaced: str) -> Memory:
    """Its link to what it replaced says that a person chose it."""
    links = (
        replace(link, data={**link.data, DECIDED: True}) if (link.to, link.rel) == (replaced, SUPERSEDES) else link
        for link in successor.links
    )
    return replace(successor, links=tuple(links))


def rejected_by_older(lookup: Lookup, newer: Memory, older: Memory, now: float) -> dict[str, Memory]:
    """The newer one has never held: the older one replaces it, or what has replaced that since. A third one that it had
    replaced by a decision, and that conflicts with the older one, waits again."""
    pending = PendingChanges(lookup, [Change(newer, newer), Change(older, older)])
    if not (newer.superseded_by or older.superseded_by):
        for third in lookup.replaced_by(newer.space, newer.id):
            conflicts = conflict_links(third, older) or conflict_links(older, third)
            if conflicts and third.status != TRASHED and was_chosen(pending, third):  # what was deleted stays so
                pending.add(restored(pending, third, now))
    former = with_times_given(pending.latest(newer))
    if newer.superseded_by:
        former, _ = released(former, pending.get(newer.space, newer.superseded_by), now)
    else:
        last = pending.latest(chain(pending, older)[-1])
        pending.add(superseded(pending, pending.latest(newer), last, now, effective_from(last)))
    never = never_held(pending.latest(newer), former, effective_from(newer))
    return {**{change.subject.id: change.subject for change in pending}, newer.id: never}


def confirmed(memory: Memory, now: float) -> Memory:
    """What the guard has marked is confirmed only by a decision on the mark itself."""
    return memory if is_suspicious(memory) else replace(memory, last_validated_at=now)


def decide_relation(engine: Engine, space: str, name: str, decision: str, into: str, why: str) -> bool:
    known = relations(engine.store)
    if decision == "merge" and (into not in known or into == name):
        raise UnknownName("relation to merge into", into, [other for other in known if other != name])

    def plan(reader: Reader) -> list[AnyChange]:
        current = reader.term(RELATION, name)
        if current is None:
            raise InvalidInput(f"The relation {name!r} does not exist any more; `nacre review` lists what waits.")
        refuse_settled(f"{RELATION}:{name}", waits=FOR_REVIEW in current)
        if decision == "keep":
            confirmed = {key: value for key, value in current.items() if key != FOR_REVIEW}
            return [TermChange(space, RELATION, name, current, confirmed)]
        sources = dict.fromkeys(edge.source for edge in reader.edges(space, rels=[name]))
        moved: list[AnyChange] = [
            Change(memory, replace(with_relation_renamed(memory, name, into), updated_at=engine.clock()))
            for memory in reader.get_many(space, list(sources))
        ]
        elsewhere = any(reader.edges(other, rels=[name]) for other in reader.spaces() if other != space)
        return moved if elsewhere else [*moved, TermChange(space, RELATION, name, current, None)]

    return bool(engine.write_named(f"{decision}_{RELATION}", plan, why))


def validated(now: float, confidence: float | None = None) -> Callable[[Memory], Memory]:
    def edit(memory: Memory) -> Memory:
        memory = restore_trust(memory) if is_suspicious(memory) else memory
        sure = memory.confidence if confidence is None else confidence
        return replace(memory, last_validated_at=now, confidence=sure)

    return edit


def trashed(memory: Memory) -> Memory:
    return memory if memory.status == TRASHED else replace(memory, status=TRASHED, trashed_from=memory.status)


def without_conflict(memory: Memory, other: Memory) -> Memory:
    """Without what says that the two conflict, once that is decided: also without a link that somebody made by hand,
    which would bring the same question again."""
    settled = conflict_links(memory, other)
    links = tuple(link for link in memory.links if link not in settled)
    return without_notes(replace(memory, links=links) if settled else memory, [other.id])


def conflict_links(memory: Memory, other: Memory) -> list[Link]:
    return [each for each in memory.links if each.to == other.id and each.rel == CONFLICTS]


def noted_conflict(holder: Memory, other: Memory) -> Conflict | None:
    """The conflict that a link of `holder` notes, with the words that decided, found again; None when it was settled
    meanwhile. Which of the two is newer depends on their own times, not on who has the link."""
    from nacre.conflicts.difference import differing_words  # most callers ask for other kinds

    link = next(iter(conflict_links(holder, other)), None)
    newer, older = newer_first(holder, other)
    if link is None or newer.ends_before(older) or older.ends_before(newer):
        return None
    similarity = link.data.get("similarity")
    likeness = float(similarity) if isinstance(similarity, int | float) else 0.0
    words = ("", "") if link.kind == "duplicate" else differing_words(newer.text, older.text)
    sure = link.data.get("sure") is True
    return Conflict(newer, older, likeness, link.kind, str(link.data.get("reason", "")), words, sure)


def screens(noted: Sequence[Edge]) -> Iterator[list[Edge]]:
    """The worst first, as many at a time as are judged together."""
    ordered = sorted(noted, key=lambda edge: severity(edge.kind))
    return (ordered[begin : begin + SCREEN] for begin in range(0, len(ordered), SCREEN))


def is_pair(edge: Edge, start: str) -> bool:
    """Whether the id of this pair begins so; either side may be the newer."""
    return any(begins(f"{one}:{other}", start) for one, other in (edge[:2], edge[1::-1]))


def conflict_id(conflict: Conflict) -> str:
    return f"{conflict.a.id}:{conflict.b.id}"
