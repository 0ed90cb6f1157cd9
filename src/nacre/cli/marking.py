"""The commands that put one mark on several memories, in one act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from nacre.cli.asking import counted
from nacre.cli.columns import excerpt, short
from nacre.cli.door import Door
from nacre.cli.faults import Refused
from nacre.cli.naming import named
from nacre.cli.options import door_options, why_option
from nacre.cli.output import say

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Memory


def marking(name: str, help: str, done: str) -> click.Command:
    """A command named as the method of the store that it calls."""

    @click.command(name, help=help)
    @click.argument("ids", nargs=-1, required=True, metavar="ID...")
    @why_option
    @door_options
    @click.pass_obj
    def command(door: Door, ids: tuple[str, ...], why: str) -> None:
        with door.open() as store:
            method: Callable[..., list[Memory]] = getattr(store, name)
            tell(method(*(memory.id for memory in untrashed(store, ids)), why=why), done)

    return command


def untrashed(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Those that are named; what is in the trash must come back first."""
    memories = named(store, ids)
    trashed = next((memory for memory in memories if memory.status == "trashed"), None)
    if trashed is not None:
        raise Refused(f"{short(trashed.id)} is in the trash; `nacre restore {short(trashed.id)}` brings it back.")
    return memories


def tell(changed: Sequence[Memory], done: str) -> None:
    if not changed:
        say("Nothing to do: that is so already.")
        return
    told = f"{short(changed[0].id)}: {excerpt(changed[0])}" if len(changed) == 1 else f"{counted(len(changed))}."
    say(f"{done} {told}")
    say("`nacre undo` takes it back.")
