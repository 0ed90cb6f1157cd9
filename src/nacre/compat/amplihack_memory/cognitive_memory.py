"""CognitiveMemory: the six kinds of memory of one agent, in a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from nacre.compat.amplihack_memory._base import Embedding, OwnDatabase, default_path, strip_name
from nacre.engine.write_request import WriteRequest
from nacre.minds.cognitive import CAPACITY, KEYWORDS, PENDING, RECENT, RESOLVED, SIMILAR, TRIGGERED, SemanticFact
from nacre.minds.cognitive import CognitiveMemory as Native
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.text.grammar import negation_diff
from nacre.text.similarity import SHORTEST, overlap

from . import memory_types
from .similarity import _tokenize as _tokenize

WORKING_MEMORY_CAPACITY = CAPACITY
SIMILARITY_THRESHOLD, SIMILARITY_CANDIDATE_LIMIT = SIMILAR, RECENT
MAX_SEARCH_KEYWORDS, MIN_TOKEN_LENGTH = KEYWORDS, SHORTEST
GRAPH_FETCH_MULTIPLIER = 3  # published; has no effect here
PROSPECTIVE_STATUS_PENDING, PROSPECTIVE_STATUS_TRIGGERED, PROSPECTIVE_STATUS_RESOLVED = PENDING, TRIGGERED, RESOLVED
_compute_similarity = overlap
SHARED_WORDS = 2  # that two texts must have before one can deny the other

Conversion = TypeVar("Conversion", bound=Callable[..., Any])


def converted_by(kind: type[memory_types.LocalTimes], method: Conversion) -> Conversion:
    """The method, whose native records become records of this kind."""

    @wraps(method)
    def convert(*values: Any, **named: Any) -> Any:
        return [kind(**vars(each)) for each in method(*values, **named)]

    return cast(Conversion, convert)


class CognitiveMemory(OwnDatabase, Native):
    """Slots that leave working memory are deleted for good; `buffer_pool_size` and `max_db_size` have no effect."""

    def __init__(
        self, agent_name: str, db_path: Path | str | None = None, buffer_pool_size: int = 0, max_db_size: int = 0,
        *, embedder: Embedding = None,
    ) -> None:  # fmt: skip
        del buffer_pool_size, max_db_size
        agent, self.embedding = strip_name(agent_name), embedder
        self.db_path = default_path("memory", agent, "cognitive.db") if db_path is None else Path(db_path)
        super().__init__(agent, self.db_path)

    def _commit(
        self, name: str, drafts: Sequence[Memory], decide: Callable[[Native], WriteRequest | None] | None = None
    ) -> list[Memory]:
        done = super()._commit(name, drafts, decide)
        if given_up := [memory.id for memory in done if memory.status == "trashed"]:
            self.store.purge(*given_up)
        return done

    def store_fact(
        self, concept: str, content: str, confidence: float = 1.0, source_id: str = "",
        tags: Iterable[str] | None = None, temporal_metadata: Mapping[str, Json] | None = None,
        source_episode_id: str | None = None,
    ) -> str:  # fmt: skip
        source = source_id or source_episode_id or ""
        return super().store_fact(concept, content, confidence, source, tags, temporal_metadata)

    get_recent_sensory = converted_by(memory_types.SensoryItem, Native.get_recent_sensory)
    get_working = converted_by(memory_types.WorkingMemorySlot, Native.get_working)
    get_episodes = converted_by(memory_types.EpisodicMemory, Native.get_episodes)
    get_consolidated = converted_by(memory_types.ConsolidatedEpisode, Native.get_consolidated)
    lineage = converted_by(memory_types.EpisodicMemory, Native.lineage)
    search_facts = converted_by(memory_types.SemanticFact, Native.search_facts)
    recall_procedure = converted_by(memory_types.ProceduralMemory, Native.recall_procedure)
    check_triggers = converted_by(memory_types.ProspectiveMemory, Native.check_triggers)
    get_prospective = converted_by(memory_types.ProspectiveMemory, Native.get_prospective)

    def get_all_facts(self, limit: int = 50) -> list[SemanticFact]:
        """The surest first."""
        return self.search_facts("", limit)


def _detect_contradiction(text_a: str, text_b: str) -> bool:
    return len(_tokenize(text_a) & _tokenize(text_b)) >= SHARED_WORDS and negation_diff(text_a, text_b)
