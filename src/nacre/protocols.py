"""Every protocol of Nacre on one page. The suites in `tests/contract` check each implementation against it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json, key_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Order: TypeAlias = Literal["newest", "oldest", "importance", "confidence", "updated", "accessed"]
Tallied: TypeAlias = Literal["type", "status", "source", "tags", "contexts", "anti_contexts", "entities", "week"]
Listed: TypeAlias = Literal[
    "id", "type", "title", "text", "importance", "pinned", "updated_at", "last_accessed", "access_count",
    "last_validated_at", "version",
]  # fmt: skip
AnyOf: TypeAlias = "Sequence[str] | None"  # one of these ids or names; None: any
Vectors: TypeAlias = "NDArray[np.float32]"
Keys: TypeAlias = "NDArray[np.int64]"
ALL = Filter()
TOKEN_KIND = "server token"  # the kind of terms about who may use a server; its `spaces` are names of spaces
UPKEEP = "upkeep"  # the kind of terms about work on the store: an import, a reindexing, a calibration

MIGRATION = (UPKEEP, "migration")  # the term of a store that is being copied from another one, which it names


class Clock(Protocol):
    def __call__(self) -> float:
        """UTC seconds since the epoch."""


class Progress(Protocol):
    def __call__(self, done: int, total: int, what: str) -> None:
        """`what` names the work in a few words a person can read; `done` never exceeds `total`."""


# Whether the caller of this thread's work no longer wants it; asked before the first write of the work.
is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("is_cancelled", default=None)
# The operations, by their batches, of the connection that this thread works for, where several connections share a name
# in the journal: only these are its last ones.
own_batches: ContextVar[set[str] | None] = ContextVar("own_batches", default=None)


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from several threads."""

    @property
    def identity(self) -> str:
        """Names the vector space: vectors of equal identities can be compared and mixed."""

    @property
    def dimensions(self) -> int: ...

    @property
    def token_limit(self) -> int:
        """How many tokens of a text are read, without the model's own markers."""

    @property
    def ready(self) -> bool:
        """True when `embed` answers at once, without loading or downloading anything."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """In the unit of `token_limit`; an estimate is allowed if it is not much too low."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of unit length for each text, in order. A row does not depend on its batch, up to rounding.

        An empty text gives a row too. Raises `EmbeddingError` when there is no vector.
        """


HALF_BYTES = 2  # of each number of a stored vector, which is a 16-bit float


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """A vector space: an embedder's name, its dimensions, and what vector it gives to a fixed text, as 16-bit floats.

    What is not known is empty. The vector and not its digest, because a digest would differ with the last bit.
    `measured` is what its cosines mean (`models/calibration.py`), where that was measured on the texts of a store; it
    says nothing about whether two are the same, and neither does `waiting`: whether memories of the store wait for
    their vectors.
    """

    name: str = ""
    dimensions: int = 0
    probe: bytes = b""
    measured: Data | None = field(default=None, compare=False)
    waiting: bool = field(default=False, compare=False)


class Words(NamedTuple):
    """The stems of a memory, by field and separated by spaces, as `nacre.text` computes them, for word search."""

    title: str = ""
    text: str = ""
    role: str = ""
    tags: str = ""
    entities: str = ""


class Chunk(NamedTuple):
    """A span of a memory's text that fits the embedder; `digest` is that of the exact text that was embedded."""

    start: int
    end: int
    digest: bytes


class Derived(NamedTuple):
    """Data computed from a memory, which can be computed again. Without `vectors` the chunks wait for the model."""

    words: Words
    chunks: tuple[Chunk, ...] = ()
    vectors: Vectors | None = None


class Match(NamedTuple):
    """A higher `score` is better, on the scale of the search; `span` is the best chunk, if there is one."""

    id: str
    score: float
    span: tuple[int, int] | None = None


class Place(NamedTuple):
    """What ranking needs of a memory before the record is read; `key` is the backend's number for it."""

    key: int
    id: str
    session: str
    position: int | None
    role: str
    length: int  # in stems, of all that is searched by words
    asks: bool
    at: float  # when it happened, if known, else when it was stored


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What `gather` looks for. Each channel (words, meaning) brings up to `pool` memories that `where` admits.

    `terms` are stems; one with spaces is a phrase. `windows` are spans of time (start, end): the nearest by meaning
    within each are candidates as well, and so are the turns within `reach` positions of the best ones. `visible` is
    what the asker may know of: it restricts the candidates like `where`, and every statistic counts only that. With
    `records` the memories are read at once, which is worth it for a small pool.

    A superseded memory that `replaced` admits counts for each of its successors that `where` admits, as far as the
    chain leads through what `replaced` admits. `linked_by` names relations: what a link of these connects with a
    candidate, in either direction, is a candidate as well, and `Candidates.links` has the link.
    """

    terms: tuple[str, ...] = ()
    vector: Vectors | None = None
    where: Filter = ALL
    pool: int = 100
    reach: int = 0
    windows: tuple[tuple[float, float], ...] = ()
    visible: Filter = ALL
    records: bool = False
    replaced: Filter | None = None
    linked_by: tuple[str, ...] = ()


class CandidateLink(NamedTuple):
    """A link between two candidates, by their ids."""

    source: str
    target: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Arrays run along `places`, which are by rising key, neighbours last; `terms` are the stems that occur.

    `cosines` are those of each memory's best chunk, 0 without a vector; `rarity` is the inverse document frequency of
    each term; `shares` has a row per term: the BM25 score of each place for it. Every statistic is of the space.
    `memories` are those of the places by their ids, where the search asked for `records`.

    Cosines and shares are the best of a place and of what counts for it; `replaced` names, by the id of the place, the
    superseded memories among these, the best match first.
    """

    places: tuple[Place, ...]
    cosines: Vectors
    terms: tuple[str, ...]
    rarity: Vectors
    shares: Vectors
    memories: Mapping[str, Memory] = field(default_factory=dict, kw_only=True)
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    links: tuple[CandidateLink, ...] = field(default=(), kw_only=True)


class Page(NamedTuple):
    """Some memories in the order asked for; `cursor` continues after the last of them, empty when that was all."""

    memories: list[Memory]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a backend; `problems` are sentences with a remedy, empty when all is well. Who sees only a part of
    the store gets None for `chunks` and `vectors`, and 0 for `bytes_on_disk`."""

    schema: int
    memories: int
    chunks: int | None
    vectors: int | None
    pending: int
    bytes_on_disk: int
    embedder: str
    problems: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()  # the problems that rebuilding the indexes does not repair
    notes: tuple[str, ...] = ()  # sentences about what passes by itself, or has to be corrected by hand


Key: TypeAlias = tuple[str, str]  # the space and id of a memory, or the kind and name of a term
Data: TypeAlias = Mapping[str, Json]  # of a term in the vocabulary


class Change(NamedTuple):
    """No `before`: the memory is new. No `after`: it is removed. Without `derived`, words and vectors stay.

    The memory must still be as in `before` when it is written. Uses that were counted in between are kept. Without a
    journal entry the present state is changed in place, and so are its words and vectors.
    """

    before: Memory | None
    after: Memory | None
    derived: Derived | None = None
    journaled: bool = True
    optional: bool = False  # left out where the writer may not change this memory

    @property
    def subject(self) -> Memory:
        return self.after or self.before  # type: ignore[return-value]


class TermChange(NamedTuple):
    """A term of the vocabulary; None where it does not exist. `space` is the one whose journal records it."""

    space: str
    kind: str
    name: str
    before: Data | None
    after: Data | None
    written: bool = True  # False: recorded in the journal only


class TermSet(NamedTuple):
    """The data of a term that no journal records; None removes the term."""

    kind: str
    name: str
    data: Data | None


class Scrubbed(NamedTuple):
    """Removes a memory's content from the journal and from its earlier states; operations and times stay. The links to
    it, which may quote it, lose their data in every state and in the journal.

    In the past a removed memory is absent then; one that exists reads as it is now, from when it first existed.
    """

    space: str
    id: str
    linked_from: Filter = ALL  # other memories keep the data of their links to it


class SpacePurged(NamedTuple):
    """Removes all that a space has by then: its memories, journal and terms. Their ids are recorded."""

    space: str


class SpaceRenamed(NamedTuple):
    """Moves everything of `old` to `new`, which must be empty: records, derived data, journal, the terms of the space's
    kinds (`KIND/old`), and its own term of the kind `space`, in the journal too. That term gets the old name as well.
    """

    old: str
    new: str


class JournalDropped(NamedTuple):
    """Drops the space's entries up to this one, with the states that ended by then; how many is recorded."""

    space: str
    upto: int


class Compressed(NamedTuple):
    """Compresses long texts, where the backend can; they read as before."""

    space: str
    ids: tuple[str, ...]


class EmbedderBound(NamedTuple):
    """Says of which vector space the vectors are; `anew` removes every vector, and all memories become pending."""

    identity: EmbedderIdentity
    anew: bool = False


@dataclass(frozen=True, slots=True)
class IndexesRebuilt:
    """Rebuilds the backend's own indexes, if it has any; no record changes."""


AnyChange: TypeAlias = (
    Change | TermChange | TermSet | Scrubbed | SpacePurged | SpaceRenamed | JournalDropped | Compressed | EmbedderBound
    | IndexesRebuilt
)  # fmt: skip


class ReadCall(NamedTuple):
    """A call of a `Reader`; equal calls have equal keys."""

    method: str
    key: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass(slots=True)
class Expected:
    """What was read to plan a change set, and must still be so when it is written.

    `answers` are by the key of each call. `known` is what an earlier attempt read, with what its conflict said:
    a plan is made on that, without reading it again.
    """

    memories: dict[Key, Memory | None] = field(default_factory=dict)
    terms: dict[Key, Data | None] = field(default_factory=dict)
    answers: dict[str, tuple[ReadCall, Any]] = field(default_factory=dict)
    embedder: EmbedderIdentity | None = None
    known: Expected | None = None

    def __len__(self) -> int:
        return len(self.memories) + len(self.terms) + len(self.answers) + (self.embedder is not None)

    @property
    def several(self) -> bool:
        """Whether its parts may have been read at different times."""
        return len(self) > 1 or self.embedder is not None


@dataclass(frozen=True, slots=True)
class Committed:
    """`entries` have their numbers and the operation's time; `versions` are those of the memories that were written;
    `dropped` counts the journal entries, or the texts that were compressed."""

    entries: tuple[JournalEntry, ...] = ()
    versions: Mapping[Key, int] = field(default_factory=dict)
    dropped: int = 0

    def with_versions(self, memories: Iterable[Memory]) -> list[Memory]:
        """As they were written; what was not written stays as it is."""
        return [replace(each, version=self.versions.get(key_of(each), each.version)) for each in memories]


class Outdated(NamedTuple):
    """Nothing was written: `actual` holds what is not as expected, as it is now."""

    actual: Expected


class Reader(Protocol):
    """Every read, of one state of the store. A call with a space sees only the rows of that space.

    Each call reads one snapshot, and never waits for a writer.
    """

    def get(self, space: str, id: str) -> Memory | None: ...

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        """In the order of `ids`, each once; unknown ids are left out."""

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]: ...

    def page(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int, cursor: str = "", offset: int = 0
    ) -> Page:
        """At most `limit` memories after the cursor, then `offset`. Among equals the later written come first, except
        in the order "oldest". A walk by cursors meets each memory once, also while others write.

        Raises `InvalidInput` for a negative limit or offset, and for a cursor that is damaged or of another order.
        """

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        """Oldest first, page by page; records written in the meantime may or may not appear."""

    def values(self, space: str, where: Filter, fields: Sequence[Listed]) -> Iterator[tuple[Any, ...]]:
        """As `iterate`, but only these fields of each memory: for a look at very many."""

    def count(self, space: str, where: Filter) -> int: ...

    def size(self, space: str, where: Filter) -> int:
        """The bytes of what these memories say (`model.memory.size`)."""

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name. "week" is the Monday
        (UTC) of the week in which they were created, as 2026-03-30."""

    def spaces(self) -> dict[str, int]:
        """Each space that has memories, with their number."""

    def gather(self, space: str, search: Search) -> Candidates:
        """All that ranking needs, in one call. A narrow filter does not cost candidates: each channel brings at least
        half of its pool, or everything that is admitted. Common stems may get an average weight, and the most common
        may be left out, where reading them costs more than they contribute."""

    def by_words(
        self, space: str, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL
    ) -> list[Match]:
        """BM25 over the whole space for any of the stems, best first; a term with spaces is a phrase."""

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        """Cosine of each memory's best chunk over the whole space, best first."""

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
        """Links that begin at one of `out_of`, end at one of `into`, have one of `rels` and are of this kind; None is
        any.

        Ordered by when the source was written, then by target and relation; the first `limit` of them.
        """  # fmt: skip

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of each memory that has any: a row for each chunk, in order."""

    def term(self, kind: str, name: str) -> Data | None: ...

    def terms(self, kind: str) -> dict[str, Data]:
        """Those of a kind ("type", "relation", …), each with its data; always those of the present."""

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        """A row that cannot be read is returned as an entry marked `damaged`, without before and after."""

    def seq_at(self, space: str, time: float) -> int:
        """The number of the last entry that the journal had at that time; 0 when there was none.

        The order of writing decides, so that a clock that runs backwards never splits an operation.
        """

    def written_since(self, space: str, seq: int, texts: Collection[str]) -> list[Memory]:
        """The memories that have a journal entry after this one and one of these texts (as `same_words` gives it).

        Where a plan asks (`Backend.observed`), the first attempt assumes that it is empty.
        """

    def last_positions(self, space: str, seq: int, sessions: Sequence[str], where: Filter = ALL) -> dict[str, int]:
        """The highest position in each of these sessions that has one, among the memories that the filter admits.

        `seq` is the last journal entry that there was when the plan began: where a plan asks (`Backend.observed`), the
        commit asks again only if there is a later one.
        """

    def operations_since(self, space: str, id: str, seq: int) -> list[Operation]:
        """Those that have a journal entry of this memory from this number on, newest first."""

    def border(self, space: str, upto: int) -> int:
        """The last entry up to this one between which and the next one no operation goes on."""

    def journal_begins(self, space: str) -> tuple[int, float]:
        """The last entry that was dropped, and its time; (0, 0.0) when the journal is complete."""

    def health(self, *, thorough: bool = False) -> Health: ...


class FileFeatures(Protocol):
    """What only a store in a file can do."""

    def copy_to(self, path: Path) -> None:
        """A consistent, verified copy of the store, also while others write.

        Raises `InvalidInput` when the path exists, and `StorageError` when no copy can be made.
        """

    def check_records(self) -> None:
        """Raises `StoreDamaged` when an index disagrees with its table, so that some memories would be missed."""


# Moving a whole store to another backend


# Rows are carried as the tables have them: to make records of them and rows again would take most of the time.


class ContentRow(NamedTuple):
    """What is derived from the texts of a version. `words` are the stems of title, text and role, a line each; None:
    nothing was derived. `chunks` have a start, an end and a digest each, and `vectors` their 16-bit floats; None: they
    wait for the model."""

    words: str | None = None
    chunks: tuple[tuple[int, int, bytes], ...] = ()
    vectors: tuple[bytes, ...] | None = None


class VersionRow(NamedTuple):
    """A written state of a memory, from its journal entry `seq_from` until `seq_to`; None: it still is.

    `record` has the columns `RECORD` of `storage.tables`, with the uses of the present; `uses` are those when it was
    written (last access and count). `lists` are the names, links and metadata of the record. `stems` are those of tags
    and entities, a line each, and `walks` those of its links, by target and relation. Single blanks separate stems.
    """

    record: tuple[Any, ...]
    lists: Mapping[str, Any]
    content: ContentRow
    stems: str
    seq_from: int
    seq_to: int | None
    uses: tuple[float, int]
    walks: Mapping[tuple[str, str], int]


class MemoryRow(NamedTuple):
    """A memory with all its versions, oldest first. An id that was removed and written anew is another memory.

    `number` is the backend's own; they rise in the order of first writing. A row with 0 gets the next one.
    """

    number: int
    versions: tuple[VersionRow, ...]


class EntryRow(NamedTuple):
    """A journal entry, and what the space held after it: memories, their stems, and the latest time of creation or
    change. `before` and `after` are its images in JSON, in which null stands for the name of its own space. `linked`:
    whether it ended and began a version, from which its images are made; None: it has its own."""

    seq: int
    memory_id: str
    kind: str
    operation: str
    actor: str
    at: float
    batch: str
    why: str
    before: str | None
    after: str | None
    latest: float
    memories: int
    stems: int
    linked: tuple[bool, bool] | None = None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """`seq` and `last_at` are of the last journal entry there ever was, `dropped` of the last that was dropped: its
    number, its time, and how many memories and stems there were after it. `rows` is how many memories and entries
    there are to read, for who watches."""

    name: str
    seq: int = 0
    last_at: float = 0.0
    dropped: tuple[int, float, int, int] = (0, 0.0, 0, 0)
    rows: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class RowBatch:
    """Rows to write into a space, which gets the values of its row. `removed` memories are as this store gave them; one
    of `memories` with the number of a removed one takes its place. `dropped` are the numbers of entries that go; one of
    `entries` with such a number takes its place."""

    space: SpaceRow
    removed: Sequence[MemoryRow] = ()
    memories: Sequence[MemoryRow] = ()
    dropped: Sequence[int] = ()
    entries: Sequence[EntryRow] = ()


class RowReader(Protocol):
    """Everything that a store holds, as it was recorded. Rows are read some hundred at a time."""

    def spaces(self) -> list[SpaceRow]:
        """By name: those that have memories or ever had a journal entry."""

    def memories(self, space: str) -> Iterator[MemoryRow]:
        """By rising number, also those that were removed and are still part of an earlier state."""

    def entries(self, space: str, *, images: bool = True) -> Iterator[EntryRow]:
        """By rising number. Without `images` those that are linked come without a before and an after."""

    def terms(self) -> Iterator[TermSet]:
        """By kind and name, in the order of their code points."""


class RowTransfer(RowReader, Protocol):
    """The rows of the present, and writing rows of another store. A walk may go on while rows are written behind it.

    `keeps_images`: whether it stores the images of every entry; else it makes those of linked ones from the versions.
    """

    keeps_images: bool

    def snapshot(self) -> AbstractContextManager[RowReader]:
        """The rows of one state of the store, while others go on writing."""

    def write_rows(self, batch: RowBatch) -> None:
        """In one transaction. Indexes, counts and statistics follow; memories come before the entries about them."""

    def drop_space(self, name: str) -> None:
        """Removes everything of a space but its terms, as if it had never been."""


class Backend(Reader, Protocol):
    """The present state of the store, and writing. Any number of threads and processes may use one store at once."""

    def at(self, space: str, seq: int) -> Reader:
        """The space as it was after its journal entry `seq`, at the cost of the same question today; 0 is before the
        first one. The journal ends there, too. Uses and counts of walks are those of the present.

        Words are weighed by the statistics of that state. On how many memories a common word was may be estimated from
        the present, where counting would cost more; a memory that was purged since still counts. The reader may only be
        asked for this space. States before `journal_begins` are not kept.
        """

    def observed(self, expected: Expected) -> Reader:
        """A reader for a plan, which adds every answer to what is expected. A question that was asked gets the same
        answer again. What cannot be compared (a search, the health) cannot be asked.

        The first attempt assumes that `written_since` is empty, without asking; the commit asks, and the plan is made
        again if it is not.
        """

    def commit(
        self,
        changes: Sequence[AnyChange],
        expected: Expected | None = None,
        operation: Operation | None = None,
        clock: Clock = time.time,
    ) -> Committed | Outdated:
        """Writes all of them in one transaction, or nothing where something is not as expected. Commits run one after
        the other. Errors write nothing either.

        With an operation, the journal records them. Each space numbers its entries from 1, without a gap, in the order
        of commits. The operation's time is taken inside the transaction, and is never below that of an earlier entry.
        The version of a changed memory increases by one with its entry; that of a new one is 1. The state that a change
        writes begins with its entry, and the one before stays readable by `at`. A link that stays keeps its walks.
        """

    def changes_since(self, space: str, seq: int) -> list[str]:
        """The ids of the memories that have a journal entry after this one, in the order of their last one."""

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """Records a use, without waiting for a writer. Not an operation: it is not journaled, may be recorded later,
        and is lost when the store is read-only."""

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        """Counts a walk along each link. Like `touch`, this is not an operation."""

    def vectors_for(self, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
        """Vectors already stored for exactly these texts, and the vector space that they belong to."""

    def pending(self, limit: int) -> list[Memory]:
        """Memories of any space whose vectors are not computed yet."""

    def embedder(self) -> EmbedderIdentity:
        """The vector space that the store is bound to; without a name where it is not."""

    @property
    def files(self) -> FileFeatures | None:
        """None where the store is not kept in a file."""

    @property
    def rows(self) -> RowTransfer | None:
        """None where the store cannot be moved row by row."""

    def close(self) -> None: ...


class JournalSink(Protocol):
    """Receives the entries of every committed operation. Never raises: a full disk elsewhere must not fail it."""

    def __call__(self, entries: Sequence[JournalEntry]) -> None: ...

    def scrub(self, space: str, ids: Sequence[str] | None) -> None:
        """Removes the content of the memories from its own files; with None, everything that is the space's own."""


class LanguageModel(Protocol):
    """Completes prompts. Safe to call from several threads."""

    @property
    def identity(self) -> str:
        """Names the model and who serves it, for messages and the journal."""

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        """Never empty, and without surrounding white space; `max_tokens` is a hint where the model has no limit.

        Raises `LanguageModelError` when there is no answer.
        """


class Reranker(Protocol):
    """Reads a query and a text together, which ranks better than vectors. Safe to call from several threads."""

    @property
    def identity(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score in 0..1 for each text, in order; higher is better. Without texts nothing is loaded.

        Raises `RerankingError` when there are no scores.
        """


@dataclass(frozen=True, slots=True)
class Answer:
    """What reading a question with one memory gives: a share of the best score, which is added to that of the memory,
    and the log odds that it answers, by the reading alone."""

    gain: float
    log_odds: float


class AnswerModel(Protocol):
    """Reads a question with each of the best memories. Safe to call from several threads."""

    @property
    def identity(self) -> str: ...

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
        """Of the first pairs of a question and a text, as many as there is time for; none where the model is not there
        (yet)."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a newer text relates to an older one: the probability of each of four answers, together 1. `version` is the
    probability that both state the same fact at different times, also where the texts alone do not conflict; None from
    a model that does not estimate it."""

    duplicate: float
    contradiction: float
    update: float
    unrelated: float
    version: float | None = None

    @property
    def conflict(self) -> float:
        """The probability that the two may not both be true."""
        return self.contradiction + self.update


class ConflictModel(Protocol):
    """Reads two memories together and says how the newer relates to the older. Safe to call from several threads."""

    @property
    def identity(self) -> str: ...

    @property
    def noted(self) -> float:
        """The probability of a contradiction or an update from which a conflict is worth a look."""

    @property
    def sure(self) -> float:
        """... and from which it is sure enough that something may be overwritten for its sake."""

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        """One for each pair of an older and a newer text, in order; it depends on these two texts alone.

        Raises `ConflictModelError` when the model cannot be run.
        """
