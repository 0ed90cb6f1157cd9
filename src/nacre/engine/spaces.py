"""Spaces as a whole: one is described, copied into another, renamed, emptied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.engine.changes import SPACE, AnyChange, Change, SpaceRenamed, TermChange
from nacre.engine.engine import Engine, is_redacted
from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.model import Filter, Memory
from nacre.protocols import Transaction

DESCRIPTION = "description"


def known(engine: Engine) -> set[str]:
    return {*engine.store.spaces(), *engine.store.terms(SPACE)}


def create(engine: Engine, space: str, description: str, *, why: str = "") -> bool:
    """Notes the space, so that it is listed before anything is remembered in it; False when it is noted so already."""

    def plan(transaction: Transaction) -> list[AnyChange]:
        before = transaction.term(SPACE, space)
        after = {**(before or {}), **({DESCRIPTION: description} if description else {})}
        return [] if before == after else [TermChange(space, SPACE, space, before, after)]

    return bool(engine.commit("create_space", plan, why))


def copied(engine: Engine, space: str, target: str) -> list[Memory]:
    """What a copy would bring: all that is not in the trash and whose id is free there."""
    if target == space:
        raise InvalidInput(f"The space {space!r} cannot be copied into itself; name another.")
    there = {memory.id for memory in engine.store.iterate(target, Filter())}
    wanted = engine.store.iterate(space, Filter.where(status__ne="trashed"))
    return [replace(memory, space=target) for memory in wanted if memory.id not in there]


def copy(engine: Engine, space: str, target: str, *, why: str = "") -> list[Memory]:
    """One act of the target's. Vectors are taken over as they are; ids are kept, so that ties hold there too."""
    memories = copied(engine, space, target)
    derived, _ = engine.derived(memories) if memories else ([], ())

    def plan(transaction: Transaction) -> list[AnyChange]:
        fresh = zip(memories, derived, strict=True)
        return [Change(None, memory, found) for memory, found in fresh if transaction.get(target, memory.id) is None]

    engine.commit("copy_space", plan, why)
    return memories


def rename(engine: Engine, space: str, new: str, *, why: str = "") -> None:
    if space not in known(engine):
        raise InvalidInput(f"There is no space {space!r}; `nacre space list` has them all.")

    def plan(transaction: Transaction) -> list[AnyChange]:  # noqa: ARG001 (asked while nobody else writes)
        if new in known(engine):
            raise InvalidInput(f"There is a space {new!r} already; `nacre space copy` brings one into another.")
        return [SpaceRenamed(space, new)]

    engine.commit("rename_space", plan, why)


def emptied(engine: Engine, space: str) -> list[Memory]:
    """What a deletion would move to the trash."""
    found = engine.store.iterate(space, Filter.where(status__ne="trashed"))
    return [memory for memory in found if not is_redacted(memory)]


def empty(engine: Engine, space: str, *, why: str = "") -> int:
    ids: Sequence[str] = [memory.id for memory in emptied(engine, space)]
    return len(engine.change_present(space, ids, "delete_space", trashed, why=why)) if ids else 0


def purge(engine: Engine, space: str, *, why: str = "") -> int:
    """All that the space holds, in the trash too, its words, and what its journal tells, for good; one act."""
    gone: list[str] = []

    def plan(transaction: Transaction) -> list[AnyChange]:
        for memory in list(engine.store.iterate(space, Filter())):
            transaction.remove(space, memory.id)
            gone.append(memory.id)
        transaction.forget_terms(space)
        last = engine.store.journal(space, limit=1)
        if last:
            transaction.forget_journal(space, last[0].seq)
        return []

    engine.removing("purge", space, plan, gone, why)
    return len(gone)
