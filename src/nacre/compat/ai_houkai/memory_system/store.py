"""AI-Houkai's values, its rules for conflicts, and its MemoryStore, over one space of a Nacre store."""

from __future__ import annotations

import operator
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from nacre.compat.ai_houkai.memory_system.journal import Journal, JournalEntry
from nacre.compat.existing_data import warn_of_chroma
from nacre.engine.engine import retry_while_changed
from nacre.engine.removal import purge
from nacre.engine.supersede import PURGED
from nacre.errors import ArchiveRefused, ImportConflict, MemoryNotFound, SupersedeCycle, UnknownName
from nacre.files import private_folder
from nacre.lifecycle.clustering import mean_direction
from nacre.memory_store import MemoryStore as NativeStore
from nacre.model import Direction, ExpandSpec, Filter, Hit, HybridWeights, Recollection
from nacre.model import Link as NativeLink
from nacre.model import Memory as NativeMemory
from nacre.model.memory import Json, clamp, without_none
from nacre.protocols import Embedder
from nacre.recall.pack import HEADER, estimated_tokens, pack
from nacre.settings import IN_MEMORY, Settings
from nacre.transfer import ahkai
from nacre.transfer.archive import AHKAI, ExportSummary
from nacre.transfer.export import Choice, export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import Archive

MemoryType: TypeAlias = Literal["episodic", "semantic", "procedural", "feedback"]
ConflictFn: TypeAlias = "Callable[[Memory, Memory], bool]"


@dataclass
class Link:
    to: str
    rel: str = "related"


@dataclass
class Memory:
    id: str
    text: str
    type: str = "semantic"
    tags: list[str] = field(default_factory=list)
    importance: float = 0.5
    created_at: float = field(default_factory=time.time)
    last_accessed: float = field(default_factory=time.time)
    access_count: int = 0
    source: str | None = None
    links: list[Link] = field(default_factory=list)
    superseded_by: str = ""
    superseded_at: float = 0.0
    polarity: int = 0

    @classmethod
    def from_record(cls, id: str, text: str, meta: Mapping[str, object]) -> Memory:
        """Missing metadata get the defaults of a new memory; unreadable links are dropped."""
        return cls.from_dict(ahkai.fields({"id": id, "text": text, "meta": dict(meta)}))

    def to_metadata(self) -> dict[str, Json]:
        """Plain values only: tags joined by commas, links as JSON."""
        meta = ahkai.row(self.native(""))["meta"]
        return meta if isinstance(meta, dict) else {}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Memory:
        known = {name: values[name] for name in NAMES if values.get(name) is not None}
        listed = (each for each in known.get("links", ()) if "to" in each)
        links = [Link(str(each["to"]), str(each.get("rel", "related"))) for each in listed]
        known |= {"tags": list(known.get("tags", ())), "links": links, "source": known.get("source") or None}
        return cls(**known)

    @classmethod
    def of(cls, memory: NativeMemory) -> Memory:
        values = {name: getattr(memory, name) for name in NAMES}
        return cls.from_dict({**values, "links": [{"to": link.to, "rel": link.rel} for link in memory.links]})

    def native(self, space: str) -> NativeMemory:
        values: dict[str, Any] = {name: getattr(self, name) for name in NAMES}
        values |= {"tags": tuple(self.tags), "links": tuple(NativeLink(link.to, link.rel) for link in self.links)}
        values |= {"source": self.source or "", "superseded_at": self.superseded_at or None}
        return NativeMemory(**values, space=space, updated_at=self.created_at)


NAMES = tuple(each.name for each in fields(Memory))


@dataclass
class Graph:
    nodes: dict[str, Memory]
    edges: list[tuple[str, str, str]]


class Neighbors(list[tuple[Memory, str]]):
    """Pairs of a memory and the relation that led to it; `dangling` are ids that lead nowhere."""

    def __init__(self, matches: Sequence[tuple[Memory, str]] = (), dangling: Sequence[str] = ()) -> None:
        super().__init__(matches)
        self.dangling = list(dangling)


@dataclass
class Conflict:
    a: Memory
    b: Memory
    similarity: float
    kind: str
    reason: str


class ConflictError(Exception):
    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"Nothing was stored: {len(conflicts)} conflict(s) were found; supersede them first.")
        self.conflicts = conflicts


@dataclass
class RememberResult:
    memory: Memory
    conflicts: list[Conflict] = field(default_factory=list)
    action: str = "stored"


@dataclass
class PackedMemory:
    memory: Memory
    score: float
    tokens: int


@dataclass
class PackResult:
    items: list[PackedMemory]
    text: str
    used_tokens: int
    budget: int
    truncated: bool

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[str]:
        return [item.memory.id for item in self.items]


@dataclass
class ImportSummary:
    """`errors` are pairs of a line and what is wrong with it."""

    imported: int = 0
    skipped: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)
    vectors_regenerated: bool = False


class ImportConflictError(Exception):
    def __init__(self, message: str, *, collisions: Sequence[str]) -> None:
        super().__init__(message)
        self.collisions = list(collisions)


WORD = re.compile(r"[a-z0-9]+")
NEGATIONS = frozenset(
    "not never no dont doesnt wont shouldnt cant cannot isnt arent without avoid neither nor nothing nobody nowhere"
    " none".split()
)
NEAREST = 12


def _tokenize(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _negation_diff(one: str, other: str) -> bool:
    """Whether exactly one of the texts has an odd number of negations."""
    counts = [sum(word in NEGATIONS for word in _tokenize(re.sub("['’]", "", text))) for text in (one, other)]
    return counts[0] % 2 != counts[1] % 2


def judge(a: Memory, b: Memory, similarity: float, contradicts: ConflictFn | None) -> Conflict:
    derived = any(link.rel == "derived_from" and link.to in (a.id, b.id) for link in (*a.links, *b.links))
    if derived:
        return Conflict(a, b, similarity, "duplicate", "similarity")
    if a.polarity * b.polarity == -1:
        return Conflict(a, b, similarity, "contradiction", "polarity")
    if _negation_diff(a.text, b.text):
        return Conflict(a, b, similarity, "contradiction", "negation_diff")
    if contradicts is not None and contradicts(a, b):
        return Conflict(a, b, similarity, "contradiction", "custom_fn")
    return Conflict(a, b, similarity, "duplicate", "similarity")


def comparable(a: Memory, b: Memory) -> bool:
    return a.id != b.id and a.type == b.type and not (a.tags and b.tags and not set(a.tags) & set(b.tags))


def conflicts_of(
    store: NativeStore, memory: Memory, threshold: float, contradicts: ConflictFn | None
) -> list[Conflict]:
    """Among the nearest current memories."""
    vector = store.embedder.embed([memory.text])[0]
    near = store.backend.by_vector(store.space, vector, Filter.live(store.now()), NEAREST + 1)
    nearest = [match for match in near if match.id != memory.id][:NEAREST]
    alike = {match.id: min(1.0, match.score) for match in nearest if match.score >= threshold}
    others = [Memory.of(other) for other in store.get_many(list(alike)) if not other.superseded_by]
    return [judge(memory, other, alike[other.id], contradicts) for other in others if comparable(memory, other)]


def all_conflicts(store: NativeStore, threshold: float, contradicts: ConflictFn | None) -> list[Conflict]:
    """Every pair, the newer of each first."""
    current = [Memory.of(each) for each in store.list_recent(store.count())]
    alike = pairs(store, current, threshold)
    return [judge(a, b, similarity, contradicts) for a, b, similarity in alike if comparable(a, b)]


def pairs(store: NativeStore, memories: Sequence[Memory], threshold: float) -> Iterator[tuple[Memory, Memory, float]]:
    import numpy as np

    vectors = store.vectors([memory.id for memory in memories])
    known = [memory for memory in memories if memory.id in vectors]
    rows = np.stack([mean_direction(vectors[memory.id]) for memory in known]) if known else np.zeros((0, 1))
    for at, memory in enumerate(known):
        cosines = rows[at + 1 :] @ rows[at]
        for other in np.flatnonzero(cosines >= threshold).tolist():
            yield memory, known[at + 1 + other], min(1.0, float(cosines[other]))


Where = Mapping[str, Any]
Rows = dict[str, Any]

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt,
    "$lte": operator.le,
    "$in": lambda value, wanted: value in wanted, "$nin": lambda value, wanted: value not in wanted,
}  # fmt: skip
JOINED: dict[str, Callable[..., bool]] = {"$and": all, "$or": any}
USUAL = ("metadatas", "documents")


@dataclass
class Collection:
    native: NativeStore
    name: str

    def count(self) -> int:
        return self.native.count(include_superseded=True, include_archived=True, include_expired=True)

    def get(
        self, ids: Sequence[str] | str | None = None, where: Where | None = None, limit: int | None = None,
        offset: int = 0, include: Sequence[str] = USUAL,
    ) -> Rows:  # fmt: skip
        matches = [memory for memory in self._chosen(ids) if matches_where(memory.to_metadata(), where)]
        return self._rows(matches[offset:][:limit], include)

    def add(
        self, ids: Sequence[str], documents: Sequence[str], metadatas: Sequence[Where] | None = None, **_: object
    ) -> None:
        """Vectors are always computed from the texts."""
        full = zip(ids, documents, metadatas or [{}] * len(ids), strict=True)
        drafts = [Memory.from_record(id, text, meta).native(self.native.space) for id, text, meta in full]
        self.native.write("remember", new=drafts)

    def update(
        self, ids: Sequence[str], metadatas: Sequence[Where] | None = None, documents: Sequence[str] | None = None,
        **_: object,
    ) -> None:  # fmt: skip
        """Ignores unknown ids."""
        known = {memory.id for memory in self.native.get_many(ids)}
        texts: Sequence[str | None] = documents or [None] * len(ids)
        rows = zip(ids, metadatas or [{}] * len(ids), texts, strict=True)
        edits = {id: edit_from(meta, text) for id, meta, text in rows if id in known}
        if edits:
            self.native.write("edit", edits=edits)

    def delete(self, ids: Sequence[str] | None = None, where: Where | None = None) -> None:
        if ids is not None or where:
            self.native.purge(*self.get(ids, where)["ids"])

    def query(
        self, query_texts: Sequence[str] = (), n_results: int = 10, where: Where | None = None,
        include: Sequence[str] = (*USUAL, "distances"), query_embeddings: Sequence[Any] | None = None,
    ) -> Rows:  # fmt: skip
        """The nearest of each question; a list for each, as Chroma gives it."""
        import numpy as np

        asked = query_embeddings if query_embeddings is not None else self.native.embedder.embed(list(query_texts))
        admits = set(self.get(where=where, include=())["ids"]) if where else None
        store, full = self.native.backend, dict[str, list[Any]]()
        for vector in asked:
            row, most = np.asarray(vector, np.float32), n_results if admits is None else self.count()
            near = store.by_vector(self.native.space, row, Filter.where(status__ne="trashed"), most)
            best = [match for match in near if admits is None or match.id in admits][:n_results]
            columns = self._rows(self._chosen([match.id for match in best]), include)
            columns["distances"] = [1.0 - match.score for match in best] if "distances" in include else None
            for key, value in columns.items():
                full.setdefault(key, []).append(value)
        return {key: None if values[0] is None else values for key, values in full.items()}

    def _chosen(self, ids: Sequence[str] | str | None) -> list[Memory]:
        every: Iterable[NativeMemory]
        if ids is None:
            every = self.native.iterate(include_superseded=True, include_archived=True, include_expired=True)
        else:
            every = self.native.get_many([ids] if isinstance(ids, str) else list(ids))
        return [Memory.of(self.native.clean(each)) for each in every if each.status != "trashed"]

    def _rows(self, matches: Sequence[Memory], include: Sequence[str]) -> Rows:
        ids = [memory.id for memory in matches]
        vectors = self.native.vectors(ids) if "embeddings" in include else {}
        embeddings = [vectors[id][0] if id in vectors else None for id in ids]
        return {
            "ids": ids,
            "documents": [memory.text for memory in matches] if "documents" in include else None,
            "metadatas": [memory.to_metadata() for memory in matches] if "metadatas" in include else None,
            "embeddings": embeddings if "embeddings" in include else None,
        }


def matches_where(meta: Mapping[str, Any], where: Where | None) -> bool:
    """Chroma's filter over plain values: equality, comparisons, `$and` and `$or`."""
    for name, wanted in (where or {}).items():
        if name in JOINED:
            if not JOINED[name](matches_where(meta, each) for each in wanted):
                return False
        else:
            tests = wanted.items() if isinstance(wanted, Mapping) else [("$eq", wanted)]
            if name not in meta or not all(COMPARED[test](meta[name], value) for test, value in tests):
                return False
    return True


def edit_from(meta: Where, text: str | None) -> Callable[[NativeMemory], NativeMemory]:
    def changed(memory: NativeMemory) -> NativeMemory:
        stands = Memory.of(memory)
        said = stands.text if text is None else text
        value = Memory.from_record(memory.id, said, {**stands.to_metadata(), **meta}).native(memory.space)
        return replace(memory, **{name: getattr(value, name) for name in NAMES if name != "id"})

    return changed


MODEL = "all-MiniLM-L6-v2"
OWN = ("english", "multilingual", "hashing", "openai", "sentence-transformers")


def settings_for(path: str | Path, collection: str, model: str = MODEL) -> Settings:
    """Creates the directory for the file."""
    folder = str(path)
    if folder != IN_MEMORY:
        folder = str(Path(path).expanduser())
        private_folder(Path(folder))
    return Settings(
        store=folder, space=collection, embedder=embedder_named(model), on_conflict="ignore", importance="fixed",
        rerank_ms=0.0,
    )  # fmt: skip


def model_of_environment() -> str:
    """The same for every interface, so that all write vectors that the others can read."""
    return os.environ.get("AI_HOUKAI_EMBEDDER") or MODEL


def embedder_named(model: str) -> str:
    if model in (MODEL, f"sentence-transformers/{MODEL}"):
        return "english"
    return model if model.partition(":")[0] in OWN else f"sentence-transformers:{model}"


IMPORT = "import"


__all__ = ["Memory", "MemoryStore", "_bm25_score_pool", "_estimate_tokens", "_negation_diff", "_tokenize"]

POLICIES = ("ignore", "warn", "supersede", "raise")
ACCESSED = "accessed"  # recency counts from the last access here, natively from the creation
_estimate_tokens = estimated_tokens
# What an undo of `remember` compares: all that is said, and not how it was used since.
SAID = ("text", "type", "tags", "importance", "source", "links", "superseded_by", "polarity")
# By the id of a store's object: the actor in this thread or task, and the store that writes under that name.
ACTING: ContextVar[Mapping[int, tuple[str, NativeStore]]] = ContextVar("acting", default=MappingProxyType({}))


class MemoryStore:
    def __init__(
        self, path: str | Path = "./.chroma", collection: str = "ai_houkai", embedding_model: str = MODEL, *,
        conflict_policy: str = "ignore", conflict_threshold: float = 0.80, contradiction_fn: ConflictFn | None = None,
        hybrid_weights: HybridWeights | None = None, actor: str = "lib", journal_enabled: bool = True,
        journal_path: str | Path | None = None, journal_rotate_mb: float = 64, journal_keep_days: float = 90,
        embedding_fn: Embedder | Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.path, self.collection_name, self.actor = str(path), collection, actor
        self.conflict_policy, self.conflict_threshold = conflict_policy, conflict_threshold
        self.contradiction_fn, self.hybrid_weights = contradiction_fn, hybrid_weights
        settings = settings_for(path, collection, embedding_model)
        self.native = NativeStore(settings=settings, embedder=embedding_fn, actor=actor)
        warn_of_chroma(path, self.native)
        self.embedding_model = self.native.embedder.identity
        self.collection = Collection(self.native, collection)
        self.client = self.native  # closing the client closes the store
        place = Path(path).expanduser().absolute().parent / "journal.log" if journal_path is None else journal_path
        self.journal_enabled = journal_enabled and (journal_path is not None or str(path) != IN_MEMORY)
        self.journal = Journal(Path(place).expanduser(), journal_rotate_mb, journal_keep_days)

    @contextmanager
    def as_actor(self, name: str) -> Iterator[None]:
        """Inside the block, the journals record this name as the actor of what this thread or task does."""
        before = ACTING.set({**ACTING.get(), id(self): (name, self.native.as_actor(name))})
        try:
            yield
        finally:
            ACTING.reset(before)

    def _acting(self) -> tuple[str, NativeStore]:
        return ACTING.get().get(id(self), (self._actor, self._native))

    @property
    def actor(self) -> str:
        return self._acting()[0]

    @actor.setter
    def actor(self, name: str) -> None:
        self._actor = name

    @property
    def native(self) -> NativeStore:
        return self._acting()[1]

    @native.setter
    def native(self, store: NativeStore) -> None:
        self._native = store

    def get(self, memory_id: str) -> Memory | None:
        result = self.native.get(memory_id)
        return None if result is None or result.status == "trashed" else Memory.of(result)

    _get_by_id = get

    def _get_all_memories(self) -> list[Memory]:
        return self.collection._chosen(None)

    def _log(
        self, op: str, memory_id: str = "", *, before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None, meta: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if self.journal_enabled:
            entry = JournalEntry(self.native.now(), op, self.actor, memory_id, before, after, meta or {})
            self.journal.append(entry)

    def remember(
        self, text: str, type: str = "semantic", tags: Iterable[str] = (), importance: float = 0.5,
        source: str | None = None, *, on_conflict: str | None = None, contradiction_fn: ConflictFn | None = None,
        polarity: int = 0,
    ) -> Memory:  # fmt: skip
        handling: dict[str, Any] = {"on_conflict": on_conflict, "contradiction_fn": contradiction_fn}
        return self.remember_result(text, type, tags, importance, source, polarity=polarity, **handling).memory

    def remember_result(
        self, text: str, type: str = "semantic", tags: Iterable[str] = (), importance: float = 0.5,
        source: str | None = None, *, on_conflict: str | None = None, contradiction_fn: ConflictFn | None = None,
        polarity: int = 0,
    ) -> RememberResult:  # fmt: skip
        """As `remember`, and returns the conflicts; `raise` is decided before anything is written."""
        policy = on_conflict or self.conflict_policy
        UnknownName.check("conflict policy", policy, POLICIES)
        fields: dict[str, Any] = {"type": type, "tags": list(tags), "source": source or "", "polarity": polarity}
        draft = self.native.draft(text, importance=clamp(float(importance)), **fields)
        contradicts = contradiction_fn or self.contradiction_fn
        result = [] if policy == "ignore" else self._conflicts(Memory.of(draft), None, contradicts)
        if result and policy == "raise":
            raise ConflictError(result)
        replaced = {each.b.id: draft.id for each in result} if policy == "supersede" else {}
        self.native.write("remember", new=[draft], successors=replaced)
        kept = self._existing(draft.id)
        self._log("remember", kept.id, after=kept.to_dict())
        for old in replaced:
            self._log("supersede", old, meta={"old_id": old, "new_id": kept.id})
        if result and policy == "warn":
            message = "; ".join(f"{each.kind} of {each.b.id} ({each.reason})" for each in result)
            warnings.warn(f"Stored despite {len(result)} conflict(s): {message}.", UserWarning, stacklevel=3)
        return RememberResult(kept, result, "superseded" if replaced else "stored")

    def forget(self, memory_id: str) -> bool:
        record = self.native.get(memory_id)
        if record is None or record.status == "trashed":
            return False
        links = [[edge.source, edge.rel] for edge in self.native.edges(into=[memory_id])]
        replaced = [each.id for each in self.native.backend.replaced_by(self.native.space, memory_id)]
        self.native.purge(memory_id)
        meta = {"linked_from": links, "replaced": replaced, "record": record.to_dict()}
        self._log("forget", memory_id, before=Memory.of(record).to_dict(), meta=meta)
        return True

    def edit(self, memory_id: str, **fields: Any) -> Memory:
        """Embeds again only when the text changed. Raises `KeyError`."""
        return self.edit_with(memory_id, lambda _: fields)[1]

    def edit_with(self, memory_id: str, change: Callable[[Memory], Mapping[str, Any]]) -> tuple[Memory, Memory]:
        """As `edit`, with fields that depend on what the memory is now; asked again where somebody else changed it
        meanwhile. Returns it as it was and as it is."""

        def edit() -> tuple[Memory, Memory]:
            read = self.native.get(memory_id)
            if read is None:
                raise MemoryNotFound(memory_id, self.native.space)
            before = Memory.of(read)
            values = without_none(**change(before))
            if "importance" in values:
                values["importance"] = clamp(float(values["importance"]))
            return before, Memory.of(self.native.expecting({read.id: read.version}).edit(memory_id, **values))

        before, after = retry_while_changed(edit)
        self._log("edit", memory_id, before=before.to_dict(), after=after.to_dict())
        return before, after

    def list_recent(self, limit: int = 20, include_superseded: bool = False) -> list[Memory]:
        return [
            Memory.of(each) for each in self.native.list_recent(max(0, limit), include_superseded=include_superseded)
        ]

    def count(self) -> int:
        return self.collection.count()

    def recall(
        self, query: str, k: int = 5, type: str | None = None, tag: str | None = None,
        min_importance: float | None = None, *, mode: str = "semantic", weights: HybridWeights | None = None,
        overfetch: int = 4, expand: ExpandSpec | None = None, include_superseded: bool = False, touch: bool = True,
    ) -> list[tuple[Memory, float]]:  # fmt: skip
        if k <= 0 or not query.strip():
            return []
        hits = self.native.recall(
            query, k, touch=touch, strategy=mode, weights=weights or self.hybrid_weights, overfetch=overfetch,
            expand=expand, recency_basis=ACCESSED, collapse=False, type=type, tag=tag, min_importance=min_importance,
            include_superseded=include_superseded,
        )  # fmt: skip
        stored = {memory.id: memory for memory in self.native.get_many([hit.memory.id for hit in hits])}
        results = [(Memory.of(hit.memory), hit.score) for hit in hits]
        for memory, _ in results:  # with the access that the recall itself counted
            if memory.id in stored:
                memory.last_accessed = stored[memory.id].last_accessed
                memory.access_count = stored[memory.id].access_count
        return results

    def recall_pack(
        self, query: str, *, token_budget: int = 800, type: str | None = None, tag: str | None = None,
        min_importance: float | None = None, mode: str = "hybrid", weights: HybridWeights | None = None,
        expand: ExpandSpec | None = None, include_superseded: bool = False, max_items: int = 50,
        token_counter: Callable[[str], int] | None = None, header: str = HEADER,
    ) -> PackResult:  # fmt: skip
        asked: dict[str, Any] = {"mode": mode, "weights": weights, "expand": expand}
        asked["include_superseded"] = include_superseded
        ranked = self.recall(query, max_items, type, tag, min_importance, **asked)
        # A line of the pack has only the type and the text.
        bare = [Hit(NativeMemory(id=memory.id, text=memory.text, type=memory.type), score) for memory, score in ranked]
        recalled = Recollection(tuple(bare))
        packed = pack(recalled, token_budget, fence=False, header=header, token_counter=token_counter)
        document = {memory.id: memory for memory, _ in ranked}
        items = [PackedMemory(document[item.memory.id], item.score, item.tokens) for item in packed.items]
        return PackResult(items, packed.text, packed.used_tokens, packed.budget, packed.truncated)

    def _touch(self, memory: Memory | str) -> None:
        self.native.touch(memory if isinstance(memory, str) else memory.id)
        if isinstance(memory, Memory):
            now = self._existing(memory.id)
            memory.last_accessed, memory.access_count = now.last_accessed, now.access_count

    def link(self, src_id: str, dst_id: str, rel: str = "related") -> None:
        """The target need not be there. Raises `KeyError` for an unknown source, `ValueError` for a link to itself."""
        if self.native.link(src_id, dst_id, rel).new:
            self._log("link", src_id, meta={"src_id": src_id, "dst_id": dst_id, "rel": rel})

    def unlink(self, src_id: str, dst_id: str, rel: str | None = None) -> int:
        source = self.get(src_id)
        if source is None:
            return 0
        rels = [link.rel for link in source.links if link.to == dst_id and rel in (None, link.rel)]
        removed = self.native.unlink(src_id, dst_id, rel)
        if removed:
            data = {"src_id": src_id, "dst_id": dst_id, "rel": rel, "removed": removed, "removed_rels": rels}
            self._log("unlink", src_id, meta=data)
        return removed

    def neighbors(
        self, memory_id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> Neighbors:
        if self.get(memory_id) is None:
            return Neighbors()
        result = self.native.neighbors(memory_id, rel=rel, direction=direction, depth=depth, include_hidden=True)
        return Neighbors([(Memory.of(each.memory), each.rel) for each in result.neighbors], result.dangling)

    def subgraph(self, ids: Sequence[str], depth: int = 1) -> Graph:
        result = self.native.subgraph(ids, depth=depth)
        nodes = {id: Memory.of(memory) for id, memory in result.nodes.items()}
        return Graph(nodes, [(edge.source, edge.target, edge.rel) for edge in result.edges])

    def supersede(self, old_id: str, new_id: str) -> None:
        """Doing it again changes nothing. Raises `KeyError`, and `ValueError` where a cycle would close."""
        if self._existing(old_id).superseded_by == new_id:
            return
        if old_id == new_id:
            raise ValueError(f"{old_id} cannot supersede itself; give another memory.")
        try:
            self.native.supersede(old_id, new_id)
        except SupersedeCycle as error:
            raise ValueError(f"That would close a cycle of succession: {error}") from error
        self._log("supersede", old_id, meta={"old_id": old_id, "new_id": new_id})

    def restore(self, memory_id: str) -> bool:
        stands = self.get(memory_id)
        if stands is None or not stands.superseded_by:
            return False
        self.native.restore(memory_id)
        self._log("restore", memory_id, meta={"old_id": memory_id, "new_id": stands.superseded_by})
        return True

    def find_conflicts(self, memory_id: str | None = None, threshold: float | None = None) -> list[Conflict]:
        """Raises `KeyError` for an unknown id."""
        if memory_id is not None:
            return self._conflicts(self._existing(memory_id), threshold, self.contradiction_fn)
        least = self.conflict_threshold if threshold is None else threshold
        return all_conflicts(self.native, least, self.contradiction_fn)

    def _conflicts(self, memory: Memory, threshold: float | None, contradicts: ConflictFn | None) -> list[Conflict]:
        least = self.conflict_threshold if threshold is None else threshold
        return conflicts_of(self.native, memory, least, contradicts)

    def _existing(self, memory_id: str) -> Memory:
        result = self.get(memory_id)
        if result is None:
            raise MemoryNotFound(memory_id, self.native.space)
        return result

    def export(
        self, path: str | Path, include_vectors: bool = True, include_superseded: bool = False,
        types: Iterable[str] | None = None, tags: Iterable[str] | None = None, since: float | None = None,
    ) -> ExportSummary:  # fmt: skip
        choice = Choice(
            types=tuple(types or ()), tags=tuple(tags or ()), since=since, include_superseded=include_superseded,
            vectors=include_vectors,
        )  # fmt: skip
        data = export_archive(self.native, path, choice, form=AHKAI)
        self._log("export", meta={"path": str(path), "count": data.count})
        return data

    def import_(
        self, path: str | Path, on_conflict: str = "skip", regenerate_vectors: bool = False, dry_run: bool = False
    ) -> ImportSummary:
        """Raises `ImportError` for a file that cannot be taken, or whose vectors are another model's and were not
        allowed to be computed again, and `ImportConflictError`; nothing was written then."""
        try:
            header = Archive(path).header
            other_model = header.embedder not in ("", self.embedding_model)
            if header.options.get("include_vectors", True) and other_model and not regenerate_vectors:
                raise ImportError(f"{path} has another model's vectors; import it with regenerate_vectors=True.")
            data = import_archive(
                self.native, path, on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run
            )
        except ArchiveRefused as error:
            raise ImportError(str(error)) from error
        except ImportConflict as error:
            raise ImportConflictError(str(error), collisions=error.collisions) from error
        with self.as_actor(IMPORT):
            for entry in self.native.journal(batch=data.batch, limit=None, newest_first=False) if data.batch else ():
                kept = self.get(entry.memory_id)
                self._log(IMPORT, entry.memory_id, after=None if kept is None else kept.to_dict())
        faults = [(str(fault.line), fault.why) for fault in data.faults]
        counts = data.imported, data.skipped, data.overwritten, data.renamed
        return ImportSummary(*counts, faults, regenerate_vectors or data.vectors_regenerated > 0)

    def undo(self, entry: JournalEntry) -> bool:
        """False when it has no undo, or the memory has changed since."""
        done: dict[str, Callable[[JournalEntry], bool]] = {
            "remember": self._unremember, "forget": self._unforget,
            "supersede": self._unsupersede, "restore": self._unrestore, "link": self._unlink, "unlink": self._relink,
        }  # fmt: skip
        if entry.op not in done or not done[entry.op](entry):
            return False
        self._log("undo", entry.id, meta={"op": entry.op, "ts": entry.ts})
        return True

    def _unremember(self, entry: JournalEntry) -> bool:
        def unchanged(memory: NativeMemory) -> bool:
            values, written = Memory.of(memory).to_dict(), entry.after or {}
            return memory.status != "trashed" and all(values[name] == written.get(name) for name in SAID)

        return purge(self.native.acting_as(self.actor), self.native.space, [entry.id], only=unchanged) > 0

    def _unforget(self, entry: JournalEntry) -> bool:
        if entry.before is None or self.get(entry.id) is not None:
            return False
        again = Memory.from_dict(entry.before).native(self.native.space)
        if record := entry.meta.get("record"):  # with the fields that only other APIs write
            again = replace(NativeMemory.from_dict(record), space=again.space, version=again.version)
        self.native.write("undo", new=[again])
        for source, rel in entry.meta.get("linked_from", ()):
            if self.get(source) is not None:
                self.native.link(source, entry.id, rel)
        for id in entry.meta.get("replaced", ()):
            if (old := self.get(id)) is not None and old.superseded_by == PURGED:
                self.native.restore(id)
                self.native.supersede(id, entry.id)
        return True

    def _unsupersede(self, entry: JournalEntry) -> bool:
        old = self.get(entry.meta["old_id"])
        return old is not None and old.superseded_by == entry.meta["new_id"] and self.native.restore(old.id)

    def _unrestore(self, entry: JournalEntry) -> bool:
        old, new = self.get(entry.meta["old_id"]), self.get(entry.meta["new_id"])
        if old is None or new is None or old.superseded_by:
            return False
        self.native.supersede(old.id, new.id)
        return True

    def _unlink(self, entry: JournalEntry) -> bool:
        source, target, rel = (entry.meta[name] for name in ("src_id", "dst_id", "rel"))
        return self.get(source) is not None and bool(self.native.unlink(source, target, rel))

    def _relink(self, entry: JournalEntry) -> bool:
        rels = entry.meta.get("removed_rels") or [entry.meta.get("rel") or "related"]
        if self.get(entry.meta["src_id"]) is None:
            return False
        made = [self.native.link(entry.meta["src_id"], entry.meta["dst_id"], rel) for rel in rels]
        return any(each.new for each in made)


def _bm25_score_pool(query: str, docs: Sequence[str]) -> list[float]:
    from nacre.recall.strategies import pool_words  # imports numpy

    scores = pool_words(query, [NativeMemory(id=str(at), text=text) for at, text in enumerate(docs)])
    return [scores[str(at)] for at in range(len(docs))]
