"""One mark on several memories, in one act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nacre.cli.asking import counted
from nacre.cli.columns import excerpt, short
from nacre.cli.door import ACTOR
from nacre.cli.faults import Refused
from nacre.cli.naming import named
from nacre.cli.output import say

if TYPE_CHECKING:
    from nacre.model import Memory
    from nacre.store import MemoryStore


def untrashed(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Those that are named; what is in the trash must come back first."""
    memories = named(store, ids)
    trashed = next((memory for memory in memories if memory.status == "trashed"), None)
    if trashed is not None:
        raise Refused(f"{short(trashed.id)} is in the trash; `nacre restore {short(trashed.id)}` brings it back.")
    return memories


def mark(
    store: MemoryStore, memories: Sequence[Memory], act: str, edit: Callable[[Memory], Memory], done: str, why: str
) -> None:
    changing = [memory for memory in memories if edit(memory) != memory]
    if not changing:
        say("Nothing to do: that is so already.")
        return
    store.acting_as(ACTOR).change(store.space, [memory.id for memory in changing], act, edit, why=why)
    told = f"{short(changing[0].id)}: {excerpt(changing[0])}" if len(changing) == 1 else f"{counted(len(changing))}."
    say(f"{done} {told}")
    say("`nacre undo` takes it back.")
