"""Keeps new memories, and does what the policy says where they conflict with those that stand."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nacre.conflicts.candidates import Comparison
from nacre.engine.changes import AnyChange, new_only
from nacre.engine.engine import Engine
from nacre.engine.supersede import all_superseded
from nacre.errors import ConflictError, ConflictWarning, UnknownName
from nacre.model import Conflict, Link, Memory, RememberResult
from nacre.protocols import Derived, Transaction

CONFLICTS = "conflicts"  # the relation of a tie that waits in the review queue
POLICIES = ("note", "ignore", "warn", "supersede", "raise")
SAME = 0.95  # from here on two texts of one polarity are taken for the same, and need not be kept twice
HEARD_AGAIN = 0.05  # what it adds to the importance of a memory to be told once more


@dataclass(frozen=True, slots=True)
class Handling:
    """What to do about conflicts, and how to find them."""

    policy: str
    comparison: Comparison

    def __post_init__(self) -> None:
        known_policy(self.policy)


def known_policy(name: str) -> str:
    if name not in POLICIES:
        raise UnknownName("conflict policy", name, POLICIES)
    return name


def keep(engine: Engine, memories: Sequence[Memory], *, why: str = "") -> list[RememberResult]:
    """Keeps them all in one act, or none, without looking at what stands."""
    derived, notes = engine.derived(memories)
    engine.commit("remember", lambda tx: new_only(memories, derived, tx), why)
    return [RememberResult(memory, notes=notes) for memory in memories]


def remember(engine: Engine, memory: Memory, handling: Handling, *, why: str = "") -> RememberResult:
    """One act, whatever the policy makes of it. Two that are written at the same moment do not see each other."""
    if handling.policy == "ignore":
        return keep(engine, [memory], why=why)[0]
    (derived,), notes = engine.derived([memory])
    vector = derived.vectors[0] if derived.vectors is not None and len(derived.vectors) else None
    found = tuple(handling.comparison.conflicts(memory, vector)) if states(memory) else ()
    if found and handling.policy == "raise":
        raise ConflictError(found)
    if found and handling.policy == "supersede":
        return superseding(engine, memory, derived, found, notes, why)
    kept = noted(memory, found) if handling.policy == "note" else memory
    engine.commit("remember", lambda tx: new_only([kept], [derived], tx), why)
    if found and handling.policy == "warn":
        warnings.warn(ConflictWarning(found), stacklevel=4)
    return RememberResult(kept, found, notes=notes)


def states(memory: Memory) -> bool:
    """True unless it is a turn of a conversation or a passing impression: those hold nothing that could conflict."""
    return memory.type not in ("sensory", "working") and not (memory.session and memory.role)


def noted(memory: Memory, conflicts: Sequence[Conflict]) -> Memory:
    """The words that decided are not kept with the tie: they can be found again, and a redaction must not miss them."""
    ties = [
        Link(each.b.id, CONFLICTS, data={"kind": each.kind, "reason": each.reason, "similarity": rounded})
        for each in conflicts
        for rounded in (round(each.similarity, 3),)
    ]
    return replace(memory, links=(*memory.links, *ties))


def superseding(
    engine: Engine, memory: Memory, derived: Derived, found: tuple[Conflict, ...], notes: tuple[str, ...], why: str
) -> RememberResult:
    replaced = [each.b.id for each in found if each.kind != "duplicate" and each.sure]
    doubtful = [each for each in found if each.kind != "duplicate" and not each.sure]
    memory = noted(memory, doubtful)
    same = next((each.b for each in found if repeats(each)), None)
    if same is not None and not replaced and not doubtful:
        (again,) = engine.change(memory.space, [same.id], "merge", lambda m: told_again(m, memory), why=why)
        return RememberResult(again, found, "merged", notes)
    kept: list[Memory] = []

    def plan(transaction: Transaction) -> list[AnyChange]:
        (new,) = new_only([memory], [derived], transaction)
        formers = filter(None, (transaction.get(memory.space, id) for id in replaced))
        heir, changes = all_superseded(transaction, formers, memory, engine.clock())
        kept.append(heir)
        return [replace(new, after=heir), *changes]

    engine.commit("remember", plan, why)
    return RememberResult(kept[0], found, "superseded" if replaced else "stored", notes)


def repeats(conflict: Conflict) -> bool:
    same_side = conflict.a.polarity == conflict.b.polarity
    return conflict.kind == "duplicate" and conflict.similarity >= SAME and same_side


def told_again(stood: Memory, again: Memory) -> Memory:
    importance = min(1.0, max(stood.importance, again.importance) + HEARD_AGAIN)
    return replace(stood, importance=importance, tags=tuple(dict.fromkeys((*stood.tags, *again.tags))))
