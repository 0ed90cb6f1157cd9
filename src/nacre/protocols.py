"""Every protocol of Nacre on one page. The suites in `tests/contract` check each implementation against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from nacre.errors import EmbeddingMismatch
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


SAME_VECTORS = 0.95  # cosine of one text's vectors: the default model keeps 0.99 when its weights are rounded to 8 bits


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """A vector space: an embedder's name, its dimensions, and what vector it gives to a fixed text, as 16-bit floats.

    What is not known is empty. The vector and not its digest, because a digest would differ with the last bit.
    """

    name: str = ""
    dimensions: int = 0
    probe: bytes = b""

    def check(self, other: EmbedderIdentity) -> None:
        """Raises `EmbeddingMismatch` unless both can be the same; what one of them does not know is not compared."""
        if not self.name:
            return
        if self.name != other.name:
            raise EmbeddingMismatch(self.name, other.name)
        if self.dimensions and other.dimensions and self.dimensions != other.dimensions:
            difference = f", and has {other.dimensions} dimensions instead of {self.dimensions}"
            raise EmbeddingMismatch(self.name, other.name, difference)
        if self.probe and other.probe and self.probe != other.probe and not same_direction(self.probe, other.probe):
            raise EmbeddingMismatch(self.name, other.name, ", and gives other vectors to the same text")


def same_direction(one: bytes, other: bytes) -> bool:
    import numpy as np

    first, second = (np.frombuffer(each, "<f2").astype(np.float32) for each in (one, other))
    cosine = first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-9)
    return bool(cosine >= SAME_VECTORS)


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


@dataclass(frozen=True, slots=True)
class Posting:
    """The memories that contain a stem. `weights` are its BM25 weights, without its rarity."""

    keys: Keys
    weights: Vectors


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


class Transaction(Protocol):
    """Reads its own writes; nobody else sees them before the transaction ends."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        """Inserts or replaces the record; its derived data stays when `derived` is None.

        A link that stays keeps its count of walks.
        """

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def compress(self, space: str, ids: Sequence[str]) -> int:
        """Compresses long texts, where the backend can; they read as before. Returns how many."""

    def remove(self, space: str, id: str) -> bool:
        """Removes the record with its words, chunks, vectors and outgoing links."""

    def claim_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        """Binds the store to a vector space on first use, see `EmbedderIdentity`; an unknown `probe` may follow later.

        Raises `EmbeddingMismatch` for another one.
        """

    def change_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        """Removes every vector and binds the store to another vector space; all memories become pending."""

    def rebuild_indexes(self) -> None:
        """Rebuilds the backend's own indexes, if it has any; no record changes."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Assigns the numbers of the entries: their `seq` is ignored."""

    def last_at(self, space: str) -> float:
        """The time of the last entry in the space's journal, also of a dropped one; 0.0 when there never was one."""

    def scrub_journal(self, space: str, id: str) -> int:
        """Removes the memory's content from the journal and keeps the operations and their times."""

    def forget_journal(self, space: str, upto: int) -> int:
        """Drops the space's entries up to this one, and records where the journal begins now."""

    def rename_space(self, old: str, new: str) -> None:
        """Moves everything of `old` to `new`, which must be empty: records, derived data, journal, the terms of the
        space's kinds (`KIND/old`) and its own term of the kind `space`."""

    def forget_terms(self, space: str) -> None:
        """Removes the terms of the space's kinds (`KIND/space`) and its own term of the kind `space`."""

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None: ...

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        """Sets the data of a term of the vocabulary (`kind` is "type", "relation", …); None removes the term."""


class Backend(Protocol):
    """Stores and finds records. A call with a space sees only the rows of that space.

    Any number of threads and processes may use one store at once.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All or nothing. Transactions run one after the other."""

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        """In the order of `ids`, each once; unknown ids are left out."""

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]: ...

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]: ...

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        """Oldest first and in bounded memory; records written in the meantime may or may not appear."""

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
        """For the stems that occur, over all spaces, by rising key. Common stems may get an average weight, and the
        most common may be left out, where reading them costs more than they contribute."""

    def size(self) -> int:
        """How many memories there are in all spaces."""

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        """Keys and cosines of the nearest memories of any status, best first; `only` (rising) restricts the search."""

    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        """Of each memory's best chunk, in order; 0 where there is no vector."""

    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        """Of the memories that the filter admits, by rising key."""

    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        """The admitted memories within `reach` positions of each (session, position), by rising key, each once."""

    def allowed(self, space: str, where: Filter) -> Keys:
        """The keys of all memories that the filter admits, rising."""

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """Records a use. Not an operation: it is not journaled, and is lost when the store is busy or read-only."""

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

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        """Counts a walk along each link. Like `touch`, this is not an operation."""

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        """The memories that this one superseded, oldest first."""

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Vectors already stored for exactly these texts."""

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of each memory that has any: a row for each chunk, in order."""

    def pending(self, limit: int) -> list[Memory]:
        """Memories of any space whose vectors are not computed yet."""

    def embedder(self) -> EmbedderIdentity:
        """The vector space that the store is bound to; without a name where it is not."""

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        """A row that cannot be read is returned as an entry marked `damaged`, without before and after."""

    def written_by(self, space: str, at: float) -> int:
        """The number of the last entry that the journal had at that time; 0 when there was none.

        The order of writing decides, so that a clock that runs backwards never splits an operation.
        """

    def journal_begins(self, space: str) -> tuple[int, float]:
        """The last entry that was dropped, and its time; (0, 0.0) when the journal is complete."""

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The terms of a kind in the vocabulary, each with its data."""

    def health(self, *, thorough: bool = False) -> Health: ...

    def check_records(self) -> None:
        """Raises `StoreDamaged` when an index disagrees with its table, so that some memories would be missed."""

    def copy_to(self, path: Path) -> None:
        """A consistent, verified copy of the store, also while others write.

        Raises `InvalidInput` when the path exists, and `StorageError` when no copy can be made.
        """

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
