"""ChromaMemoryStore over a Nacre store, and the conversion between the two kinds of memories."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.compat.existing_data import warn_of_chroma
from nacre.compat.mnemosyne.config.settings import RetrievalSettings, StorageSettings
from nacre.compat.mnemosyne.core.models import EmotionalContext, Memory, MemoryStatus, MemoryType
from nacre.compat.mnemosyne.quality import quality
from nacre.errors import MemoryNotFound
from nacre.files import private_folder
from nacre.memory_store import MemoryStore
from nacre.model import Link, RankFusion
from nacre.model import Memory as Record
from nacre.model.validate import LONGEST_LABEL, Fields
from nacre.recall.signals import UNKNOWN_MOOD, WIDEST_MOODS
from nacre.settings import Settings as NativeSettings
from nacre.text.emotion import quadrant
from nacre.text.tokens import STOP_WORDS

if TYPE_CHECKING:
    from nacre.factory import EmbedFunction
    from nacre.protocols import Embedder

OWN = "mnemosyne"  # the metadata key of what a Nacre memory has no field for
SUMMARY, QUADRANT = "summary", "quadrant"  # its keys,
CALLERS = "given"  # with what the program itself has under that key
KINDS = [kind.value for kind in MemoryType]  # other APIs may store a type that Mnemosyne does not know
RELATED, DERIVED_FROM = "related", "derived_from"


def fields_of(memory: Memory) -> Fields:
    fields = Fields(
        id=memory.id, type=memory.memory_type.value, status=memory.status.value, tags=tuple(memory.tags),
        importance=within(memory.importance_score, 0.0), created_at=memory.created_at.timestamp(),
        last_accessed=memory.last_accessed.timestamp(), access_count=memory.access_count,
        links=(
            *(Link(id, RELATED) for id in memory.related_memory_ids),
            *(Link(id, DERIVED_FROM) for id in memory.source_memory_ids),
        ),
    )  # fmt: skip
    own: dict[str, Any] = {}
    if memory.content.startswith(memory.summary) or len(memory.summary) > LONGEST_LABEL:
        own |= {SUMMARY: memory.summary} if memory.summary else {}  # a title that repeats the text would weigh twice
    else:
        fields["title"] = memory.summary
    if felt := memory.emotional_context:
        fields["valence"], fields["arousal"] = within(felt.valence, -1.0), within(felt.arousal, -1.0)
        own[QUADRANT] = felt.quadrant
    if OWN in memory.metadata:
        own[CALLERS] = memory.metadata[OWN]
    fields["metadata"] = {**memory.metadata, OWN: own} if own else memory.metadata
    return fields


def memory_of(record: Record) -> Memory:
    metadata: dict[str, Any] = dict(record.metadata)
    own = metadata.get(OWN)
    if isinstance(own, dict) and own.keys() <= {SUMMARY, QUADRANT, CALLERS}:
        del metadata[OWN]
        metadata |= {OWN: own[CALLERS]} if CALLERS in own else {}
    else:  # another program's
        own = {}
    felt = None
    if record.valence is not None:
        arousal = record.arousal or 0.0
        felt = EmotionalContext(record.valence, arousal, own.get(QUADRANT) or quadrant(record.valence, arousal))
    return Memory(
        id=record.id, content=record.text, summary=record.title or own.get(SUMMARY, ""),
        memory_type=MemoryType(record.type if record.type in KINDS else "semantic"), status=MemoryStatus(record.status),
        created_at=datetime.fromtimestamp(record.created_at),
        last_accessed=datetime.fromtimestamp(record.last_accessed), access_count=record.access_count,
        emotional_context=felt, related_memory_ids=[link.to for link in record.links if link.rel == RELATED],
        source_memory_ids=[link.to for link in record.links if link.rel == DERIVED_FROM], tags=list(record.tags),
        metadata=metadata, importance_score=record.importance,
    )  # fmt: skip


def within(figure: float, low: float) -> float:
    return min(1.0, max(low, figure))


CHROMADB_AVAILABLE = TRANSFORMERS_AVAILABLE = BM25_AVAILABLE = True
MINILM = "all-MiniLM-L6-v2"
OUR_EMBEDDERS = ("english", "multilingual", "hashing")
SHORT_TERM, LONG_TERM = ("short_term", "consolidating"), ("long_term", "archived")
IN: dict[MemoryStatus | None, tuple[str, ...]] = {
    None: SHORT_TERM + LONG_TERM,
    **{status: (status.value,) for status in MemoryStatus},
    MemoryStatus.SHORT_TERM: SHORT_TERM,
    MemoryStatus.LONG_TERM: LONG_TERM,
}
Scores = list[tuple[str, float]]
QueryResult = list[tuple[Record, float]]


@dataclass(frozen=True)
class Collection:
    name: str
    memories: MemoryStore
    statuses: tuple[str, ...]

    def count(self) -> int:
        return self.memories.count(status=self.statuses)


@dataclass(frozen=True)
class Client:
    memories: MemoryStore

    def close(self) -> None:
        self.memories.close()

    def reset(self) -> bool:
        self.memories.delete_space(purge=True)
        return True


class ChromaMemoryStore:
    """`embedding_model` may also be one of our embedders, or a function from texts to rows. `memories` is the native
    store underneath. A search counts as a use of what it returns."""

    def __init__(
        self, persist_directory: str | Path | None = None,
        embedding_model: str | Embedder | EmbedFunction | None = None, settings: StorageSettings | None = None,
        retrieval_settings: RetrievalSettings | None = None,
    ) -> None:  # fmt: skip
        data = settings or StorageSettings()
        self.retrieval_settings = retrieval_settings or RetrievalSettings()
        self.persist_directory = Path(persist_directory or data.persist_directory)
        private_folder(self.persist_directory)
        self.memories = MemoryStore(
            self.persist_directory,
            space=f"{data.short_term_collection}+{data.long_term_collection}",
            embedder=embedder_named(embedding_model or data.embedding_model),
            # Mnemosyne guesses no field.
            settings=NativeSettings(importance="fixed", default_type="episodic", on_conflict="ignore", rerank_ms=0.0),
            actor="mnemosyne",
        )
        warn_of_chroma(self.persist_directory, self.memories)
        self.client = Client(self.memories)
        self.short_term = Collection(data.short_term_collection, self.memories, SHORT_TERM)
        self.long_term = Collection(data.long_term_collection, self.memories, LONG_TERM)
        self.embedding_model = self.memories.embedder
        # Words are indexed with the memory itself; the flag only says whether they were searched since.
        self._bm25_available, self._bm25_dirty = True, True

    def add_memory(self, memory: Memory) -> None:
        """An id that is there already keeps what it has."""
        self._bm25_dirty = True
        if self.memories.get(memory.id) is None:
            self.memories.remember(memory.content, **fields_of(memory))

    def get_memory(self, memory_id: str) -> Memory | None:
        result = self.memories.get(memory_id)
        return None if result is None or result.status == "trashed" else memory_of(self.memories.clean(result))

    def count_memories(self, status: MemoryStatus | None = None) -> int:
        return self.memories.count(status=IN[status])

    def get_all_short_term(self, limit: int = 1000) -> list[Memory]:
        result = self.memories.list_recent(max(0, limit), order="oldest", status=SHORT_TERM)
        return [memory_of(self.memories.clean(each)) for each in result]

    def get_short_term_count(self) -> int:
        return self.short_term.count()

    def get_embeddings_batch(self, memory_ids: Sequence[str]) -> dict[str, list[float]]:
        from nacre.lifecycle.clustering import mean_direction

        return {id: mean_direction(rows).tolist() for id, rows in self.memories.vectors(memory_ids).items()}

    def promote_memory(self, memory_id: str) -> bool:
        result = self.memories.get(memory_id)
        if result is None or result.status not in SHORT_TERM:
            return False
        self._bm25_dirty = True
        try:
            return self.memories.edit(memory_id, status="long_term", why="promoted").status == "long_term"
        except MemoryNotFound:
            return False

    def delete_memory(self, memory_id: str) -> bool:
        return self.batch_delete([memory_id]) > 0

    def batch_delete(self, memory_ids: Sequence[str]) -> int:
        self._bm25_dirty = True
        return self.memories.purge(*memory_ids)

    def search_memories(
        self, query: str, n_results: int = 10, status_filter: MemoryStatus | None = None
    ) -> list[Memory]:
        result = self._query(query, n_results, status_filter, "semantic")
        return self._used(result, n_results, lambda cosine: {"relevance_distance": distance(cosine)})

    def search_memories_hybrid(
        self, query: str, n_results: int = 10, status_filter: MemoryStatus | None = None,
        vector_weight: float | None = None, bm25_weight: float | None = None, use_quality_scoring: bool = True,
        emotional_context: EmotionalContext | None = None, emotion_weight: float | None = None,
    ) -> list[Memory]:  # fmt: skip
        """Weights that are not given are those of the retrieval settings."""
        data = self.retrieval_settings
        meaning = data.vector_weight if vector_weight is None else vector_weight
        words = data.bm25_weight if bm25_weight is None else bm25_weight
        mood = data.emotion_weight if emotion_weight is None else emotion_weight
        reranking = use_quality_scoring or emotional_context is not None
        wanted = n_results * (data.candidate_multiplier if reranking else 1)
        result = self._fused(query, wanted, status_filter, meaning, words)
        if reranking:  # ranks give hundredths, beside which age or mood alone would decide
            best = max((score for _, score in result), default=0.0) or 1.0
            result = [(record, score / best) for record, score in result]
        if use_quality_scoring:
            result = [(record, self._quality(record, score)) for record, score in result]
        if emotional_context is not None and mood > 0:
            felt = [memory_of(record).emotional_context for record, _ in result]
            near = [self._emotional_similarity(emotional_context, each) for each in felt]
            scored = zip(result, near, strict=True)
            result = [(record, (1 - mood) * score + mood * similar) for (record, score), similar in scored]
        return self._used(result, n_results, lambda score: {"relevance_score": score})

    def _fused(self, query: str, wanted: int, status: MemoryStatus | None, meaning: float, words: float) -> QueryResult:
        self._bm25_dirty = False
        if self._bm25_available and words > 0:
            return self._query(query, wanted, status, "rrf", RankFusion(meaning=meaning, words=words))
        near = self._query(query, wanted, status, "semantic")
        return [(record, 1 / (1 + distance(cosine))) for record, cosine in near]

    def _query(
        self, query: str, wanted: int, status: MemoryStatus | None, strategy: str, fusion: RankFusion | None = None
    ) -> QueryResult:
        """Duplicates of one text are returned separately."""
        if wanted <= 0 or not query.strip():
            return []
        hits = self.memories.recall(query, wanted, touch=False, status=IN[status], strategy=strategy, fusion=fusion)
        copies = {each.id: each for each in self.memories.get_many([id for hit in hits for id in hit.collapsed])}
        same = ((hit, (hit.memory, *(self.memories.clean(copies[id]) for id in hit.collapsed))) for hit in hits)
        return [(record, hit.score) for hit, records in same for record in records]

    def _used(self, result: QueryResult, n_results: int, data: Callable[[float], dict[str, float]]) -> list[Memory]:
        """Best first, what is archived last."""
        ranked = sorted(result, key=lambda each: (each[0].status == "archived", -each[1]))[: max(0, n_results)]
        self.memories.touch(*(record.id for record, _ in ranked))
        memories = [(memory_of(record), score) for record, score in ranked]
        for memory, score in memories:
            memory.metadata |= data(score)
        return [memory for memory, _ in memories]

    def _tokenize(self, text: str, remove_stop_words: bool = True) -> list[str]:
        common = STOP_WORDS - {"am"} if remove_stop_words else ()
        return [word for word in re.findall(r"\w+", text.lower()) if len(word) > 1 and word not in common]

    def _bm25_search(self, query: str, n_results: int = 10) -> Scores:
        return [(record.id, score) for record, score in self._query(query, n_results, None, "keyword")]

    def _reciprocal_rank_fusion(
        self, vector_results: Scores, bm25_results: Scores, k: int = 60, vector_weight: float = 0.5,
        bm25_weight: float = 0.5,
    ) -> Scores:  # fmt: skip
        fused: dict[str, float] = {}
        for weight, ranking in ((vector_weight, vector_results), (bm25_weight, bm25_results)):
            for rank, (id, _) in enumerate(ranking, start=1):
                fused[id] = fused.get(id, 0.0) + weight / (k + rank)
        return sorted(fused.items(), key=lambda each: -each[1])

    def _compute_quality_score(self, memory: Memory, base_score: float) -> float:
        record = Record(text=memory.content, **fields_of(memory))  # type: ignore[arg-type, misc]
        return self._quality(record, base_score)

    def _quality(self, record: Record, relevance: float) -> float:
        return quality(record, relevance, self.memories.now(), self.retrieval_settings)

    def _emotional_similarity(self, query: EmotionalContext | None, memory: EmotionalContext | None) -> float:
        if query is None or memory is None:
            return UNKNOWN_MOOD
        one, other = (query.valence, query.arousal), (memory.valence, memory.arousal)
        if not self.retrieval_settings.use_angular_similarity:
            return 1 - math.dist(one, other) / WIDEST_MOODS
        lengths = math.hypot(*one) * math.hypot(*other)
        return (1 + (one[0] * other[0] + one[1] * other[1]) / lengths) / 2 if lengths else UNKNOWN_MOOD


def distance(cosine: float) -> float:
    """While the model is away the score is one of words, which may be more than 1."""
    return max(0.0, 1.0 - cosine)


def embedder_named(text: str | Embedder | EmbedFunction) -> str | Embedder | EmbedFunction:
    if text == MINILM:
        return "english"
    if isinstance(text, str) and text not in OUR_EMBEDDERS and ":" not in text:
        return f"sentence-transformers:{text}"
    return text
