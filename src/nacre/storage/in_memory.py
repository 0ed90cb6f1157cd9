"""The reference backend: the plainest code that keeps the promises, for tests and throw-away stores."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from nacre.errors import EmbeddingMismatch
from nacre.model import Filter, JournalEntry, Memory
from nacre.ports import Derived, Health, Keys, Match, Order, Place, Posting, Vectors, Words

Key = tuple[str, str]
Name = TypeVar("Name", str, int)
K1, B = 1.2, 0.75  # BM25 as SQLite's full-text index has it
SCHEMA = 1
# Later writes come first among equals, except where the oldest are asked for.
ORDERS: dict[Order, Callable[[int, Memory], tuple[float, ...]]] = {
    "newest": lambda at, memory: (-memory.created_at, -at),
    "oldest": lambda at, memory: (memory.created_at, at),
    "importance": lambda at, memory: (-memory.importance, -memory.created_at, -at),
    "updated": lambda at, memory: (-memory.updated_at, -at),
    "accessed": lambda at, memory: (-memory.last_accessed, -at),
}


@dataclass
class State:
    memories: dict[Key, Memory] = field(default_factory=dict)
    derived: dict[Key, Derived] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    vocabulary: dict[str, list[str]] = field(default_factory=dict)
    embedder: str = ""

    def copied(self) -> State:
        words = {kind: list(names) for kind, names in self.vocabulary.items()}
        return State(dict(self.memories), dict(self.derived), list(self.journal), words, self.embedder)


class InMemoryTransaction:
    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, space: str, id: str) -> Memory | None:
        return self._state.memories.get((space, id))

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        self._state.memories[memory.space, memory.id] = memory
        if derived is not None:
            self._state.derived[memory.space, memory.id] = derived

    def remove(self, space: str, id: str) -> bool:
        self._state.derived.pop((space, id), None)
        return self._state.memories.pop((space, id), None) is not None

    def claim_embedder(self, identity: str, dimensions: int) -> None:  # noqa: ARG002
        if self._state.embedder and self._state.embedder != identity:
            raise EmbeddingMismatch(self._state.embedder, identity)
        self._state.embedder = identity

    def change_embedder(self, identity: str, dimensions: int) -> None:  # noqa: ARG002
        self._state.embedder = identity
        self._state.derived = {key: replace(found, vectors=None) for key, found in self._state.derived.items()}

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            self._state.journal.append(replace(entry, seq=len(self._state.journal) + 1))

    def scrub_journal(self, space: str, id: str) -> int:
        told = [
            place for place, entry in enumerate(self._state.journal) if (entry.space, entry.memory_id) == (space, id)
        ]
        for place in told:
            entry = self._state.journal[place]
            self._state.journal[place] = replace(entry, before=None, after=None, act=replace(entry.act, why=""))
        return len(told)

    def add_word(self, kind: str, name: str) -> None:
        names = self._state.vocabulary.setdefault(kind, [])
        if name not in names:
            names.append(name)
            names.sort()


class InMemoryStore:
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
        found = (self._state.memories.get((space, id)) for id in dict.fromkeys(ids))
        return [memory for memory in found if memory is not None]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        ids = (id for owner, id in self._state.memories if owner == space and id.startswith(prefix))
        return sorted(ids)[:limit]

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        found = sorted(enumerate(self._admitted(space, where)), key=lambda pair: ORDERS[order](*pair))
        offset = max(offset, 0)
        end = None if limit is None else offset + limit
        return [memory for _, memory in found[offset:end]]

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        yield from self.select(space, where, order="oldest")

    def count(self, space: str, where: Filter) -> int:
        return len(self._admitted(space, where))

    def tally(self, space: str, field: Literal["type", "status", "tags"], where: Filter) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for memory in self._admitted(space, where):
            counted.update(memory.tags if field == "tags" else [getattr(memory, field)])
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def spaces(self) -> dict[str, int]:
        return dict(sorted(Counter(space for space, _ in self._state.memories).items()))

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        texts = {id: found.words for (owner, id), found in self._state.derived.items() if owner == space}
        admitted = {memory.id for memory in self._admitted(space, where)}
        scores = bm25(terms, {id: padded(words) for id, words in texts.items()})
        ranked = sorted((Match(id, s) for id, s in scores.items() if id in admitted), key=lambda m: -m.score)
        return ranked[: max(limit, 0)]

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        found = []
        for memory in self._admitted(space, where):
            derived = self._state.derived.get((space, memory.id))
            if derived is not None and derived.vectors is not None and len(derived.vectors):
                cosines = derived.vectors @ vector
                best = int(np.argmax(cosines))
                chunk = derived.chunks[best]
                found.append(Match(memory.id, float(cosines[best]), (chunk.start, chunk.end)))
        return sorted(found, key=lambda match: -match.score)[: max(limit, 0)]

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        texts = {self._key(place): padded(found.words) for place, found in self._state.derived.items()}
        lengths = {key: len(text.split()) for key, text in texts.items()}
        found = {term: weights(term, texts, lengths) for term in dict.fromkeys(terms)}
        return {term: posting(shares) for term, shares in found.items() if shares}

    def size(self) -> int:
        return len(self._state.memories)

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        wanted = None if only is None else set(only.tolist())
        found = [
            (self._key((space, match.id)), match.score)
            for match in self.by_vector(space, vector, Filter(), len(self._state.memories))
            if wanted is None or self._key((space, match.id)) in wanted
        ][: max(limit, 0)]
        return np.array([key for key, _ in found], np.int64), np.array([cosine for _, cosine in found], np.float32)

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

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        wanted = set(digests)
        return {
            chunk.digest: derived.vectors[place]
            for derived in self._state.derived.values()
            if derived.vectors is not None
            for place, chunk in enumerate(derived.chunks)
            if chunk.digest in wanted
        }

    def identical(self, space: str, digest: bytes, limit: int) -> list[str]:
        found = (
            id
            for (owner, id), derived in self._state.derived.items()
            if owner == space and any(chunk.digest == digest for chunk in derived.chunks)
        )
        return [id for id, _ in zip(found, range(limit), strict=False)]

    def pending(self, limit: int) -> list[Memory]:
        waiting = (memory for key, memory in self._state.memories.items() if not self._embedded(key))
        return [memory for memory, _ in zip(waiting, range(limit), strict=False)]

    def embedder(self) -> str:
        return self._state.embedder

    def journal(
        self,
        space: str,
        *,
        memory_id: str | None = None,
        batch: str | None = None,
        newest_first: bool = True,
        limit: int | None = None,
    ) -> list[JournalEntry]:
        found = [
            entry
            for entry in self._state.journal
            if entry.space == space and memory_id in (None, entry.memory_id) and batch in (None, entry.act.batch)
        ]
        return (found[::-1] if newest_first else found)[:limit]

    def words(self, kind: str) -> list[str]:
        return list(self._state.vocabulary.get(kind, ()))

    def health(self, *, thorough: bool = False) -> Health:  # noqa: ARG002
        derived = self._state.derived.values()
        return Health(
            schema=SCHEMA,
            memories=len(self._state.memories),
            chunks=sum(len(found.chunks) for found in derived),
            vectors=sum(len(found.vectors) for found in derived if found.vectors is not None),
            pending=sum(not self._embedded(key) for key in self._state.memories),
            bytes_on_disk=0,
            embedder=self._state.embedder,
        )

    def close(self) -> None:
        """Nothing is held; a closed throw-away store is simply no longer used."""

    def _key(self, place: Key) -> int:
        return self._numbers.setdefault(place, len(self._numbers) + 1)

    def _placed(self, space: str, where: Filter) -> list[Place]:
        found = [
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
        return sorted(found, key=lambda place: place.key)

    def _admitted(self, space: str, where: Filter) -> list[Memory]:
        return [
            memory for (owner, _), memory in self._state.memories.items() if owner == space and where.admits(memory)
        ]

    def _embedded(self, key: Key) -> bool:
        found = self._state.derived.get(key)
        return found is not None and found.vectors is not None


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
