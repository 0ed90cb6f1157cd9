"""The reference backend: everything in memory, readable rather than fast, lost when the process ends."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from nacre.errors import StorageError
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING, MEMORY
from nacre.model.memory import Json
from nacre.protocols import (
    Derived,
    EmbedderIdentity,
    Health,
    Keys,
    Match,
    Order,
    Place,
    Posting,
    Tallied,
    Vectors,
    Words,
)

Key = tuple[str, str]
SCHEMA = 2
# Later writes come first among equals, except where the oldest are asked for.
ORDERS: dict[Order, Callable[[int, Memory], tuple[float, ...]]] = {
    "newest": lambda at, memory: (-memory.created_at, -at),
    "oldest": lambda at, memory: (memory.created_at, at),
    "importance": lambda at, memory: (-memory.importance, -memory.created_at, -at),
    "confidence": lambda at, memory: (-memory.confidence, -memory.created_at, -at),
    "updated": lambda at, memory: (-memory.updated_at, -at),
    "accessed": lambda at, memory: (-memory.last_accessed, -at),
}


@dataclass
class State:
    memories: dict[Key, Memory] = field(default_factory=dict)
    derived: dict[Key, Derived] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    vocabulary: dict[tuple[str, str], Mapping[str, Json]] = field(default_factory=dict)
    walks: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    dropped: dict[str, tuple[int, float]] = field(default_factory=dict)
    written: int = 0  # the last number that the journal gave
    embedder: EmbedderIdentity = EmbedderIdentity()  # noqa: RUF009

    def copied(self) -> State:
        return replace(
            self,
            memories=dict(self.memories),
            derived=dict(self.derived),
            journal=list(self.journal),
            vocabulary=dict(self.vocabulary),
            walks=dict(self.walks),
            dropped=dict(self.dropped),
        )


class InMemoryTransaction:
    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, space: str, id: str) -> Memory | None:
        return self._state.memories.get((space, id))

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        current = {(memory.space, memory.id, link.to, link.rel) for link in memory.links}
        for link in self._links_of(memory.space, memory.id) - current:
            self._state.walks.pop(link, None)
        self._state.memories[memory.space, memory.id] = memory
        if derived is not None:
            self._state.derived[memory.space, memory.id] = derived

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        return replaced_by(self._state, space, id)

    def compress(self, space: str, ids: Sequence[str]) -> int:  # noqa: ARG002
        return 0

    def remove(self, space: str, id: str) -> bool:
        for link in self._links_of(space, id):
            self._state.walks.pop(link, None)
        self._state.derived.pop((space, id), None)
        return self._state.memories.pop((space, id), None) is not None

    def claim_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        claimed = EmbedderIdentity(identity, dimensions, probe or self._state.embedder.probe)
        self._state.embedder.check(claimed)
        self._state.embedder = claimed

    def change_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        self._state.embedder = EmbedderIdentity(identity, dimensions, probe)
        self._state.derived = {key: replace(derived, vectors=None) for key, derived in self._state.derived.items()}

    def rebuild_indexes(self) -> None:
        """There is none beside what is derived."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            self._state.written += 1
            self._state.journal.append(replace(entry, seq=self._state.written))

    def last_at(self, space: str) -> float:
        times = (entry.operation.at for entry in reversed(self._state.journal) if entry.space == space)
        return next(times, self._state.dropped.get(space, (0, 0.0))[1])

    def scrub_journal(self, space: str, id: str) -> int:
        places = [
            place
            for place, entry in enumerate(self._state.journal)
            if (entry.space, entry.memory_id, entry.kind) == (space, id, MEMORY)
        ]
        for place in places:
            entry = self._state.journal[place]
            self._state.journal[place] = replace(
                entry, before=None, after=None, operation=replace(entry.operation, why="")
            )
        return len(places)

    def forget_journal(self, space: str, upto: int) -> int:
        gone = [entry for entry in self._state.journal if entry.space == space and entry.seq <= upto]
        if gone:
            self._state.dropped[space] = (gone[-1].seq, gone[-1].operation.at)
            self._state.journal = [e for e in self._state.journal if e.space != space or e.seq > upto]
        return len(gone)

    def rename_space(self, old: str, new: str) -> None:
        state = self._state

        def named(space: str) -> str:
            return new if space == old else space

        def kind_of(kind: str) -> str:
            own, slash, space = kind.partition("/")
            return f"{own}{slash}{named(space)}" if slash else kind

        state.memories = {(named(s), id): replace(m, space=named(s)) for (s, id), m in state.memories.items()}
        state.derived = {(named(s), id): derived for (s, id), derived in state.derived.items()}
        state.walks = {(named(s), *link): count for (s, *link), count in state.walks.items()}  # type: ignore[misc]
        state.dropped = {named(s): dropped for s, dropped in state.dropped.items()}
        state.journal = [
            replace(e, space=named(e.space), kind=kind_of(e.kind)) if e.space == old else e for e in state.journal
        ]
        state.vocabulary = {
            (kind_of(kind), named(name) if kind == "space" else name): data
            for (kind, name), data in state.vocabulary.items()
        }

    def forget_terms(self, space: str) -> None:
        words = self._state.vocabulary
        own = [(k, n) for k, n in words if k.partition("/")[2] == space or (k, n) == ("space", space)]
        self._state.vocabulary = {key: data for key, data in words.items() if key not in own}

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return self._state.vocabulary.get((kind, name))

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        if data is None:
            self._state.vocabulary.pop((kind, name), None)
        else:
            self._state.vocabulary[kind, name] = dict(data)

    def _links_of(self, space: str, id: str) -> set[tuple[str, str, str, str]]:
        memory = self._state.memories.get((space, id))
        return {(space, id, link.to, link.rel) for link in memory.links} if memory else set()


class InMemoryBackend:
    def __init__(self) -> None:
        self._state = State()
        self._numbers: dict[Key, int] = {}  # never given twice, so that a number outlives the memory's neighbours
        self._writing = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[InMemoryTransaction]:
        with self._writing:
            draft = self._state.copied()
            yield InMemoryTransaction(draft)
            self._state = draft

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        memories = (self._state.memories.get((space, id)) for id in dict.fromkeys(ids))
        return [memory for memory in memories if memory is not None]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        ids = (id for owner, id in self._state.memories if owner == space and id.startswith(prefix))
        return sorted(ids)[:limit]

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        ordered = sorted(enumerate(self._admitted(space, where)), key=lambda pair: ORDERS[order](*pair))
        offset = max(offset, 0)
        end = None if limit is None else offset + limit
        return [memory for _, memory in ordered[offset:end]]

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        yield from self.select(space, where, order="oldest")

    def count(self, space: str, where: Filter) -> int:
        return len(self._admitted(space, where))

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for memory in self._admitted(space, where):
            value = getattr(memory, field)
            counted.update([value] if isinstance(value, str) else set(value))
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def spaces(self) -> dict[str, int]:
        return dict(sorted(Counter(space for space, _ in self._state.memories).items()))

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        texts = {id: derived.words for (owner, id), derived in self._state.derived.items() if owner == space}
        admitted = {memory.id for memory in self._admitted(space, where)}
        scores = bm25(terms, {id: padded(words) for id, words in texts.items()})
        ranked = sorted((Match(id, s) for id, s in scores.items() if id in admitted), key=lambda m: -m.score)
        return ranked[: max(limit, 0)]

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        matches = []
        for memory in self._admitted(space, where):
            derived = self._state.derived.get((space, memory.id))
            if derived is not None and derived.vectors is not None and len(derived.vectors):
                cosines = derived.vectors @ vector
                best = int(np.argmax(cosines))
                chunk = derived.chunks[best]
                matches.append(Match(memory.id, float(cosines[best]), (chunk.start, chunk.end)))
        return sorted(matches, key=lambda match: -match.score)[: max(limit, 0)]

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        texts = {self._key(place): padded(weighted.words) for place, weighted in self._state.derived.items()}
        lengths = {key: len(text.split()) for key, text in texts.items()}
        weighted = {term: weights(term, texts, lengths) for term in dict.fromkeys(terms)}
        return {term: posting(shares) for term, shares in weighted.items() if shares}

    def size(self) -> int:
        return len(self._state.memories)

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        wanted = None if only is None else set(only.tolist())
        nearest = [
            (self._key((space, match.id)), match.score)
            for match in self.by_vector(space, vector, Filter(), len(self._state.memories))
            if wanted is None or self._key((space, match.id)) in wanted
        ][: max(limit, 0)]
        return np.array([key for key, _ in nearest], np.int64), np.array([cosine for _, cosine in nearest], np.float32)

    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        known = dict(zip(*(part.tolist() for part in self.near(space, vector, len(self._state.memories))), strict=True))
        return np.array([known.get(key, 0.0) for key in keys.tolist()], np.float32)

    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        wanted = set(keys.tolist())
        return [place for place in self._placed(space, where) if place.key in wanted]

    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        return [
            place
            for place in self._placed(space, where)
            if place.session and place.position is not None
            and any(place.session == session and abs(place.position - at) <= reach for session, at in spots)
        ]  # fmt: skip

    def allowed(self, space: str, where: Filter) -> Keys:
        return np.array([place.key for place in self._placed(space, where)], np.int64)

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        with self._writing:
            for memory in self.get(space, ids):
                last = max(memory.last_accessed, at)
                used = replace(memory, last_accessed=last, access_count=memory.access_count + 1)
                self._state.memories[space, memory.id] = used

    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        return [
            Edge(memory.id, link.to, link.rel, link.weight, self._state.walks.get((space, id, link.to, link.rel), 0))
            for (owner, id), memory in self._state.memories.items()
            if owner == space and (out_of is None or id in out_of)
            for link in sorted(memory.links, key=lambda link: (link.to, link.rel))
            if (into is None or link.to in into) and (rels is None or link.rel in rels)
        ]

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        with self._writing:
            for edge in {edge[:3]: edge for edge in edges}.values():
                link = (space, edge.source, edge.target, edge.rel)
                if not self.edges(space, out_of=[edge.source], into=[edge.target], rels=[edge.rel]):
                    continue
                self._state.walks[link] = self._state.walks.get(link, 0) + 1

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        return replaced_by(self._state, space, id)

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        wanted = set(digests)
        return {
            chunk.digest: derived.vectors[place]
            for derived in self._state.derived.values()
            if derived.vectors is not None
            for place, chunk in enumerate(derived.chunks)
            if chunk.digest in wanted
        }

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        derived = {id: self._state.derived.get((space, id)) for id in ids if (space, id) in self._state.memories}
        return {id: d.vectors for id, d in derived.items() if d and d.vectors is not None and len(d.vectors)}

    def pending(self, limit: int) -> list[Memory]:
        waiting = (memory for key, memory in self._state.memories.items() if not self._embedded(key))
        return [memory for memory, _ in zip(waiting, range(limit), strict=False)]

    def embedder(self) -> EmbedderIdentity:
        return self._state.embedder

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        entries = [entry for entry in self._state.journal if entry.space == space and meant(entry, where)]
        return (entries[::-1] if newest_first else entries)[:limit]

    def written_by(self, space: str, at: float) -> int:
        written = (e.seq for e in self._state.journal if e.space == space and e.operation.at <= at)
        return max(written, default=self.journal_begins(space)[0])

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._state.dropped.get(space, (0, 0.0))

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        return {name: data for (of, name), data in sorted(self._state.vocabulary.items()) if of == kind}

    def health(self, *, thorough: bool = False) -> Health:  # noqa: ARG002
        derived = self._state.derived.values()
        return Health(
            schema=SCHEMA,
            memories=len(self._state.memories),
            chunks=sum(len(each.chunks) for each in derived),
            vectors=sum(len(each.vectors) for each in derived if each.vectors is not None),
            pending=sum(not self._embedded(key) for key in self._state.memories),
            bytes_on_disk=0,
            embedder=self._state.embedder.name,
        )

    def check_records(self) -> None:
        """There is no index beside the records."""

    def copy_to(self, path: Path) -> None:
        raise StorageError(f"A store that is kept nowhere cannot be copied to {path}; open one in a file.")

    def close(self) -> None:
        """Nothing is held; a closed throw-away store is simply no longer used."""

    def _key(self, place: Key) -> int:
        return self._numbers.setdefault(place, len(self._numbers) + 1)

    def _placed(self, space: str, where: Filter) -> list[Place]:
        places = [
            Place(
                self._key((space, m.id)),
                m.id,
                m.session,
                m.position,
                m.role,
                len(m.text),
                m.text.endswith(("?", "？")),
                m.happened_at,
            )
            for m in self._admitted(space, where)
        ]
        return sorted(places, key=lambda place: place.key)

    def _admitted(self, space: str, where: Filter) -> list[Memory]:
        return [
            memory for (owner, _), memory in self._state.memories.items() if owner == space and where.admits(memory)
        ]

    def _embedded(self, key: Key) -> bool:
        derived = self._state.derived.get(key)
        return derived is not None and derived.vectors is not None


def replaced_by(state: State, space: str, id: str) -> list[Memory]:
    predecessors = (m for (owner, _), m in state.memories.items() if owner == space and id and m.superseded_by == id)
    return sorted(predecessors, key=lambda memory: memory.created_at)


def meant(entry: JournalEntry, where: JournalFilter) -> bool:
    return (
        where.memory_id in (None, entry.memory_id)
        and (where.batch is None or entry.operation.batch.startswith(where.batch))
        and where.operation in (None, entry.operation.name)
        and where.actor in (None, entry.operation.actor)
        and (where.since is None or entry.operation.at >= where.since)
        and (where.until is None or entry.operation.at <= where.until)
        and (where.after is None or entry.seq > where.after)
        and (where.upto is None or entry.seq <= where.upto)
    )


Name = TypeVar("Name", str, int)
K1, B = 1.2, 0.75  # as SQLite's full-text index has it


def padded(words: Words) -> str:
    # The bars keep a phrase from running out of one field into the next.
    return f" {words.title} | {words.text} | {words.role} | {words.tags} | {words.entities} "


def bm25(terms: Sequence[str], texts: dict[str, str]) -> dict[str, float]:
    lengths = {id: len(text.split()) for id, text in texts.items()}
    scores: dict[str, float] = defaultdict(float)
    for term in terms:
        shares = weights(term, texts, lengths)
        rarity = math.log(1 + (len(texts) - len(shares) + 0.5) / (len(shares) + 0.5))
        for id, share in shares.items():
            scores[id] += rarity * share
    return scores


def weights(term: str, texts: Mapping[Name, str], lengths: Mapping[Name, int]) -> dict[Name, float]:
    usual = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    counts = {id: times for id, text in texts.items() if term.strip() and (times := text.count(f" {term} "))}
    return {id: times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[id] / usual)) for id, times in counts.items()}


def posting(shares: Mapping[int, float]) -> Posting:
    keys = sorted(shares)
    return Posting(np.array(keys, np.int64), np.array([shares[key] for key in keys], np.float32))
