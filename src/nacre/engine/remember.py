"""Stores new memories, and handles their conflicts with stored ones as the policy says."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from nacre.conflicts.candidates import Compared, Comparison
from nacre.engine.engine import Engine, insertions
from nacre.engine.supersede import all_superseded
from nacre.errors import ConflictError, ConflictWarning, UnknownName
from nacre.model import Conflict, Link, Memory, Operation, RememberResult
from nacre.protocols import AnyChange, Derived, Reader

CONFLICTS = "conflicts"  # the relation of a link that waits in the review queue
POLICIES = ("note", "ignore", "warn", "supersede", "raise")
SAME = 0.95  # texts that are this similar may say the same, and need not be stored twice
PUNCTUATION = ".,;:!?'\"’“”«»()-–—"
WORDINGS = "other_wordings"  # of one that was merged, in its metadata
SAME_FIELDS = ("polarity", "type", "occurred_at", "valid_from", "valid_until", "expires_at")
REPEATED = 0.05  # added to a memory's importance when it is remembered again


@dataclass(frozen=True, slots=True)
class ConflictHandling:
    """What to do about conflicts, and how to find them."""

    policy: str
    comparison: Comparison

    def __post_init__(self) -> None:
        check_policy(self.policy)


def check_policy(name: str) -> str:
    if name not in POLICIES:
        raise UnknownName("conflict policy", name, POLICIES)
    return name


def store_all(engine: Engine, memories: Sequence[Memory], operation: Operation) -> list[RememberResult]:
    """Stores all of them as a part of the operation, or none, without looking for conflicts."""
    derived, notes = engine.derive(memories)
    engine.commit_part(operation, lambda _: insertions(memories, derived))
    return [RememberResult(memory, notes=notes) for memory in memories]


def store_one(engine: Engine, memory: Memory, handling: ConflictHandling, *, why: str = "") -> RememberResult:
    """One operation, whatever the policy does. Two that are written at the same moment do not see each other."""
    if handling.policy == "ignore":
        return store_all(engine, [memory], engine.operation("remember", why))[0]
    (derived,), notes = engine.derive([memory])
    compared = find_conflicts(memory, derived, handling.comparison)
    conflicts, notes = tuple(compared.conflicts), (*notes, *compared.notes)
    if conflicts and handling.policy == "raise":
        raise ConflictError(conflicts)
    if conflicts and handling.policy == "supersede":
        return store_superseding(engine, memory, derived, conflicts, notes, why)
    stored = with_conflict_links(memory, conflicts) if handling.policy == "note" else memory
    engine.commit("remember", lambda _: insertions([stored], [derived]), why)
    if conflicts and handling.policy == "warn":
        warnings.warn(ConflictWarning(conflicts), stacklevel=caller_level())
    return RememberResult(stored, conflicts, notes=notes)


def caller_level() -> int:
    """How far up the stack the first caller outside of this package is, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "nacre":
        level, frame = level + 1, frame.f_back
    return level


def find_conflicts(memory: Memory, derived: Derived, comparison: Comparison) -> Compared:
    vector = derived.vectors[0] if derived.vectors is not None and len(derived.vectors) else None
    return comparison.compare(memory, vector) if is_statement(memory) else Compared([])


def is_statement(memory: Memory) -> bool:
    """False for a turn of a conversation or a passing impression: those state nothing that could conflict."""
    return memory.type not in ("sensory", "working") and not (memory.session and memory.role)


def with_conflict_links(memory: Memory, conflicts: Sequence[Conflict]) -> Memory:
    """Adds a `conflicts` link for each. The words that decided are not stored with it: they can be found again, and a
    redaction would miss them."""
    links = [
        Link(
            each.b.id,
            CONFLICTS,
            data={"kind": each.kind, "reason": each.reason, "similarity": round(each.similarity, 3), "sure": each.sure},
        )
        for each in conflicts
    ]
    return replace(memory, links=(*memory.links, *links))


def store_superseding(
    engine: Engine, memory: Memory, derived: Derived, conflicts: tuple[Conflict, ...], notes: tuple[str, ...], why: str
) -> RememberResult:
    """Replaces what it surely contradicts or updates, notes what is uncertain, and merges into the same text."""
    replaced = [each.b.id for each in conflicts if each.kind != "duplicate" and may_replace(each)]
    uncertain = [each for each in conflicts if each.kind != "duplicate" and not may_replace(each)]
    memory = with_conflict_links(memory, uncertain)
    same = next((each.b for each in conflicts if is_repetition(each)), None)
    if same is not None and not replaced and not uncertain:
        (merged,) = engine.change(memory.space, [same.id], "merge", lambda old: merge_repetition(old, memory), why=why)
        return RememberResult(merged, conflicts, "merged", notes)
    stored: list[Memory] = []

    def plan(reader: Reader) -> list[AnyChange]:
        (new,) = insertions([memory], [derived])
        predecessors = reader.get_many(memory.space, replaced)
        successor, changes = all_superseded(reader, predecessors, memory, engine.clock())
        stored[:] = [successor]
        return [replace(new, after=successor), *changes]

    engine.commit("remember", plan, why)
    return RememberResult(stored[0], conflicts, "superseded" if replaced else "stored", notes)


def may_replace(conflict: Conflict) -> bool:
    """Whether the new memory may replace the old one without review. A pinned memory, one of more trust, a turn of a
    conversation, and one that is newer or true later are only noted."""
    new, old = conflict.a, conflict.b
    earlier = new.created_at < old.created_at or (new.valid_until or inf) <= (old.valid_from or -inf)
    return conflict.sure and not old.pinned and new.trust >= old.trust and is_statement(old) and not earlier


def is_repetition(conflict: Conflict) -> bool:
    """Whether the new memory adds nothing: much alike, of the same words and symbols, and said of the same time."""
    new, old = conflict.a, conflict.b
    if conflict.kind != "duplicate" or conflict.similarity < SAME:
        return False
    if words_and_symbols(new.text) != words_and_symbols(old.text):
        return False
    return all(getattr(new, name) == getattr(old, name) for name in SAME_FIELDS)


def words_and_symbols(text: str) -> tuple[set[str], list[str]]:
    from nacre.text.tokens import content_stems

    symbols = sorted(each for each in text if not each.isalnum() and not each.isspace() and each not in PUNCTUATION)
    return set(content_stems(text)), symbols


def merge_repetition(old: Memory, new: Memory) -> Memory:
    """The old memory, with the new one's tags and, if it differs, its wording: no text is lost."""
    importance = min(1.0, max(old.importance, new.importance) + REPEATED)
    tags = tuple(dict.fromkeys((*old.tags, *new.tags)))
    if new.text.split() == old.text.split():
        return replace(old, importance=importance, tags=tags)
    wordings = old.metadata.get(WORDINGS)
    earlier = wordings if isinstance(wordings, list) else []
    return replace(old, importance=importance, tags=tags, metadata={**old.metadata, WORDINGS: [*earlier, new.text]})
