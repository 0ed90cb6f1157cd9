"""Every seam of Nacre on one page: what a backend promises, stated once.

Backends live below this page's users and above `model`; none of them repeats these promises, and the contract
suites in `tests/contract` hold each backend to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from nacre.model import Filter, JournalEntry, Memory

if TYPE_CHECKING:  # numpy costs a command 80 ms; a seam only names its type
    import numpy as np
    from numpy.typing import NDArray

Order: TypeAlias = Literal["newest", "oldest", "importance", "updated", "accessed"]
Vectors: TypeAlias = "NDArray[np.float32]"


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


class Transaction(Protocol):
    """Reads its own writes; nobody else sees any of them before the transaction ends."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        """Inserts or replaces the record; what is derived from it stays as it was when `derived` is None."""

    def remove(self, space: str, id: str) -> bool:
        """Takes the record with its words, chunks, vectors and outgoing links."""

    def claim_embedder(self, identity: str, dimensions: int) -> None:
        """Binds the store to a vector space on first use; raises `EmbeddingMismatch` when it is another one."""

    def change_embedder(self, identity: str, dimensions: int) -> None:
        """Forgets every vector and binds the store to another vector space; all memories become pending."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Numbers the entries itself: their `seq` is ignored."""

    def scrub_journal(self, space: str, id: str) -> int:
        """Removes what the journal tells of the memory's content, keeping that something was done and when."""

    def add_word(self, kind: str, name: str) -> None:
        """Adds a name to the store's own vocabulary (`kind` is "type", …); a known one stays as it is."""


class Store(Protocol):
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

    def tally(self, space: str, field: Literal["type", "status", "tags"], where: Filter) -> dict[str, int]: ...

    def spaces(self) -> dict[str, int]:
        """Each space with the number of its memories."""

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        """BM25 over the whole space for any of the stems, best first; a term with spaces is a phrase."""

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        """Cosine of each memory's best chunk over the whole space, best first."""

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """Notes a use. Not an act: it is never journaled, and may be lost when the store is busy or read-only."""

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Vectors already kept for exactly these words."""

    def identical(self, space: str, digest: bytes, limit: int) -> list[str]:
        """Ids of memories that hold a chunk of exactly these words."""

    def pending(self, limit: int) -> list[Memory]:
        """Memories, of any space, whose vectors are still to be computed."""

    def embedder(self) -> str:
        """The identity that the store is bound to, or an empty string."""

    def journal(
        self, space: str, *, memory_id: str | None = None, batch: str | None = None, newest_first: bool = True,
        limit: int | None = None,
    ) -> list[JournalEntry]: ...  # fmt: skip

    def words(self, kind: str) -> list[str]: ...

    def health(self, *, thorough: bool = False) -> Health: ...

    def close(self) -> None: ...
