"""Every seam of Nacre on one page: what a backend promises, stated once.

Backends live below this page's users and above `model`; none of them repeats these promises, and the contract
suites in `tests/contract` hold each backend to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Order: TypeAlias = Literal["newest", "oldest", "importance", "confidence", "updated", "accessed"]
Tallied: TypeAlias = Literal["type", "status", "source", "tags", "contexts", "anti_contexts", "entities"]
Vectors: TypeAlias = "NDArray[np.float32]"
Keys: TypeAlias = "NDArray[np.int64]"


class Clock(Protocol):
    def __call__(self) -> float:
        """UTC seconds since the epoch."""


class Progress(Protocol):
    def __call__(self, done: int, total: int, what: str) -> None:
        """`what` names the work in a few words a person can read; `done` never exceeds `total`."""


class Embedder(Protocol):
    """Turns texts into directions. Safe to call from several threads."""

    @property
    def identity(self) -> str:
        """Names the vector space, not the file or the graph: equal identities may be compared and mixed."""

    @property
    def dimensions(self) -> int: ...

    @property
    def token_limit(self) -> int:
        """How many tokens of a text are read, the model's own markers not counted."""

    @property
    def ready(self) -> bool:
        """True when `embed` would answer at once, without loading or obtaining anything."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """In the unit of `token_limit`; an estimate is allowed if it never falls below the truth by much."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of unit length a text, in order. The same text gives the same row whatever its batch, up to rounding.

        An empty text gives some row too. Raises `EmbeddingError` when no vector can be had.
        """


@dataclass(frozen=True, slots=True)
class Words:
    """The stems of a memory, field by field and parted by spaces, as `text` made them: what a word search sees."""

    title: str = ""
    text: str = ""
    role: str = ""
    tags: str = ""
    entities: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a memory's text that fits the embedder; `digest` names the exact words that were embedded."""

    start: int
    end: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Derived:
    """What is computed from a memory and can be computed again. Without `vectors` its chunks wait for the model."""

    words: Words
    chunks: tuple[Chunk, ...] = ()
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """`score` is higher for better, on the channel's own scale; `span` is the chunk that decided, if one did."""

    id: str
    score: float
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a stem stands. `weights` are BM25's for it in each memory, before its rarity is counted in."""

    keys: Keys
    weights: Vectors


class Place(NamedTuple):
    """What a ranking must know of a memory before the record is read; `key` is the backend's own number for it."""

    key: int
    id: str
    session: str
    position: int | None
    role: str
    characters: int
    asks: bool
    at: float  # when it happened, as far as is known


@dataclass(frozen=True, slots=True)
class Health:
    """What a backend can tell about itself; `problems` are sentences with their remedy, empty when all is well."""

    schema: int
    memories: int
    chunks: int
    vectors: int
    pending: int
    bytes_on_disk: int
    embedder: str
    problems: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()  # those of the problems that computing the indexes again does not mend


class Transaction(Protocol):
    """Reads its own writes; nobody else sees any of them before the transaction ends."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        """Inserts or replaces the record; what is derived from it stays as it was when `derived` is None.

        A link that stays keeps the count of its walks.
        """

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def compress(self, space: str, ids: Sequence[str]) -> int:
        """Keeps long texts in less space, as far as the backend can; they read as before. Returns how many."""

    def remove(self, space: str, id: str) -> bool:
        """Takes the record with its words, chunks, vectors and outgoing links."""

    def claim_embedder(self, identity: str, dimensions: int) -> None:
        """Binds the store to a vector space on first use; raises `EmbeddingMismatch` when it is another one."""

    def change_embedder(self, identity: str, dimensions: int) -> None:
        """Forgets every vector and binds the store to another vector space; all memories become pending."""

    def rebuild_indexes(self) -> None:
        """Makes the backend's own indexes of the records anew, where it has such; no record changes."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Numbers the entries itself: their `seq` is ignored."""

    def scrub_journal(self, space: str, id: str) -> int:
        """Removes what the journal tells of the memory's content, keeping that something was done and when."""

    def forget_journal(self, space: str, upto: int) -> int:
        """Drops the space's entries up to this one, and remembers that nothing before it can be told any more."""

    def rename_space(self, old: str, new: str) -> None:
        """Everything that is `old`'s is `new`'s from now on: records, what is derived from them, the journal, the words
        of its own kinds (`KIND/old`) and its own word of the kind `space`. Nothing may be remembered in `new`."""

    def forget_terms(self, space: str) -> None:
        """Takes the words of the space's own kinds (`KIND/space`) and its own word of the kind `space`."""

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None: ...

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        """Sets what the store's own vocabulary tells of a name (`kind` is "type", "relation", …); None removes it."""


class Backend(Protocol):
    """Keeps records and finds them. Every call is narrowed to one space; another space's rows do not exist for it.

    Any number of threads and processes may use one store at once.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All or nothing, and one after the other: it begins when every earlier writer has ended."""

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        """In the order asked for, each once; unknown ids are left out."""

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]: ...

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]: ...

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        """Oldest first and in bounded memory; what is written meanwhile may or may not appear."""

    def count(self, space: str, where: Filter) -> int: ...

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name."""

    def spaces(self) -> dict[str, int]:
        """Each space with the number of its memories."""

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        """BM25 over the whole space for any of the stems, best first; a term with spaces is a phrase."""

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        """Cosine of each memory's best chunk over the whole space, best first."""

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        """Of the stems that occur, in the memories of every space; keys rise. Common stems may be given a usual weight,
        and the most common left out, when reading them would cost more than they tell."""

    def size(self) -> int:
        """How many memories there are in all spaces."""

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        """Keys and cosines of the nearest memories, best first, whatever their standing; `only` (rising) narrows."""

    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        """Of each memory's best chunk, in order; 0 where there is no vector."""

    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        """Of those of the memories that the filter admits, by rising key."""

    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        """The admitted memories within `reach` positions of each (session, position), by rising key, each once."""

    def allowed(self, space: str, where: Filter) -> Keys:
        """The keys of all memories that the filter admits, rising."""

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """Notes a use. Not an act: it is never journaled, and may be lost when the store is busy or read-only."""

    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        """Ties that begin at one of `out_of`, end at one of `into` and are one of `rels`; None leaves a part free.

        They come in the order of their sources' writing, then target, then relation.
        """  # fmt: skip

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        """Counts that each tie led somewhere. No act, as `touch` is none."""

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Vectors already kept for exactly these words."""

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of each memory that has some, a row for each chunk in order."""

    def pending(self, limit: int) -> list[Memory]:
        """Memories, of any space, whose vectors are still to be computed."""

    def embedder(self) -> str:
        """The identity that the store is bound to, or an empty string."""

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        """A row that cannot be read comes as an entry marked `damaged`, without before and after."""

    def written_by(self, space: str, at: float) -> int:
        """The number of the last entry that the journal had at that time; 0 when there was none.

        Order of writing decides, so that a clock that ran backwards never parts an act.
        """

    def journal_begins(self, space: str) -> tuple[int, float]:
        """The last entry that was dropped, and its time; (0, 0.0) when the journal is whole."""

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The names of a kind that the store's own vocabulary holds, and what it tells of each."""

    def health(self, *, thorough: bool = False) -> Health: ...

    def check_records(self) -> None:
        """Raises `StoreDamaged` when a walk over the memories would miss some: an index disagrees with its table."""

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole store, while others write: to a temporary name, verified, then renamed.

        Raises `InvalidInput` when something is there already, and `StorageError` when there can be no copy.
        """

    def close(self) -> None: ...


class JournalSink(Protocol):
    """Is told every act once it is committed. Never raises: a full disk elsewhere must not fail an act."""

    def __call__(self, entries: Sequence[JournalEntry]) -> None: ...

    def scrub(self, space: str, ids: Sequence[str]) -> None:
        """Removes what its own files tell of the memories' content."""


class LanguageModel(Protocol):
    """Writes what it is asked for. Safe to call from several threads."""

    @property
    def identity(self) -> str:
        """Names the model and who serves it, for messages and the journal."""

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        """Never empty, and without white space around it; `max_tokens` is a wish where the model cannot be held to it.

        Raises `LanguageModelError` when no answer can be had.
        """


class Reranker(Protocol):
    """Reads a question and a text together, which ranks better than any two directions. Safe to call from threads."""

    @property
    def identity(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score in 0..1 a text, higher for better, in order; for no texts nothing is loaded or asked.

        Raises `RerankingError` when no scores can be had.
        """
