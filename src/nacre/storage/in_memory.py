"""The reference backend: everything in memory, readable rather than fast, lost when the process ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from nacre.files import ThreadLock
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import EVERYTHING, MEMORY
from nacre.model.memory import boolean_values, size
from nacre.protocols import (
    ALL,
    AnyOf,
    CandidateLink,
    Candidates,
    Chunk,
    ContentRow,
    Data,
    Derived,
    EmbedderIdentity,
    EntryRow,
    Health,
    Keys,
    Listed,
    Match,
    MemoryRow,
    Order,
    Page,
    Place,
    RowBatch,
    Scrubbed,
    Search,
    SpaceRow,
    Tallied,
    TermSet,
    Vectors,
    VersionRow,
    Words,
)
from nacre.storage import candidates
from nacre.storage.candidates import COLUMN_WEIGHTS, NO_KEYS, Posting, Reached, Successor, occurrences
from nacre.storage.commit import TransactionalBackend, entry_without_link_data, operations_since, with_words
from nacre.storage.health_notes import has_right_numbers, range_notes, ranged_of
from nacre.storage.pages import ORDERS, RISING, check_page, iterate_pages, make_cursor, read_cursor
from nacre.storage.tables import (
    CONTENT,
    STEM_FIELDS,
    contents_of,
    ids_asked_for,
    image_of,
    image_text,
    indexed,
    joined_lines,
    lists_of,
    memory_of,
    record_of,
    unpacked_stems,
)

SCHEMA = 1
NO_WORDS = Derived(Words())


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as it was from the journal entry `seq_from` until the one that wrote it again; None: it still is."""

    memory: Memory
    derived: Derived
    number: int  # of the memory in its space, in the order of first writing
    seq_from: int
    seq_to: int | None = None

    def was_at(self, seq: int | None) -> bool:
        if seq is None:
            return self.seq_to is None
        return self.seq_from <= seq and (self.seq_to is None or seq < self.seq_to)

    @property
    def embedded(self) -> bool:
        return self.derived.vectors is not None

    def best_chunk(self, vector: Vectors) -> tuple[int, float] | None:
        """The nearest chunk and its cosine."""
        rows = self.derived.vectors
        if rows is None or not len(rows):
            return None
        cosines = rows @ vector
        best = int(np.argmax(cosines))
        return best, float(cosines[best])


@dataclass
class Space:
    """`versions` are those of each memory, oldest first."""

    versions: dict[str, tuple[Version, ...]] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    walks: dict[tuple[str, str, str], int] = field(default_factory=dict)  # by source, target and relation
    numbered: int = 0  # the last number that a memory got
    seq: int = 0  # the number of the last journal entry
    last_at: float = 0.0
    dropped: tuple[int, float] = (0, 0.0)

    def copied(self) -> Space:
        return replace(self, versions=dict(self.versions), journal=list(self.journal), walks=dict(self.walks))

    def version(self, id: str, seq: int | None = None) -> Version | None:
        return next((each for each in self.versions.get(id, ()) if each.was_at(seq)), None)

    def versions_at(self, seq: int | None = None) -> list[Version]:
        """In the order of first writing."""
        versions = (each for of_one in self.versions.values() for each in of_one if each.was_at(seq))
        return sorted(versions, key=lambda each: each.number)

    def replaced_by(self, id: str, seq: int | None = None) -> list[Memory]:
        memories = (each.memory for each in self.versions_at(seq))
        return sorted((m for m in memories if id and m.superseded_by == id), key=lambda memory: memory.created_at)


@dataclass
class State:
    spaces: dict[str, Space] = field(default_factory=dict)
    vocabulary: dict[tuple[str, str], Data] = field(default_factory=dict)
    embedder: EmbedderIdentity = EmbedderIdentity()  # noqa: RUF009

    def copied(self) -> State:
        spaces = {name: space.copied() for name, space in self.spaces.items()}
        return State(spaces, dict(self.vocabulary), self.embedder)

    def space(self, name: str) -> Space:
        return self.spaces.get(name) or Space()


def version_without_link_data(version: Version, target: str) -> Version:
    """Without the data of the links to a memory, except what is true or false."""
    links = (
        replace(link, data=boolean_values(link.data)) if link.to == target else link for link in version.memory.links
    )
    return replace(version, memory=replace(version.memory, links=tuple(links)))


def forget_walks(space: Space, version: Version | None, kept: set[tuple[str, str]]) -> None:
    if version is not None:
        for link in version.memory.links:
            if (link.to, link.rel) not in kept:
                space.walks.pop((version.memory.id, link.to, link.rel), None)


class SpaceIndex:
    """One state of one space, as `storage.candidates` reads it; keys are the numbers of the memories."""

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions = {version.number: version for version in versions}

    def measure(self, where: Filter) -> tuple[int, int]:
        lengths = [length(version) for version in self._admitted(where)]
        return len(lengths), sum(lengths)

    def postings(self, terms: Sequence[str], visible: Filter, among: Filter | None = None) -> dict[str, Posting]:  # noqa: ARG002
        versions = list(self._admitted(visible))
        postings: dict[str, Posting] = {}
        for term in terms:
            counted = [(each, times) for each in versions if (times := frequency(term, each.derived.words))]
            if counted:
                postings[term] = Posting(
                    np.array([each.number for each, _ in counted], np.int64),
                    np.array([times for _, times in counted], np.float32),
                    np.array([length(each) for each, _ in counted], np.float32),
                    len(counted),
                )
        return postings

    def holding(self, terms: Sequence[str]) -> dict[str, int]:
        """On how many memories each term is."""
        return {term: posting.holding for term, posting in self.postings(terms, ALL).items()}

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None, also: Keys = NO_KEYS) -> Keys:  # noqa: ARG002
        wanted = self._versions if only is None else only.tolist()
        cosines = {n: best[1] for n in wanted if (best := self._versions[n].best_chunk(vector)) is not None}
        ranked = sorted(cosines, key=lambda number: -cosines[number])
        return np.array(ranked[: max(limit, 0)], np.int64)

    def cosines(self, vector: Vectors, keys: Keys) -> Vectors:
        chunks = (self._versions[number].best_chunk(vector) for number in keys.tolist())
        return np.array([0.0 if best is None else best[1] for best in chunks], np.float32)

    def places(self, keys: Keys, where: Filter) -> list[Place]:
        wanted = set(keys.tolist())
        return [place_of(version) for version in self._admitted(where) if version.number in wanted]

    def reached(self, keys: Keys, where: Filter, replaced: Filter | None, linked_by: tuple[str, ...]) -> Reached:
        own = [self._versions[number] for number in keys.tolist()]
        successors = [
            Successor(version.number, version.memory.id, place_of(each))
            for version in own
            for each in self._successors(version, replaced)
            if where.admits(each.memory)
        ]
        ids = {version.memory.id for version in own if where.admits(version.memory)}
        links = [
            CandidateLink(version.memory.id, link.to, link.kind)
            for version in self._versions.values()
            for link in version.memory.links
            if link.rel in linked_by and (version.memory.id in ids or link.to in ids)
        ]
        linked = {id for link in links for id in link[:2]}
        wanted = {*keys.tolist(), *(each.place.key for each in successors)}
        versions = [each for each in self._admitted(where) if each.number in wanted or each.memory.id in linked]
        present = {version.memory.id for version in versions}
        between = [link for link in links if link.source in present and link.target in present]
        return Reached(list(map(place_of, versions)), tuple(successors), tuple(between))

    def _successors(self, version: Version, replaced: Filter | None) -> Iterator[Version]:
        """Those that follow it, as long as each one before them is admitted by `replaced`."""
        by_id = {each.memory.id: each for each in self._versions.values()}
        passed: set[str] = set()
        while replaced is not None and replaced.admits(version.memory) and version.memory.id not in passed:
            passed.add(version.memory.id)
            successor = by_id.get(version.memory.superseded_by) if version.memory.superseded_by else None
            if successor is None:
                return
            yield successor
            version = successor

    def around(self, spots: Sequence[tuple[str, int]], reach: int, where: Filter, known: Keys) -> list[Place]:
        return [
            place
            for place in map(place_of, self._admitted(where))
            if place.session and place.position is not None and place.key not in known
            and any(place.session == session and abs(place.position - at) <= reach for session, at in spots)
        ]  # fmt: skip

    def allowed(self, where: Filter, replaced: Filter | None = None) -> Keys:
        numbers = [
            version.number
            for version in self._versions.values()
            if where.admits(version.memory)
            or any(where.admits(each.memory) for each in self._successors(version, replaced))
        ]
        return np.array(numbers, np.int64)

    def _admitted(self, where: Filter) -> Iterator[Version]:
        return (version for version in self._versions.values() if where.admits(version.memory))


class InMemoryReader:
    """Reads what `state` gives at each call; `past` restricts one space to how it was after a journal entry."""

    def __init__(self, state: Callable[[], State], past: tuple[str, int] | None = None) -> None:
        self._read = state
        self._past = past

    def get(self, space: str, id: str) -> Memory | None:
        return next(iter(self.get_many(space, [id])), None)

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        kept, seq = self._read().space(space), self._seq(space)
        versions = (kept.version(id, seq) for id in dict.fromkeys(ids))
        return [version.memory for version in versions if version is not None]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        return sorted(m.id for m in self._memories(space, ALL) if m.id.startswith(prefix))[:limit]

    def page(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int, cursor: str = "", offset: int = 0
    ) -> Page:
        check_page(limit, offset)
        after = read_cursor(cursor, order)

        def rank(version: Version) -> tuple[float, ...]:
            return (*(float(getattr(version.memory, name)) for name in ORDERS[order]), version.number)

        ordered = sorted(self._versions(space, where), key=rank, reverse=order != RISING)
        if after is not None:
            ordered = [each for each in ordered if (rank(each) > after if order == RISING else rank(each) < after)]
        chosen = ordered[offset : offset + limit]
        more = chosen and len(ordered) > offset + limit
        return Page([each.memory for each in chosen], make_cursor(order, rank(chosen[-1])) if more else "")

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        return iterate_pages(self, space, where)

    def values(self, space: str, where: Filter, fields: Sequence[Listed]) -> Iterator[tuple[Any, ...]]:
        return (tuple(getattr(memory, name) for name in fields) for memory in self.iterate(space, where))

    def count(self, space: str, where: Filter) -> int:
        return len(self._versions(space, where))

    def size(self, space: str, where: Filter) -> int:
        return sum(map(size, self._memories(space, where)))

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for memory in self._memories(space, where):
            value = getattr(memory, field)
            counted.update([value] if isinstance(value, str) else set(value))
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def spaces(self) -> dict[str, int]:
        counts = {name: len(self._versions(name, ALL)) for name in sorted(self._read().spaces)}
        return {name: count for name, count in counts.items() if count}

    def gather(self, space: str, search: Search) -> Candidates:
        index = SpaceIndex(self._versions(space, ALL))
        terms = candidates.bounded(search.terms, search.visible, index.holding)
        gathered = candidates.gather(index, replace(search, terms=terms))
        ids = [place.id for place in gathered.places] if search.records else []
        return replace(gathered, memories={memory.id: memory for memory in self.get_many(space, ids)})

    def by_words(
        self, space: str, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL
    ) -> list[Match]:
        index = SpaceIndex(self._versions(space, ALL))
        return candidates.by_words(index, candidates.bounded(terms, visible, index.holding), where, limit, visible)

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        matches = []
        for version in self._versions(space, where):
            if (best := version.best_chunk(vector)) is not None:
                chunk = version.derived.chunks[best[0]]
                matches.append(Match(version.memory.id, best[1], (chunk.start, chunk.end)))
        return sorted(matches, key=lambda match: -match.score)[: max(limit, 0)]

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
        walks = self._read().space(space).walks
        return [
            Edge(memory.id, link.to, link.rel, link.weight, walks.get((memory.id, link.to, link.rel), 0), link.kind)
            for memory in self._memories(space, ALL)
            if out_of is None or memory.id in out_of
            for link in sorted(memory.links, key=lambda link: (link.to, link.rel))
            if (into is None or link.to in into) and (rels is None or link.rel in rels)
            if kind is None or link.kind == kind
        ][:limit]

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        return self._read().space(space).replaced_by(id, self._seq(space))

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        asked = set(ids)
        versions = (version for version in self._versions(space, Filter()) if version.memory.id in asked)
        rows = {version.memory.id: version.derived.vectors for version in versions}
        return {id: of_one for id, of_one in rows.items() if of_one is not None and len(of_one)}

    def term(self, kind: str, name: str) -> Data | None:
        return self._read().vocabulary.get((kind, name))

    def terms(self, kind: str) -> dict[str, Data]:
        return {name: data for (of, name), data in sorted(self._read().vocabulary.items()) if of == kind}

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        entries = [entry for entry in self._entries(space) if meant(entry, where)]
        return (entries[::-1] if newest_first else entries)[:limit]

    def seq_at(self, space: str, time: float) -> int:
        written = (entry.seq for entry in self._entries(space) if entry.operation.at <= time)
        return max(written, default=self.journal_begins(space)[0])

    def changes_since(self, space: str, seq: int) -> list[str]:
        entries = (entry for entry in reversed(self._entries(space)) if entry.seq > seq)
        last_first = dict.fromkeys(entry.memory_id for entry in entries if entry.kind == MEMORY)
        return list(last_first)[::-1]

    def written_since(self, space: str, seq: int, texts: Collection[str]) -> list[Memory]:
        return with_words(self, space, self.changes_since(space, seq), texts)

    def last_positions(
        self,
        space: str,
        seq: int,  # noqa: ARG002 (for a plan)
        sessions: Sequence[str],
        where: Filter = ALL,
    ) -> dict[str, int]:
        last: dict[str, int] = {}
        for memory in self._memories(space, where):
            if memory.session in sessions and memory.position is not None:
                last[memory.session] = max(last.get(memory.session, 0), memory.position)
        return last

    def operations_since(self, space: str, id: str, seq: int) -> list[Operation]:
        return operations_since(self, space, id, seq)

    def border(self, space: str, upto: int) -> int:
        spans: dict[str, tuple[int, int]] = {}
        for entry in self._entries(space):
            first, _ = spans.get(entry.operation.batch, (entry.seq, 0))
            spans[entry.operation.batch] = (first, entry.seq)
        for first, last in sorted(spans.values(), key=lambda span: -span[1]):
            upto = first - 1 if first <= upto < last else upto
        return upto

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._read().space(space).dropped

    def health(self, *, thorough: bool = False) -> Health:
        state = self._read()
        present = [version for space in state.spaces.values() for version in space.versions_at()]
        wrong = [each.memory for each in present if thorough and not has_right_numbers(each.memory)]
        return Health(
            schema=SCHEMA,
            memories=len(present),
            chunks=sum(len(each.derived.chunks) for each in present),
            vectors=sum(len(each.derived.vectors) for each in present if each.derived.vectors is not None),
            pending=sum(not each.embedded for each in present),
            bytes_on_disk=0,
            embedder=state.embedder.name,
            notes=tuple(range_notes([(memory.space, memory.id, *ranged_of(memory)) for memory in wrong])),
        )

    def _seq(self, space: str) -> int | None:
        return self._past[1] if self._past is not None and self._past[0] == space else None

    def _versions(self, space: str, where: Filter) -> list[Version]:
        return [each for each in self._read().space(space).versions_at(self._seq(space)) if where.admits(each.memory)]

    def _memories(self, space: str, where: Filter) -> list[Memory]:
        return [version.memory for version in self._versions(space, where)]

    def _entries(self, space: str) -> list[JournalEntry]:
        seq = self._seq(space)
        return [entry for entry in self._read().space(space).journal if seq is None or entry.seq <= seq]


class InMemoryTransaction(InMemoryReader):
    """What `storage.commit` writes with, into a copy of the state."""

    def __init__(self, state: State) -> None:
        self._state = state
        super().__init__(lambda: state)

    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None:
        space = self._state.spaces.setdefault(memory.space, Space())
        current, past = space.version(memory.id), space.versions.get(memory.id, ())
        forget_walks(space, current, {(link.to, link.rel) for link in memory.links})
        if current is None:
            space.numbered += 1
            new = Version(memory, derived or NO_WORDS, space.numbered, space.seq if seq is None else seq)
        else:
            past = past[:-1] if seq is None else (*past[:-1], replace(current, seq_to=seq))
            new = replace(current, memory=memory, derived=current.derived if derived is None else derived)
            if seq is not None:
                new = replace(new, seq_from=seq)
            past = with_vectors_of(new, past)
        space.versions[memory.id] = (*(with_uses(each, new) for each in past), new)

    def remove(self, space: str, id: str, seq: int | None) -> None:
        kept = self._state.space(space)
        current = kept.version(id)
        forget_walks(kept, current, set())
        if current is not None and seq is None:
            del kept.versions[id]
        elif current is not None:
            kept.versions[id] = (*kept.versions[id][:-1], replace(current, seq_to=seq))

    def compress(self, space: str, ids: Sequence[str]) -> int:  # noqa: ARG002
        return 0

    def embedder(self) -> EmbedderIdentity:
        return self._state.embedder

    def bind_embedder(self, identity: EmbedderIdentity, *, anew: bool) -> None:
        self._state.embedder = identity
        for space in self._state.spaces.values() if anew else ():
            for id, versions in space.versions.items():
                bare = (replace(each, derived=each.derived._replace(vectors=None)) for each in versions)
                space.versions[id] = tuple(bare)

    def rebuild_indexes(self) -> None:
        """There are none."""

    def next_seq(self, space: str) -> int:
        kept = self._state.spaces.setdefault(space, Space())
        kept.seq += 1
        return kept.seq

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            space = self._state.spaces.setdefault(entry.space, Space())
            space.last_at = entry.operation.at
            space.journal.append(entry)

    def last_at(self, space: str) -> float:
        return self._state.space(space).last_at

    def last_seq(self, space: str) -> int:
        return self._state.space(space).seq

    def scrub(self, change: Scrubbed) -> None:
        """Only the present version is left, and stands for all that were; nothing of a memory that is gone."""
        kept, id = self._state.space(change.space), change.id
        current, versions = kept.version(id), kept.versions.pop(id, ())
        if current is not None:
            own = [each for each in versions if each.number == current.number]  # not those of another with its id
            kept.versions[id] = (replace(current, seq_from=own[0].seq_from),)
        last = {source: states[-1].memory for source, states in kept.versions.items() if states}
        emptied = {source for source, memory in last.items() if change.linked_from.admits(memory)}
        kept.journal = [
            replace(entry, before=None, after=None, operation=replace(entry.operation, why=""))
            if (entry.memory_id, entry.kind) == (id, MEMORY)
            else entry_without_link_data(entry, (id,))
            if entry.memory_id in emptied
            else entry
            for entry in kept.journal
        ]
        for source in emptied:
            states = kept.versions[source]
            if any(link.to == id and link.data for each in states for link in each.memory.links):
                kept.versions[source] = tuple(version_without_link_data(each, id) for each in states)

    def drop_journal(self, space: str, upto: int) -> int:
        kept = self._state.space(space)
        gone = [entry for entry in kept.journal if entry.seq <= upto]
        if gone:
            kept.dropped = (gone[-1].seq, gone[-1].operation.at)
            kept.journal = kept.journal[len(gone) :]
            for id, versions in list(kept.versions.items()):
                kept.versions[id] = tuple(each for each in versions if each.seq_to is None or each.seq_to > upto)
        return len(gone)

    def purge_space(self, space: str) -> list[str]:
        kept = self._state.spaces.setdefault(space, Space())
        ids = [version.memory.id for version in kept.versions_at()]
        self.drop_journal(space, kept.seq)
        kept.versions, kept.walks = {}, {}
        words = self._state.vocabulary
        own = [(k, n) for k, n in words if k.partition("/")[2] == space or (k, n) == ("space", space)]
        self._state.vocabulary = {key: data for key, data in words.items() if key not in own}
        return ids

    def rename_space(self, old: str, new: str) -> None:
        def named(space: str) -> str:
            return new if space == old else space

        def placed(image: Data | None) -> Data | None:
            return {**image, "space": new} if image and "space" in image else image

        def kind_of(kind: str) -> str:
            own, slash, space = kind.partition("/")
            return f"{own}{slash}{named(space)}" if slash else kind

        space = self._state.spaces.pop(old, Space())
        for id, versions in space.versions.items():
            space.versions[id] = tuple(replace(each, memory=replace(each.memory, space=new)) for each in versions)
        space.journal = [
            replace(
                entry,
                space=new,
                kind=kind_of(entry.kind),
                memory_id=named(entry.memory_id) if entry.kind == "space" else entry.memory_id,
                before=placed(entry.before) if entry.kind == MEMORY else entry.before,
                after=placed(entry.after) if entry.kind == MEMORY else entry.after,
            )
            for entry in space.journal
        ]
        self._state.spaces[new] = space
        self._state.vocabulary = {
            (kind_of(kind), named(name) if kind == "space" else name): data
            for (kind, name), data in self._state.vocabulary.items()
        }

    def put_term(self, kind: str, name: str, data: Data | None) -> None:
        if data is None:
            self._state.vocabulary.pop((kind, name), None)
        else:
            self._state.vocabulary[kind, name] = dict(data)

    def write_rows(self, batch: RowBatch) -> None:
        space = self._state.spaces.setdefault(batch.space.name, Space())
        space.seq, space.last_at, space.dropped = batch.space.seq, batch.space.last_at, batch.space.dropped[:2]
        for row in batch.removed:
            memory = memory_of(row.versions[-1].record, batch.space.name)
            left = tuple(each for each in space.versions[memory.id] if each.number != row.number)
            space.versions[memory.id] = left
            if not left:
                del space.versions[memory.id]
            if row.versions[-1].seq_to is None:
                forget_walks(space, Version(memory, NO_WORDS, row.number, 0), set())
        for row in batch.memories:
            space.numbered = max(space.numbered + (row.number == 0), row.number)
            versions = [version_of(each, batch.space.name, row.number or space.numbered) for each in row.versions]
            id = versions[-1].memory.id
            others = space.versions.get(id, ())
            space.versions[id] = tuple(sorted((*others, *versions), key=lambda each: each.number))
            if row.versions[-1].seq_to is None:
                walks = row.versions[-1].walks.items()
                space.walks.update({(id, *link): count for link, count in walks if count})
        kept = [entry for entry in space.journal if entry.seq not in batch.dropped]
        entries = (entry_of(row, batch.space.name) for row in batch.entries)
        space.journal = sorted((*kept, *entries), key=lambda entry: entry.seq)

    def drop_space(self, name: str) -> None:
        self._state.spaces.pop(name, None)


class InMemoryBackend(InMemoryReader, TransactionalBackend):
    """A commit writes into a copy of the state, which takes its place at the end."""

    files = None

    def __init__(self) -> None:
        self._state = State()
        self._writing = ThreadLock(threading.RLock)
        super().__init__(lambda: self._state)

    def at(self, space: str, seq: int) -> InMemoryReader:
        return InMemoryReader(lambda: self._state, (space, seq))

    @property
    def rows(self) -> InMemoryRows:
        return InMemoryRows(self)

    @contextmanager
    def transaction(self) -> Iterator[InMemoryTransaction]:
        with self._writing:
            draft = self._state.copied()
            yield InMemoryTransaction(draft)
            self._state = draft

    @contextmanager
    def snapshot(self) -> Iterator[State]:
        with self._writing:
            state = self._state.copied()
        yield state

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        with self._writing:
            kept = self._state.space(space)
            for id in dict.fromkeys(ids):
                if kept.version(id) is not None:
                    kept.versions[id] = tuple(replace(each, memory=used(each.memory, at)) for each in kept.versions[id])

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        with self._writing:
            for source, target, rel in {edge[:3] for edge in edges}:
                if self.edges(space, out_of=[source], into=[target], rels=[rel]):
                    walks = self._state.space(space).walks
                    walks[source, target, rel] = walks.get((source, target, rel), 0) + 1

    def vectors_for(self, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
        wanted = set(digests)
        return self.embedder(), {
            chunk.digest: version.derived.vectors[place]
            for space in self._state.spaces.values()
            for versions in space.versions.values()
            for version in versions
            if version.derived.vectors is not None
            for place, chunk in enumerate(version.derived.chunks)
            if chunk.digest in wanted
        }

    def pending(self, limit: int) -> list[Memory]:
        return list(islice(self._waiting(), limit))

    def embedder(self) -> EmbedderIdentity:
        return replace(self._state.embedder, waiting=any(True for _ in self._waiting()))

    def _waiting(self) -> Iterator[Memory]:
        present = (version for space in self._state.spaces.values() for version in space.versions_at())
        return (version.memory for version in present if not version.embedded)

    def close(self) -> None:
        """Nothing is open."""


class InMemoryRowReader:
    """The rows of what `state` gives when a walk begins."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._read = state

    def spaces(self) -> list[SpaceRow]:
        spaces = sorted(self._read().spaces.items())
        return [space_row(name, space) for name, space in spaces if space.seq or space.versions]

    def memories(self, space: str) -> Iterator[MemoryRow]:
        kept = self._read().space(space).copied()
        by_number: dict[int, list[Version]] = {}
        for version in (each for of_one in kept.versions.values() for each in of_one):
            by_number.setdefault(version.number, []).append(version)
        for number, versions in sorted(by_number.items()):
            yield MemoryRow(number, tuple(version_row(kept, version) for version in versions))

    def entries(self, space: str, *, images: bool = True) -> Iterator[EntryRow]:  # noqa: ARG002
        kept = self._read().space(space).copied()
        for entry in kept.journal:
            versions = kept.versions_at(entry.seq)
            times = (max(each.memory.created_at, each.memory.updated_at) for each in versions)
            stems = sum(map(length, versions))
            done, kind = entry.operation, entry.kind
            sides = (image_text(entry.before, kind, space), image_text(entry.after, kind, space))
            named = (entry.seq, entry.memory_id, kind, done.name, done.actor, done.at, done.batch, done.why)
            yield EntryRow(*named, *sides, max(times, default=0.0), len(versions), stems)

    def terms(self) -> Iterator[TermSet]:
        words = self._read().vocabulary
        return iter([TermSet(kind, name, data) for (kind, name), data in sorted(words.items())])


class InMemoryRows(InMemoryRowReader):
    keeps_images = True

    def __init__(self, backend: InMemoryBackend) -> None:
        self._backend = backend
        super().__init__(lambda: backend._state)

    @contextmanager
    def snapshot(self) -> Iterator[InMemoryRowReader]:
        with self._backend.snapshot() as state:
            yield InMemoryRowReader(lambda: state)

    def write_rows(self, batch: RowBatch) -> None:
        with self._backend.transaction() as transaction:
            transaction.write_rows(batch)

    def drop_space(self, name: str) -> None:
        with self._backend.transaction() as transaction:
            transaction.drop_space(name)


def space_row(name: str, space: Space) -> SpaceRow:
    seq, at = space.dropped
    versions = space.versions_at(seq) if seq else []
    dropped = (seq, at, len(versions), sum(map(length, versions)))
    return SpaceRow(name, space.seq, space.last_at, dropped, len(space.versions) + len(space.journal))


def version_row(space: Space, version: Version) -> VersionRow:
    memory = version.memory
    walks = {(link.to, link.rel): space.walks.get((memory.id, link.to, link.rel), 0) for link in memory.links}
    record, words = record_of(memory), indexed(version.derived.words)
    content = content_row(version.derived, joined_lines(words.content))
    stems, uses = joined_lines(words.names), (memory.last_accessed, memory.access_count)
    return VersionRow(record, lists_of(record[-1]), content, stems, version.seq_from, version.seq_to, uses, walks)


def content_row(derived: Derived, words: str) -> ContentRow:
    chunks, vectors = tuple((chunk.start, chunk.end, chunk.digest) for chunk in derived.chunks), derived.vectors
    if not chunks and vectors is None and not words.strip():
        return ContentRow()
    return ContentRow(words, chunks, None if vectors is None else tuple(map(bytes, vectors.astype("<f2"))))


def version_of(row: VersionRow, space: str, number: int) -> Version:
    words, chunks, halves = row.content
    stems = Words(*unpacked_stems(words, len(CONTENT)), *unpacked_stems(row.stems, len(STEM_FIELDS)))
    vectors = None
    if halves is not None:
        vectors = np.frombuffer(b"".join(halves), "<f2").astype(np.float32).reshape(len(halves), -1 if halves else 0)
    derived = Derived(stems, tuple(Chunk(*chunk) for chunk in chunks), vectors)
    return Version(memory_of(row.record, space), derived, number, row.seq_from, row.seq_to)


def entry_of(row: EntryRow, space: str) -> JournalEntry:
    before, after = (image_of(image, row.kind, space) for image in (row.before, row.after))
    done = Operation(row.operation, row.actor, row.at, row.batch, row.why)
    return JournalEntry(row.seq, done, space, row.memory_id, before, after, row.kind)


def with_vectors_of(new: Version, past: Sequence[Version]) -> tuple[Version, ...]:
    """Vectors belong to the text: those that are computed again for it are those of its earlier versions, too."""
    if not new.embedded:
        return tuple(past)
    first = len(past)
    while first and contents_of(past[first - 1].memory) == contents_of(new.memory):
        first -= 1
    chunks, vectors = new.derived.chunks, new.derived.vectors
    own = (replace(each, derived=each.derived._replace(chunks=chunks, vectors=vectors)) for each in past[first:])
    return (*past[:first], *own)


def with_uses(version: Version, present: Version) -> Version:
    """The uses of a memory are those of the present in all its versions."""
    if version.number != present.number:
        return version
    last, count = present.memory.last_accessed, present.memory.access_count
    return replace(version, memory=replace(version.memory, last_accessed=last, access_count=count))


def used(memory: Memory, at: float) -> Memory:
    return replace(memory, last_accessed=max(memory.last_accessed, at), access_count=memory.access_count + 1)


def meant(entry: JournalEntry, where: JournalFilter) -> bool:
    return (
        ((about := ids_asked_for(where)) is None or entry.memory_id in about)
        and (where.batch is None or entry.operation.batch.startswith(where.batch))
        and where.operation in (None, entry.operation.name)
        and where.actor in (None, entry.operation.actor)
        and (where.since is None or entry.operation.at >= where.since)
        and (where.until is None or entry.operation.at <= where.until)
        and (where.after is None or entry.seq > where.after)
        and (where.upto is None or entry.seq <= where.upto)
    )


def place_of(version: Version) -> Place:
    m = version.memory
    asks = m.text.endswith(("?", "？"))
    return Place(version.number, m.id, m.session, m.position, m.role, length(version), asks, m.happened_at)


def length(version: Version) -> int:
    return sum(len(getattr(version.derived.words, column).split()) for column in COLUMN_WEIGHTS)


def frequency(term: str, words: Words) -> float:
    """How often the stem or phrase occurs within a field, times the weight of the field."""
    return sum(weight * occurrences(term, getattr(words, column)) for column, weight in COLUMN_WEIGHTS.items())
