"""AI-Houkai's rules for conflicts between two memories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nacre.compat.ai_houkai.memory_system.models import Conflict, ConflictFn, Memory
from nacre.lifecycle.clustering import mean_direction
from nacre.memory_store import MemoryStore as NativeStore
from nacre.model import Filter

WORD = re.compile(r"[a-z0-9]+")
NEGATIONS = frozenset(
    "not never no dont doesnt wont shouldnt cant cannot isnt arent without avoid neither nor nothing nobody nowhere"
    " none".split()
)
NEAREST = 12


def tokenize(text: str) -> list[str]:
    return WORD.findall(text.lower())


def negation_diff(one: str, other: str) -> bool:
    """Whether exactly one of the texts has an odd number of negations."""
    counts = [sum(word in NEGATIONS for word in tokenize(re.sub("['’]", "", text))) for text in (one, other)]
    return counts[0] % 2 != counts[1] % 2


def judge(a: Memory, b: Memory, similarity: float, contradicts: ConflictFn | None) -> Conflict:
    derived = any(link.rel == "derived_from" and link.to in (a.id, b.id) for link in (*a.links, *b.links))
    if derived:
        return Conflict(a, b, similarity, "duplicate", "similarity")
    if a.polarity * b.polarity == -1:
        return Conflict(a, b, similarity, "contradiction", "polarity")
    if negation_diff(a.text, b.text):
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
    near = store.acting_as("conflicts").store.by_vector(store.space, vector, Filter.live(store.now()), NEAREST + 1)
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
