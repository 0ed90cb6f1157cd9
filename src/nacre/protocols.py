"""Every protocol of Nacre on one page. The suites in `tests/contract` check each implementation against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Order: TypeAlias = Literal["newest", "oldest", "importance", "confidence", "updated", "accessed"]
Tallied: TypeAlias = Literal["type", "status", "source", "tags", "contexts", "anti_contexts", "entities", "week"]
Listed: TypeAlias = Literal[
    "id", "type", "importance", "pinned", "updated_at", "last_accessed", "access_count", "last_validated_at"
]
Vectors: TypeAlias = "NDArray[np.float32]"
Keys: TypeAlias = "NDArray[np.int64]"
ALL = Filter()


class Clock(Protocol):
    def __call__(self) -> float:
        """UTC seconds since the epoch."""


class Progress(Protocol):
    def __call__(self, done: int, total: int, what: str) -> None:
        """`what` names the work in a few words a person can read; `done` never exceeds `total`."""


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


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """A vector space: an embedder's name, its dimensions, and what vector it gives to a fixed text, as 16-bit floats.

    What is not known is empty. The vector and not its digest, because a digest would differ with the last bit.
    """

    name: str = ""
    dimensions: int = 0
    probe: bytes = b""


@dataclass(frozen=True, slots=True)
class Words:
    """The stems of a memory, by field and separated by spaces, as `nacre.text` computes them, for word search."""

    title: str = ""
    text: str = ""
    role: str = ""
    tags: str = ""
    entities: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a memory's text that fits the embedder; `digest` is that of the exact text that was embedded."""

    start: int
    end: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Derived:
    """Data computed from a memory, which can be computed again. Without `vectors` the chunks wait for the model."""

    words: Words
    chunks: tuple[Chunk, ...] = ()
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True)
class Match:
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
    characters: int
    asks: bool
    at: float  # when it happened, if known, else when it was stored


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What `gather` looks for. Each channel (words, meaning) brings up to `pool` memories that `where` admits.

    `terms` are stems; one with spaces is a phrase. `windows` are spans of time (start, end): the nearest by meaning
    within each are candidates as well, and so are the turns within `reach` positions of the best ones. `visible` is
    what the asker may know of: it restricts the candidates like `where`, and every statistic counts only that.
    """

    terms: tuple[str, ...] = ()
    vector: Vectors | None = None
    where: Filter = ALL
    pool: int = 100
    reach: int = 0
    windows: tuple[tuple[float, float], ...] = ()
    visible: Filter = ALL


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Arrays run along `places`, which are by rising key, neighbours last; `terms` are the stems that occur.

    `cosines` are those of each memory's best chunk, 0 without a vector; `rarity` is the inverse document frequency of
    each term; `shares` has a row per term: the BM25 score of each place for it. Every statistic is of the space.
    """

    places: tuple[Place, ...]
    cosines: Vectors
    terms: tuple[str, ...]
    rarity: Vectors
    shares: Vectors


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories in the order asked for; `cursor` continues after the last of them, empty when that was all."""

    memories: list[Memory]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a backend; `problems` are sentences with a remedy, empty when all is well."""

    schema: int
    memories: int
    chunks: int
    vectors: int
    pending: int
    bytes_on_disk: int
    embedder: str
    problems: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()  # the problems that rebuilding the indexes does not repair
    notes: tuple[str, ...] = ()  # sentences about what passes by itself


class Transaction(Protocol):
    """Reads its own writes; nobody else sees them before the transaction ends."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        """As `Reader.get_many`."""

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        """Inserts or replaces the record; its derived data stays when `derived` is None.

        The state that it writes begins with the number that `append` gives to the memory's next entry in this
        transaction, and the state before it stays readable by `Backend.at`; of several states that are written before
        that entry, the last one counts. Without an entry the present state is changed in place, and so are its words
        and vectors. A link that stays keeps its count of walks.
        """

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def compress(self, space: str, ids: Sequence[str]) -> int:
        """Compresses long texts, where the backend can; they read as before. Returns how many."""

    def remove(self, space: str, id: str) -> bool:
        """Removes the record with its words, chunks, vectors and outgoing links from the present.

        Its earlier states stay readable if an entry of it follows in this transaction and it is not scrubbed.
        """

    def embedder(self) -> EmbedderIdentity:
        """As `Backend.embedder`."""

    def bind_embedder(self, identity: EmbedderIdentity) -> None:
        """Says of which vector space the store's vectors are; whether they can be is asked before, by the engine."""

    def change_embedder(self, identity: EmbedderIdentity) -> None:
        """Removes every vector and binds the store to another vector space; all memories become pending."""

    def rebuild_indexes(self) -> None:
        """Rebuilds the backend's own indexes, if it has any; no record changes."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Numbers the entries, whose own `seq` is ignored: each space counts its own from 1, without a gap, in the
        order of commits. The version of each memory that was changed and that an entry names increases by one; that of
        a new one is 1."""

    def last_at(self, space: str) -> float:
        """The time of the last entry that the space's journal ever had; 0.0 when there was none."""

    def scrub_journal(self, space: str, id: str) -> int:
        """Removes the memory's content from the journal and from its earlier states; operations and times stay.

        In the past a removed memory is absent then; one that exists reads as it is now, from when it first existed.
        """

    def forget_journal(self, space: str, upto: int) -> int:
        """Drops the space's entries up to this one with the states that ended by then; records where the journal
        begins now."""

    def rename_space(self, old: str, new: str) -> None:
        """Moves everything of `old` to `new`, which must be empty: records, derived data, journal, the terms of the
        space's kinds (`KIND/old`), and its own term of the kind `space`, in the journal too."""

    def forget_terms(self, space: str) -> None:
        """Removes the terms of the space's kinds (`KIND/space`) and its own term of the kind `space`."""

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None: ...

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        """Sets the data of a term of the vocabulary (`kind` is "type", "relation", …); None removes the term."""


class Reader(Protocol):
    """Every read, of one state of the store. A call with a space sees only the rows of that space.

    Each call reads one snapshot, and never waits for a writer.
    """

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

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name. "week" is the Monday
        (UTC) of the week in which they were created, as 2026-03-30."""

    def spaces(self) -> dict[str, int]:
        """Each space with the number of its memories."""

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
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        """Links that begin at one of `out_of`, end at one of `into` and have one of `rels`; None means any.

        Ordered by when the source was written, then by target and relation.
        """  # fmt: skip

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of each memory that has any: a row for each chunk, in order."""

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The terms of a kind in the vocabulary, each with its data; always those of the present."""

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        """A row that cannot be read is returned as an entry marked `damaged`, without before and after."""

    def seq_at(self, space: str, time: float) -> int:
        """The number of the last entry that the journal had at that time; 0 when there was none.

        The order of writing decides, so that a clock that runs backwards never splits an operation.
        """

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


class Backend(Reader, Protocol):
    """The present state of the store, and writing. Any number of threads and processes may use one store at once."""

    def at(self, space: str, seq: int) -> Reader:
        """The space as it was after its journal entry `seq`, at the cost of the same question today; 0 is before the
        first one. The journal ends there, too. Uses and counts of walks are those of the present.

        Statistics of words may be those of the present where counting those of the past would cost more; the reader
        may only be asked for this space. States before `journal_begins` are not kept.
        """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All or nothing. Transactions run one after the other."""

    def changes_since(self, space: str, seq: int) -> list[str]:
        """The ids of the memories that have a journal entry after this one, in the order of their last one."""

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """Records a use, without waiting for a writer. Not an operation: it is not journaled, may be recorded later,
        and is lost when the store is read-only."""

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        """Counts a walk along each link. Like `touch`, this is not an operation."""

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Vectors already stored for exactly these texts."""

    def pending(self, limit: int) -> list[Memory]:
        """Memories of any space whose vectors are not computed yet."""

    def embedder(self) -> EmbedderIdentity:
        """The vector space that the store is bound to; without a name where it is not."""

    @property
    def files(self) -> FileFeatures | None:
        """None where the store is not kept in a file."""

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
class Relation:
    """How a newer text relates to an older one: the probability of each answer; together 1."""

    duplicate: float
    contradiction: float
    update: float
    unrelated: float


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
