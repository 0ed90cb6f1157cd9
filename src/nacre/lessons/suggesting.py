"""What lessons like this one say that this one does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.vocabulary import LESSONS, TAG, Vocabulary
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory

ALIKE = 8  # lessons that are looked at
TAGGED = 50  # lessons with one of its tags that are looked at, the newest first
SUGGESTED = 3
LEAST_LIKE = 0.1  # lessons on the same matter have 0.1 to 0.4; what merely was the nearest, 0.01
READ = 1_000  # characters tell what a lesson is about
# A lesson about the same matter says more of its situation than one that merely bears the same tag.
BY_MATTER, BY_TAG = 3, 1


def contexts_beside(store: MemoryStore, memory: Memory) -> tuple[str, ...]:
    """The contexts of lessons that are like this one, the most frequent first."""
    return contexts_for(store, f"{memory.title}\n{memory.text}", memory.tags, but=memory.id)


def contexts_for(store: MemoryStore, text: str, tags: Iterable[str] = (), *, but: str = "") -> tuple[str, ...]:
    """The contexts of lessons on this matter, or with these tags, the most frequent first; of `but`'s own, none."""
    counted: Counter[str] = Counter()
    if text.strip():
        for hit in store.recall(text[:READ], ALIKE, touch=False, rerank=False, min_relevance=LEAST_LIKE, where=LESSONS):
            if hit.memory.id != but:
                counted.update(dict.fromkeys(hit.memory.contexts, BY_MATTER))
    for memory in tagged(store, tags):
        if memory.id != but:
            counted.update(dict.fromkeys(memory.contexts, BY_TAG))
    return tuple(name for name, _ in counted.most_common(SUGGESTED))


def tagged(store: MemoryStore, tags: Iterable[str]) -> list[Memory]:
    words = Vocabulary(store, TAG)
    asked = dict.fromkeys(other for tag in tags if not tag.startswith(AGENT_TAG) for other in words.family(tag))
    if not asked:
        return []
    where = LESSONS & Filter.where(tags__under=list(asked), contexts__unset=False)
    return store.list_recent(TAGGED, where=where)
