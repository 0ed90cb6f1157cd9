"""CognitiveMemory: six kinds of memory for one agent, and the values that it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from nacre.engine.removal import purge
from nacre.engine.review import trashed
from nacre.engine.write_request import WriteRequest, apply_decided
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.mind import Mind
from nacre.model import Filter, Link, Memory, validate
from nacre.model.journal import UNATTENDED
from nacre.model.memory import ARCHIVED, TRASHED, Json, clamp
from nacre.model.validate import checks_arguments
from nacre.protocols import Reader
from nacre.recall_options import Scope
from nacre.text.similarity import compute_similarity
from nacre.text.tokens import STOP_WORDS, content_stems, stems, words

KEYWORDS = 6  # of a question; the first words say what it is about
MATCHES = 500  # best by BM25, before the caller's own order: a common word may be in half of a large store
NO_LIMIT = 2**53


# Keys of the metadata that belong to the mind; the caller's own keys are beside them.
MODALITY, SLOT_TYPE, RELEVANCE = "modality", "slot_type", "relevance"
STEPS, PREREQUISITES = "steps", "prerequisites"
TRIGGER, ACTION, STATE, PRIORITY = "trigger_condition", "action_on_trigger", "state", "priority"
HIGHEST = "highest_index"  # the highest number that there was, where a later memory got a lower one
ORIGINALS = "original_count"

SENSORY, SENSORY_PREFIX = "sensory", "sen_"
# Of this mind, whatever their ids: an import may have renamed them, and other APIs may store the type, too.
OBSERVATIONS = Filter.where(type=SENSORY, metadata__modality__unset=False)
ATTENDED_TO = "attended_to"
ATTENTION = "sensory-attention"  # the source of an episode that began as an observation
LONGEST_TTL = 10 * 365 * 86_400.0  # seconds; sensory memories are short-lived

WORKING, SLOT_PREFIX = "working", "wrk_"
SLOTS = Filter.where(type=WORKING, metadata__slot_type__unset=False)
CAPACITY = 20  # slots of a task

EPISODIC, EPISODE_PREFIX, SUMMARY_PREFIX = "episodic", "epi_", "con_"
# Episodes are numbered by position. A turn of a conversation has a position as well, but also a session.
NUMBERED = Filter.where(session="", position__ge=0)
NEWEST_CHECKED = 8  # memories read for the highest number; covers those that another program wrote out of order
CONSOLIDATES = "consolidates"
SEPARATOR = " | "  # between episodes, when there is no summarizer
Summarizer: TypeAlias = Callable[[list[str]], str]

SEMANTIC, FACT_PREFIX = "semantic", "sem_"
SIMILAR_TO, DERIVED_FROM = "similar_to", "derived_from"
SIMILAR = 0.3  # the published threshold: the same concept, or most of the words
RECENT, SHARING_WORDS = 50, 50  # facts that a new one is compared with: the newest, and the best by words in common
COMPARED_TERMS = 32  # words of a new fact by which similar ones are searched; a longer text is not a single fact
MAX_LINKS = 10  # the strongest; more would add nothing to a walk through the graph

PROCEDURAL, PROCEDURE_PREFIX = "procedural", "proc_"
PROCEDURE_DERIVES_FROM = "procedure_derives_from"

PROSPECTIVE, INTENTION_PREFIX = "prospective", "pro_"
PENDING, TRIGGERED, RESOLVED = "pending", "triggered", "resolved"
INTENTIONS = Filter.where(type=PROSPECTIVE)
WAITING = INTENTIONS & Filter.where(metadata__state=PENDING)


class MemoryCategory(Enum):
    SENSORY = "sensory"
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROSPECTIVE = "prospective"


def utc_now() -> datetime:
    """For values made by hand; values from the store have the store's time."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class SensoryItem:
    node_id: str
    modality: str
    raw_data: str
    observation_order: int
    expires_at: float
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> SensoryItem:
        return cls(m.id, text_in(m, MODALITY), m.text, m.position or 0, m.expires_at or 0.0, created(m))


@dataclass(frozen=True)
class WorkingMemorySlot:
    node_id: str
    slot_type: str
    content: str
    relevance: float
    task_id: str
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> WorkingMemorySlot:
        return cls(m.id, text_in(m, SLOT_TYPE), m.text, relevance(m), m.session, created(m))


@dataclass(frozen=True)
class EpisodicMemory:
    """`compressed`: it was consolidated into a summary."""

    node_id: str
    content: str
    source_label: str
    temporal_index: int
    compressed: bool = False
    created_at: datetime = field(default_factory=utc_now)
    metadata: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, m: Memory) -> EpisodicMemory:
        metadata = {key: value for key, value in m.metadata.items() if key != HIGHEST}
        return cls(m.id, m.text, m.source, m.position or 0, m.status == ARCHIVED, created(m), metadata)


@dataclass(frozen=True)
class SemanticFact:
    node_id: str
    concept: str
    content: str
    confidence: float
    source_id: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Json] = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> SemanticFact:
        return cls(m.id, m.title, m.text, m.confidence, m.source, list(m.tags), dict(m.metadata), created(m))


@dataclass(frozen=True)
class ProceduralMemory:
    """`usage_count` is how often it had been recalled before."""

    node_id: str
    name: str
    steps: list[str] = field(default_factory=list)
    prerequisites: list[str] = field(default_factory=list)
    usage_count: int = 0
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> ProceduralMemory:
        """A memory stored as plain text is a procedure with a single step."""
        steps = list_in(m, STEPS) if STEPS in m.metadata else [m.text]
        return cls(m.id, m.title or m.text, steps, list_in(m, PREREQUISITES), m.access_count, created(m))


@dataclass(frozen=True)
class ProspectiveMemory:
    """`status` goes from pending to triggered to resolved; the higher the `priority`, the sooner."""

    node_id: str
    description: str
    trigger_condition: str
    action_on_trigger: str
    status: str = PENDING
    priority: int = 1
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> ProspectiveMemory:
        trigger, action, state = (text_in(m, key) for key in (TRIGGER, ACTION, STATE))
        return cls(m.id, m.text, trigger, action, state or PENDING, int_in(m, PRIORITY, 1), created(m))


@dataclass(frozen=True)
class ConsolidatedEpisode:
    node_id: str
    summary: str
    original_count: int
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, m: Memory) -> ConsolidatedEpisode:
        return cls(m.id, m.text, int_in(m, ORIGINALS, 0), created(m))


def created(memory: Memory) -> datetime:
    return datetime.fromtimestamp(memory.created_at, UTC)


def relevance(memory: Memory) -> float:
    value = memory.metadata.get(RELEVANCE)
    return float(value) if isinstance(value, int | float) else memory.importance


def text_in(memory: Memory, key: str) -> str:
    value = memory.metadata.get(key)
    return value if isinstance(value, str) else ""


def int_in(memory: Memory, key: str, default: int) -> int:
    value = memory.metadata.get(key)
    return value if isinstance(value, int) else default


def list_in(memory: Memory, key: str) -> list[str]:
    value = memory.metadata.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []


@checks_arguments
class CognitiveMemory(Mind):
    """Six kinds of memory of one agent, stored in the agent's own space, where every other API sees them too.

    Each method that writes is one operation, which `store.undo()` undoes; only expired observations are removed for
    good. Safe to use from any number of threads and processes at once.
    """

    def get_statistics(self) -> dict[str, int]:
        """How many memories of each kind can be seen, and in all. Consolidated episodes count as episodes."""
        counts = {kind.value: self.store.count(type=kind.value) for kind in MemoryCategory}
        counts[EPISODIC] = self.store.count(type=EPISODIC, where=NUMBERED, include_archived=True)
        return {**counts, "total": sum(counts.values())}

    def record_sensory(self, modality: str, raw_data: str, ttl_seconds: float = 300) -> str:
        """Stores an observation, which is hidden once it expires and removed by `prune_expired_sensory`."""
        lasting = validate.number("ttl_seconds", ttl_seconds, 0, LONGEST_TTL)
        draft = self.store.draft(
            raw_data, id_prefix=SENSORY_PREFIX, type=SENSORY, expires_at=self.store.now() + lasting,
            metadata={MODALITY: validate.required_label("modality", modality)},
        )  # fmt: skip

        def decide(mind: CognitiveMemory) -> WriteRequest:
            last = last_written(mind.store, SENSORY, OBSERVATIONS)
            return WriteRequest(new=[with_position(draft, last, self.store.now())])

        return self._commit("record_sensory", [draft], decide)[0].id

    def get_recent_sensory(self, limit: int = 10) -> list[SensoryItem]:
        """What has not expired, newest first."""
        return [SensoryItem.of(memory) for memory in self.store.list_recent(limit, type=SENSORY, where=OBSERVATIONS)]

    def attend_to_sensory(self, sensory_id: str, reason: str) -> str | None:
        """Makes an episode of an observation and links the two, in one operation; None when there is no such
        observation or it has expired."""
        if not isinstance(reason, str):
            raise InvalidInput(f"The reason must be text, not {type(reason).__name__}; say why it matters.")
        seen = self._live_observation(sensory_id)
        if seen is None:
            return None
        content = f"[{text_in(seen, MODALITY)}] {seen.text} -- attended: {reason}"
        episode = self._episode_draft(content, ATTENTION)

        def attended(memory: Memory) -> Memory:
            return replace(memory, links=(*memory.links, Link(episode.id, ATTENDED_TO)))

        def decide(mind: CognitiveMemory) -> WriteRequest | None:
            if mind._live_observation(sensory_id) is None:
                return None
            return WriteRequest(new=[mind._next_episode(episode)], edits={sensory_id: attended})

        return episode.id if self._commit("attend", [episode], decide) else None

    def prune_expired_sensory(self) -> int:
        """Removes what has expired, for good and in one operation; returns how many.

        Raw data may be private: neither the trash nor the journal keeps it. `undo` skips this operation, as it skips
        what maintenance removes.
        """
        now = self.store.now()
        gone = OBSERVATIONS & Filter.where(expires_at__le=now)
        ids = [memory.id for memory in self.store.list_recent(NO_LIMIT, **including_hidden(SENSORY, gone))]
        engine = self.store.acting_as(self.agent_name)
        return purge(engine, self.store.space, ids, only=gone.admits, why=UNATTENDED) if ids else 0

    def _live_observation(self, id: str) -> Memory | None:
        memory = self.store.get(id)
        there = memory is not None and memory.type == SENSORY and Filter.live(self.store.now()).admits(memory)
        return memory if there else None

    WORKING_MEMORY_CAPACITY = CAPACITY

    def push_working(self, slot_type: str, content: str, task_id: str, relevance: float = 1.0) -> str:
        """One operation. When the task is full, its least relevant slot, among equals the oldest, goes to the trash."""
        if isinstance(relevance, bool) or not isinstance(relevance, int | float) or not math.isfinite(relevance):
            raise InvalidInput(f"relevance is {relevance!r}; give a number, the higher the more relevant.")
        task = validate.required_label("task_id", task_id)
        kind = validate.required_label("slot_type", slot_type)
        draft = self.store.draft(
            content, id_prefix=SLOT_PREFIX, type=WORKING, session=task, importance=clamp(relevance),
            metadata={SLOT_TYPE: kind, RELEVANCE: float(relevance)},
        )  # fmt: skip

        def decide(mind: CognitiveMemory) -> WriteRequest:
            leaving = mind._slots(task)[self.WORKING_MEMORY_CAPACITY - 1 :]
            return WriteRequest(new=[draft], edits={memory.id: trashed for memory in leaving})

        self._commit("push_working", [draft], decide)
        return draft.id

    def get_working(self, task_id: str) -> list[WorkingMemorySlot]:
        """The most relevant first, among equals the newest."""
        return [WorkingMemorySlot.of(memory) for memory in self._slots(validate.required_label("task_id", task_id))]

    def clear_working(self, task_id: str) -> int:
        """Moves a task's slots to the trash, in one operation; returns how many."""
        task = validate.required_label("task_id", task_id)

        def decide(mind: CognitiveMemory) -> WriteRequest:
            return WriteRequest(edits={memory.id: trashed for memory in mind._slots(task)})

        return len(self._commit("clear_working", [], decide))

    def _slots(self, task: str) -> list[Memory]:
        newest_first = self.store.list_recent(NO_LIMIT, session=task, where=SLOTS)
        return sorted(newest_first, key=lambda memory: -relevance(memory))

    def store_episode(
        self, content: str, source_label: str, temporal_index: int | None = None,
        metadata: Mapping[str, Json] | None = None,
    ) -> str:  # fmt: skip
        """Without an index it gets the one after the highest, whichever process wrote that."""
        wanted = None if temporal_index is None else validate.natural_number("temporal_index", temporal_index)
        draft = self._episode_draft(content, source_label, metadata)

        def decide(mind: CognitiveMemory) -> WriteRequest:
            return WriteRequest(new=[mind._next_episode(draft, wanted)])

        return self._commit("store_episode", [draft], decide)[0].id

    def get_episodes(self, limit: int = 20, include_compressed: bool = False) -> list[EpisodicMemory]:
        """By index, highest first. `include_compressed` also returns episodes that were consolidated."""
        memories = last_episodes(self.store, limit, include_archived=include_compressed)
        return [EpisodicMemory.of(memory) for memory in memories]

    def consolidate_episodes(self, batch_size: int = 10, summarizer: Summarizer | None = None) -> str | None:
        """Makes one memory of the oldest episodes, which are archived and stay linked to it; one operation. None when
        there are fewer than `batch_size`."""
        if validate.natural_number("batch_size", batch_size) < 1:
            raise InvalidInput("A batch of 0 episodes makes no summary; give a batch_size of 1 or more.")
        while True:
            episodes = first_episodes(self.store, batch_size)
            if len(episodes) < batch_size:
                return None
            summary = self._summary_draft(episodes, summarizer)
            decide = partial(CognitiveMemory._consolidation, episodes=episodes, summary=summary)
            if self._commit("consolidate", [summary], decide):
                return summary.id
            # Another process consolidated some of them first: try again with the next.

    def get_consolidated(self, limit: int = 20) -> list[ConsolidatedEpisode]:
        """The summaries, newest first."""
        made = Filter.where(session="", links__rel=CONSOLIDATES)
        return [ConsolidatedEpisode.of(memory) for memory in self.store.list_recent(limit, type=EPISODIC, where=made)]

    def lineage(self, node_id: str) -> list[EpisodicMemory]:
        """The episodes that a summary was made of, oldest first. Raises `MemoryNotFound`."""
        ids = [edge.target for edge in self.store.edges(out_of=[self.store.resolve_id(node_id)], rel=CONSOLIDATES)]
        return [EpisodicMemory.of(memory) for memory in sorted(self.store.get_many(ids), key=position_of)]

    def _episode_draft(self, content: str, source_label: str, metadata: Mapping[str, Json] | None = None) -> Memory:
        fields = validate.json_object("metadata", {} if metadata is None else metadata)
        if HIGHEST in fields:
            raise InvalidInput(f"The metadata key {HIGHEST!r} belongs to the mind; give yours another name.")
        return self.store.draft(content, id_prefix=EPISODE_PREFIX, type=EPISODIC, source=source_label, metadata=fields)

    def _next_episode(self, draft: Memory, wanted: int | None = None) -> Memory:
        return with_position(draft, last_written(self.store, EPISODIC), self.store.now(), wanted)

    def _summary_draft(self, episodes: Sequence[Memory], summarizer: Summarizer | None) -> Memory:
        contents = [memory.text for memory in episodes]
        return self.store.draft(
            SEPARATOR.join(contents) if summarizer is None else summarizer(contents),
            id_prefix=SUMMARY_PREFIX, type=EPISODIC, source="consolidation",
            occurred_at=max(memory.happened_at for memory in episodes),
            importance=max(memory.importance for memory in episodes),
            tags=dict.fromkeys(tag for memory in episodes for tag in memory.tags),
            metadata={ORIGINALS: len(episodes)}, links=[Link(memory.id, CONSOLIDATES) for memory in episodes],
        )  # fmt: skip

    def _consolidation(self, episodes: Sequence[Memory], summary: Memory) -> WriteRequest | None:
        """None when one of the episodes has changed, gone or been consolidated since it was read."""
        ids = [memory.id for memory in episodes]
        live = Filter.live(self.store.now())
        now = {memory.id: memory.text for memory in self.store.get_many(ids) if live.admits(memory)}
        if any(now.get(memory.id) != memory.text for memory in episodes):
            return None
        return WriteRequest(new=[summary], edits=dict.fromkeys(ids, partial(replace, status=ARCHIVED)))

    def store_fact(
        self, concept: str, content: str, confidence: float = 1.0, source_id: str = "",
        tags: Iterable[str] | None = None, temporal_metadata: Mapping[str, Json] | None = None,
    ) -> str:  # fmt: skip
        """Links it to similar facts, and to its source where that is a memory of this agent; one operation."""
        metadata = validate.json_object("temporal_metadata", {} if temporal_metadata is None else temporal_metadata)
        draft = self.store.draft(
            content, id_prefix=FACT_PREFIX, type=SEMANTIC, title=concept, confidence=confidence, source=source_id,
            tags=() if tags is None else tags, metadata=metadata,
        )  # fmt: skip
        learned = [Link(draft.source, DERIVED_FROM)] if draft.source and self.store.get(draft.source) else []
        fact = replace(draft, links=(*self._similarity_links(draft), *learned))
        self._commit("store_fact", [fact])
        return fact.id

    def search_facts(self, query: str, limit: int = 10, min_confidence: float = 0.0) -> list[SemanticFact]:
        """The facts that have a word of the question, the surest first, then the newest; all for an empty question. The
        store's own recall also finds by meaning."""
        least = validate.fraction("min_confidence", min_confidence)
        memories: list[Memory]
        if not validate.label("query", query):
            memories = self.store.list_recent(limit, order="confidence", type=SEMANTIC, min_confidence=least)
        else:
            sure = Filter.where(type=SEMANTIC, confidence__ge=least)
            memories = sorted(find_by_words(self.store, query, sure), key=lambda memory: -memory.confidence)
        return [SemanticFact.of(memory) for memory in memories[: max(0, limit)]]

    def get_all_facts(self, limit: int = 50) -> list[SemanticFact]:
        """Newest first."""
        return [SemanticFact.of(memory) for memory in self.store.list_recent(limit, type=SEMANTIC)]

    def _similarity_links(self, fact: Memory) -> list[Link]:
        """Compares with a bounded number of facts."""
        text = f"{fact.title} {fact.text}"
        near = find_by_words(self.store, text, Filter.where(type=SEMANTIC), SHARING_WORDS, keywords=COMPARED_TERMS)
        others = {memory.id: memory for memory in (*self.store.list_recent(RECENT, type=SEMANTIC), *near)}
        mine = SemanticFact.of(fact)
        scores = {id: compute_similarity(mine, SemanticFact.of(memory)) for id, memory in others.items()}
        best = sorted((id for id in scores if scores[id] > SIMILAR), key=lambda id: -scores[id])[:MAX_LINKS]
        return [Link(id, SIMILAR_TO, weight=round(scores[id], 3)) for id in best]

    def store_procedure(
        self, name: str, steps: Sequence[str], prerequisites: Sequence[str] | None = None, *, source_id: str = ""
    ) -> str:
        """`source_id` is the episode that taught it."""
        checked_steps = check_texts("steps", steps)
        needed = check_texts("prerequisites", () if prerequisites is None else prerequisites)
        title, source = validate.required_label("name", name), validate.label("source_id", source_id)
        draft = self.store.draft(
            "\n".join(f"{at}. {step}" for at, step in enumerate(checked_steps, start=1)) or title,
            id_prefix=PROCEDURE_PREFIX, type=PROCEDURAL, title=title, source=source,
            metadata={STEPS: [*checked_steps], PREREQUISITES: [*needed]},
            links=[Link(source, PROCEDURE_DERIVES_FROM)] if source and self.store.get(source) else (),
        )  # fmt: skip
        self._commit("store_procedure", [draft])
        return draft.id

    def recall_procedure(self, query: str, limit: int = 5) -> list[ProceduralMemory]:
        """Those that have a word of the question, the most used first, then the newest; for an empty question those of
        all, the most used first, then the oldest.

        What is returned counts as used. A use is not an operation: it is not in the journal and cannot be undone.
        """
        if validate.label("query", query):
            matches = find_by_words(self.store, query, Filter.where(type=PROCEDURAL))
            chosen = sorted(matches, key=lambda memory: (-memory.access_count, -memory.created_at))[: max(0, limit)]
        else:
            chosen = self._most_used(max(0, limit))
        if chosen:
            self.store.backend.touch(self.store.space, [memory.id for memory in chosen], self.store.now())
        return [ProceduralMemory.of(memory) for memory in chosen]

    def _most_used(self, limit: int) -> list[Memory]:
        """However many there are: those never used are read no further than they are wanted."""
        used, unused = Filter.where(access_count__gt=0), Filter.where(access_count=0)
        used_most = self.store.list_recent(MATCHES, order="accessed", type=PROCEDURAL, where=used)
        rest = self.store.list_recent(limit, order="oldest", type=PROCEDURAL, where=unused) if limit else []
        return [*sorted(used_most, key=lambda memory: (-memory.access_count, memory.created_at)), *rest][:limit]

    def store_prospective(
        self, description: str, trigger_condition: str, action_on_trigger: str, priority: int = 1
    ) -> str:
        trigger = validate.memory_text("trigger_condition", trigger_condition)
        action = validate.memory_text("action_on_trigger", action_on_trigger)
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise InvalidInput(f"priority is {priority!r}; give a whole number, the higher the sooner.")
        metadata: dict[str, Json] = {TRIGGER: trigger, ACTION: action, STATE: PENDING, PRIORITY: priority}
        draft = self.store.draft(description, id_prefix=INTENTION_PREFIX, type=PROSPECTIVE, metadata=metadata)
        # Each trigger word is a context, so that a filter finds it; the draft's trigger has its secrets redacted.
        all_words = words(text_in(draft, TRIGGER))
        contexts = dict.fromkeys([each for each in all_words if each not in STOP_WORDS] or all_words)
        self._commit("store_prospective", [replace(draft, contexts=tuple(contexts))])
        return draft.id

    def check_triggers(self, content: str) -> list[ProspectiveMemory]:
        """The waiting intentions of which a trigger word occurs in the content, as a whole word; the most urgent
        first. All of them are triggered from now on, in one operation.

        Common words such as "the" trigger nothing, unless a trigger has no others.
        """
        said = dict.fromkeys(words(validate.storable_text("content", content)))
        if not said:
            return []

        def decide(mind: CognitiveMemory) -> WriteRequest:
            due = mind.store.list_recent(NO_LIMIT, where=WAITING & Filter.where(contexts__any=tuple(said)))
            return WriteRequest(edits={memory.id: partial(with_state, state=TRIGGERED) for memory in due})

        done = sorted(self._commit("trigger", [], decide), key=most_urgent)
        return [ProspectiveMemory.of(memory) for memory in done]

    def resolve_prospective(self, node_id: str) -> bool:
        """False when there is no such intention, or it was resolved already."""

        def decide(mind: CognitiveMemory) -> WriteRequest | None:
            memory = mind.store.get(node_id)
            if memory is None or memory.type != PROSPECTIVE or memory.status == TRASHED:
                return None
            return WriteRequest(edits={node_id: partial(with_state, state=RESOLVED)})

        return bool(self._commit("resolve", [], decide))

    def get_prospective(self, status: str = PENDING, limit: int = 20) -> list[ProspectiveMemory]:
        """Of this state, the most urgent of the newest first."""
        memories = self.store.list_recent(limit, where=INTENTIONS & Filter.where(metadata__state=status))
        return [ProspectiveMemory.of(memory) for memory in sorted(memories, key=most_urgent)]

    def _commit(
        self,
        name: str,
        drafts: Sequence[Memory],
        decide: Callable[[CognitiveMemory], WriteRequest | None] | None = None,
    ) -> list[Memory]:
        """One operation; stores the drafts, or what `decide` makes of what it reads in the mind that it is given (None
        changes nothing). Returns the new and changed memories.

        The drafts are embedded before: `decide` must not change their text.
        """
        engine = self.store.acting_as(self.agent_name)
        derived, _ = engine.derive(drafts) if drafts else ([], ())

        def decided(reader: Reader) -> WriteRequest | None:
            mind = copy(self)
            mind.store = self.store.reading(reader)
            return WriteRequest(new=drafts) if decide is None else decide(mind)

        return apply_decided(engine, self.store.space, name, derived, decided)


def find_by_words(
    store: MemoryStore, question: str, among: Filter, limit: int = MATCHES, keywords: int = KEYWORDS
) -> list[Memory]:
    """Newest first. Uses the word index, so the cost grows with the matches, of which at most `limit` are read."""
    terms = content_stems(question)[:keywords]
    index, where = store.backend, Filter.live(store.now()) & among
    matches = index.by_words(store.space, terms, where, limit) if terms else []
    memories = [
        memory
        for memory in store.get_many([match.id for match in matches])
        if not set(terms).isdisjoint(stems(f"{memory.title} {memory.text}"))
    ]
    return sorted(memories, key=lambda memory: -memory.created_at)


class LastWritten(NamedTuple):
    """The highest position so far, and the time of the memory that was written last; 0 when there is none yet."""

    position: int
    at: float


def last_written(store: MemoryStore, kind: str, among: Filter = NUMBERED) -> LastWritten:
    """Reads one page of the newest memories."""
    newest = store.list_recent(NEWEST_CHECKED, **including_hidden(kind, among))
    highest = max((int_in(memory, HIGHEST, position_of(memory)) for memory in newest), default=0)
    return LastWritten(highest, newest[0].created_at if newest else 0.0)


def with_position(draft: Memory, last: LastWritten, now: float, wanted: int | None = None) -> Memory:
    """`now` is the time inside the transaction: by then a draft may have waited while others were written, and the
    newest memory must be the one that was written last. A clock that was set back tells only when it happened."""
    if now < last.at:
        draft = replace(draft, occurred_at=now if draft.occurred_at is None else draft.occurred_at)
    at = max(now, last.at)
    draft = replace(draft, created_at=at, updated_at=at, last_accessed=now)
    if wanted is None or wanted > last.position:
        return replace(draft, position=last.position + 1 if wanted is None else wanted)
    return replace(draft, position=wanted, metadata={**draft.metadata, HIGHEST: last.position})


def last_episodes(store: MemoryStore, limit: int, *, include_archived: bool) -> list[Memory]:
    """Those with the highest positions, highest first.

    Usually these are the newest. Only where positions were given out of order, all that are above the lowest of the
    newest are read as well.
    """
    page = store.list_recent(limit, type=EPISODIC, where=NUMBERED, include_archived=include_archived)
    if page and len(page) >= limit:
        lowest = min(map(position_of, page))
        if position_of(page[-1]) > lowest or HIGHEST in page[-1].metadata:
            above = NUMBERED & Filter.where(position__gt=lowest)
            page += store.list_recent(NO_LIMIT, type=EPISODIC, where=above, include_archived=include_archived)
    each_once = {memory.id: memory for memory in page}.values()
    return sorted(each_once, key=lambda memory: (-position_of(memory), -memory.created_at))[:limit]


def first_episodes(store: MemoryStore, limit: int) -> list[Memory]:
    """Those with the lowest positions, lowest first."""
    page: list[Memory] = store.list_recent(limit, order="oldest", type=EPISODIC, where=NUMBERED)
    if page:
        below = NUMBERED & Filter.where(position__lt=max(map(position_of, page)))
        page += store.list_recent(NO_LIMIT, order="oldest", type=EPISODIC, where=below)
    each_once = {memory.id: memory for memory in page}.values()
    return sorted(each_once, key=lambda memory: (position_of(memory), memory.created_at))[:limit]


def including_hidden(kind: str, where: Filter) -> Scope:
    hidden: Scope = {"include_superseded": True, "include_trashed": True, "include_expired": True}
    return {**hidden, "include_archived": True, "type": kind, "where": where}


def position_of(memory: Memory) -> int:
    return memory.position or 0


def check_texts(name: str, values: Sequence[str]) -> list[Json]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInput(f"{name} must be a list of texts, not {type(values).__name__}; write [{values!r}].")
    return [validate.memory_text(name, each) for each in values]


def with_state(memory: Memory, state: str) -> Memory:
    return memory if text_in(memory, STATE) == state else replace(memory, metadata={**memory.metadata, STATE: state})


def most_urgent(memory: Memory) -> tuple[int, float]:
    return -int_in(memory, PRIORITY, 1), memory.created_at
