"""Which rows a change of a memory writes, for all SQL backends. How rows are read and written is each one's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from nacre.model import Memory
from nacre.model.memory import key_of
from nacre.protocols import Chunk, Derived, EmbedderIdentity, Key, Vectors, Words
from nacre.storage.tables import (
    Counts,
    Kept,
    Names,
    Stems,
    Target,
    add_counts,
    content_lines,
    distinct_stems,
    indexed,
    links_of,
    names_of,
    packed_stems,
    same_content,
    unpacked_stems,
)

# The statements that every backend has, with the values of a row besides its space. One that inserts has the name of
# its table.
REMOVE_MEMORY = "remove memory"  # key
SET_USES = "set uses"  # last_accessed, access_count, key
INSERT_VERSION = "version"  # what `_version_row` gives
END_VERSION = "end version"  # seq_to, key, seq_from
SET_STEMS = "set stems"  # stems, length, key, seq_from
INSERT_LABEL = "label"  # field, name, key, seq_from, times
END_LABEL = "end label"  # seq, field, name, key
DELETE_LABEL = "delete label"  # the same
INSERT_LINK = "link"  # target, rel, key, seq_from, weight, kind, whether it takes the place of another
END_LINK = "end link"  # seq, target, rel, key
DELETE_LINK = "delete link"  # the same
SET_WORDS = "set words"  # words, content
SET_PENDING = "set pending"  # pending, content
DELETE_CHUNK = "delete chunk"  # number


@dataclass(slots=True)
class Space:
    number: int
    seq: int = 0
    last_at: float = 0.0
    memories: int = 0
    stems: int = 0
    latest: float = 0.0


AnySpace = TypeVar("AnySpace", bound=Space)


class Stored(NamedTuple):
    """The present version of a memory."""

    key: int
    content: int
    seq_from: int
    anchor: int  # `seq_from` of the version that the indexes hold, where they do not hold every one
    stems: Stems  # of tags and entities
    length: int
    memory: Memory


class Content(NamedTuple):
    """What is derived from a content; `words` is None when nothing was derived yet."""

    words: Stems | None
    pending: bool
    chunks: tuple[tuple[int, Chunk, bool], ...]  # its number, and whether it has a vector


class BufferedTransaction(ABC, Generic[AnySpace]):
    """Collects the rows of a change set until all changes are known, or until `flush` is called."""

    def __init__(self) -> None:
        self._spaces: dict[str, AnySpace] = {}
        self._embedder: EmbedderIdentity | None = None
        self._stored: dict[Key, Stored | None] = {}
        self._waiting: set[Key] = set()  # memories whose rows wait
        self._sizes: dict[tuple[str, int], tuple[int, int]] = {}  # of a space after an entry: its memories and stems
        self._counts: Counts = Counter()
        # By space, how many memories have got a stem, and how many have lost one.
        self._stems_got: dict[int, Counter[str]] = defaultdict(Counter)
        self._stems_lost: dict[int, Counter[str]] = defaultdict(Counter)

    # What each backend does its own way

    @abstractmethod
    def flush(self) -> None:
        """Writes the collected rows; needed before a statement that works on whole tables."""

    @abstractmethod
    def _add(self, statement: str, space: int, *values: Any) -> None:
        """Collects a row."""

    @abstractmethod
    def _load(self, name: str, ids: Sequence[str]) -> None:
        """Reads the memories that are not among `_stored` yet."""

    @abstractmethod
    def _content(self, space: AnySpace, number: int) -> Content:
        """What is derived from it; all that was loaded is read together, because one change seldom comes alone."""

    @abstractmethod
    def _vectors_of(self, space: AnySpace, content: int) -> list[Vectors]:
        """Of its chunks that have one, in their order."""

    @abstractmethod
    def _insert(self, space: AnySpace, memory: Memory, derived: Derived | None, seq: int | None) -> Stored: ...

    @abstractmethod
    def _insert_content(self, space: AnySpace, memory: Memory, derived: Derived | None) -> int:
        """Of a memory that had another one. Returns its number."""

    @abstractmethod
    def _put_chunks(self, space: AnySpace, content: int, derived: Derived | None) -> None: ...

    @abstractmethod
    def _version_row(self, stored: Stored) -> Sequence[Any]: ...

    @abstractmethod
    def _replace_version(self, space: AnySpace, old: Stored, new: Stored) -> None:
        """In place. The content of the old one may have no version any more."""

    @abstractmethod
    def _delete_removed(self, space: AnySpace, id: str, key: int) -> None:
        """Everything of a memory that is removed without an entry."""

    # What is there

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        self._load(space, ids)
        stored = (self._stored[space, id] for id in dict.fromkeys(ids))
        return [each.memory for each in stored if each is not None]

    def _space(self, name: str) -> AnySpace | None:
        return self._spaces.get(name)

    def _space_to_write(self, name: str) -> AnySpace:
        return self._spaces[name]

    def last_at(self, space: str) -> float:
        known = self._space(space)
        return 0.0 if known is None else known.last_at

    def last_seq(self, space: str) -> int:
        known = self._space(space)
        return 0 if known is None else known.seq

    def next_seq(self, space: str) -> int:
        known = self._space_to_write(space)
        known.seq += 1
        self._note_size(space, known.seq)
        return known.seq

    def _note_size(self, space: str, seq: int) -> None:
        self._sizes[space, seq] = (self._spaces[space].memories, self._spaces[space].stems)

    # A memory

    def put(self, memory: Memory, derived: Derived | None, seq: int | None) -> None:
        key = key_of(memory)
        old, space = self._old(key), self._space_to_write(memory.space)
        space.latest = max(space.latest, memory.created_at, memory.updated_at)
        new = self._insert(space, memory, derived, seq) if old is None else self._edit(space, memory, derived, old, seq)
        self._note_change(key, old, new, seq)

    def _old(self, key: Key) -> Stored | None:
        space, id = key
        if key in self._waiting:  # changed twice
            self.flush()
        if key not in self._stored:
            self._load(space, [id])
        return self._stored[key]

    def _note_change(self, key: Key, old: Stored | None, new: Stored | None, seq: int | None) -> None:  # noqa: ARG002
        self._stored[key] = new
        self._waiting.add(key)
        if seq is not None:
            self._note_size(key[0], seq)

    def _edit(self, space: AnySpace, memory: Memory, derived: Derived | None, old: Stored, seq: int | None) -> Stored:
        content, derived = self._edit_content(space, memory, derived, old)
        stems, length = old.stems, old.length
        if derived is not None:
            had, words = self._content(space, old.content), indexed(derived.words)
            self._count_terms(space, distinct_stems(*(had.words or ()), *stems), words.distinct)
            stems, length = words.names, words.length
            space.stems += length - old.length
        start = old.seq_from if seq is None else seq
        new = Stored(old.key, content, start, self._anchor(old, memory, content, start), stems, length, memory)
        self._write_version(space, old, new, seq)
        return new

    def _anchor(self, old: Stored, memory: Memory, content: int, start: int) -> int:  # noqa: ARG002
        return start

    def _write_version(self, space: AnySpace, old: Stored, new: Stored, seq: int | None) -> None:
        """Begins a version with the entry, or changes the present one in place."""
        memory, known, start, in_place = new.memory, old.memory, new.seq_from, seq is None
        uses = (memory.last_accessed, memory.access_count)
        if uses != (known.last_accessed, known.access_count):
            self._add(SET_USES, space.number, *uses, old.key)
        add_counts(self._counts, space.number, memory)
        add_counts(self._counts, space.number, known, -1)
        names = names_of(known, old.stems), names_of(memory, new.stems)
        self._put_names(space, old.key, *names, start, in_place=in_place)
        self._put_links(space, old.key, links_of(known), links_of(memory), start, in_place=in_place)
        if seq is not None:
            self._add(END_VERSION, space.number, seq, old.key, old.seq_from)
            self._add(INSERT_VERSION, space.number, *self._version_row(new))
        elif memory != replace(known, last_accessed=uses[0], access_count=uses[1]):
            self._replace_version(space, old, new)
        elif (new.stems, new.length) != (old.stems, old.length):
            self._add(SET_STEMS, space.number, packed_stems(new.stems), new.length, old.key, old.seq_from)

    def remove(self, space: str, id: str, seq: int | None) -> None:
        """Without `seq` it deletes the memory with all its versions."""
        old = self._old((space, id))
        if old is None:
            return
        known = self._space_to_write(space)
        known.memories -= 1
        known.stems -= old.length
        add_counts(self._counts, known.number, old.memory, -1)
        words = self._content(known, old.content).words or ()
        self._count_terms(known, distinct_stems(*words, *old.stems), frozenset())
        if seq is None:
            self._stored[space, id] = None
            self._delete_removed(known, id, old.key)
            return
        self._put_names(known, old.key, names_of(old.memory, old.stems), {}, seq)
        self._put_links(known, old.key, links_of(old.memory), {}, seq)
        self._add(REMOVE_MEMORY, known.number, old.key)
        self._add(END_VERSION, known.number, seq, old.key, old.seq_from)
        self._add(SET_PENDING, known.number, False, old.content)
        self._note_change((space, id), old, None, seq)

    def _count_terms(self, space: AnySpace, before: frozenset[str], after: frozenset[str]) -> None:
        self._stems_got[space.number].update(after - before)
        self._stems_lost[space.number].update(before - after)

    def _take_stem_counts(self) -> dict[int, Counter[str]]:
        """How many more memories have each stem now, by space; then it is counted anew. To subtract once takes less
        time than for each memory: counters add much faster."""
        counts, self._stems_got = self._stems_got, defaultdict(Counter)
        for space, lost in self._stems_lost.items():
            counts[space].subtract(lost)
        self._stems_lost.clear()
        return counts

    def _put_names(
        self, space: AnySpace, key: int, had: Names, has: Names, seq: int, *, in_place: bool = False
    ) -> None:
        """Names are valid from `seq` on. With `in_place`, rows that began with this version are deleted instead of
        ended."""
        for (field, name), times in had.items():
            if has.get((field, name)) != times:
                for statement in (END_LABEL, DELETE_LABEL) if in_place else (END_LABEL,):
                    self._add(statement, space.number, seq, field, name, key)
        for (field, name), times in has.items():
            if had.get((field, name)) != times:
                self._add(INSERT_LABEL, space.number, field, name, key, seq, times)

    def _put_links(
        self,
        space: AnySpace,
        key: int,
        had: Mapping[Target, Kept],
        has: Mapping[Target, Kept],
        seq: int,
        *,
        in_place: bool = False,
    ) -> None:
        for (target, rel), kept in had.items():
            if has.get((target, rel)) != kept:
                self._add(END_LINK, space.number, seq, target, rel, key)
            if in_place and (target, rel) not in has:
                self._add(DELETE_LINK, space.number, seq, target, rel, key)
        for (target, rel), kept in has.items():
            if had.get((target, rel)) != kept:
                self._add(INSERT_LINK, space.number, target, rel, key, seq, *kept, (target, rel) in had)

    # Its content

    def _edit_content(
        self, space: AnySpace, memory: Memory, derived: Derived | None, old: Stored
    ) -> tuple[int, Derived | None]:
        """Returns the content's number, and the derived data if it may have changed."""
        if same_content(old.memory, memory):
            if derived is not None:
                self._derive_again(space, old.content, derived)
            return old.content, derived
        if derived is None:
            derived = self._derived(space, old)
        self._add(SET_PENDING, space.number, False, old.content)
        return self._insert_content(space, memory, derived), derived

    def _derive_again(self, space: AnySpace, content: int, derived: Derived) -> None:
        """Words and vectors of a text that stays; those that stay too are not written again."""
        had, lines = self._content(space, content), content_lines(derived.words)
        if lines != had.words:
            self._replace_words(space, content, had.words or (), lines)
        embedded = derived.vectors is not None
        if [(chunk, embedded) for chunk in derived.chunks] != [(chunk, is_in) for _, chunk, is_in in had.chunks]:
            self._delete_chunks(space, had)
            self._put_chunks(space, content, derived)
        if had.pending == embedded:
            self._add(SET_PENDING, space.number, not embedded, content)

    def _replace_words(self, space: AnySpace, content: int, had: Stems, has: Stems) -> None:  # noqa: ARG002
        self._add(SET_WORDS, space.number, packed_stems(has), content)

    def _delete_chunks(self, space: AnySpace, content: Content) -> None:
        for number, _, _ in content.chunks:
            self._add(DELETE_CHUNK, space.number, number)

    def _derived(self, space: AnySpace, old: Stored) -> Derived | None:
        """What was derived from a text that changes while its words and vectors stay."""
        had = self._content(space, old.content)
        if had.words is None:
            return None
        import numpy as np

        stored = self._vectors_of(space, old.content)
        stacked = None if had.pending or len(stored) != len(had.chunks) else np.array(stored, np.float32)
        return Derived(Words(*had.words, *old.stems), tuple(chunk for _, chunk, _ in had.chunks), stacked)


def contents_of_rows(of_chunks: Iterable[Sequence[Any]], of_contents: Iterable[Sequence[Any]]) -> dict[int, Content]:
    """By number. The rows have the content, number, span, digest of a chunk and whether it has a vector; and the
    number, words and `pending` of a content."""
    chunks: dict[int, list[tuple[int, Chunk, bool]]] = defaultdict(list)
    for content, number, start, stop, digest, embedded in of_chunks:
        chunks[content].append((number, Chunk(start, stop, bytes(digest)), bool(embedded)))
    return {
        number: Content(None if words is None else unpacked_stems(words, 3), bool(pending), tuple(chunks[number]))
        for number, words, pending in of_contents
    }
