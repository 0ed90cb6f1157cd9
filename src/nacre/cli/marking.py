"""The commands that put one mark on several memories, in one act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options, why_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Memory


def marking(name: str, help: str, done: str) -> click.Command:
    """A command named as the method of the store that it calls."""

    @click.command(name, help=help)
    @click.argument("ids", nargs=-1, required=True, metavar="ID...")
    @why_option
    @global_options
    @click.pass_obj
    def command(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
        with cli.open() as store:
            method: Callable[..., list[Memory]] = getattr(store, name)
            tell(method(*(memory.id for memory in untrashed(store, ids)), why=why), done)

    return command


def untrashed(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Those that are named; what is in the trash must come back first."""
    memories = find_memories(store, ids)
    trashed = next((memory for memory in memories if memory.status == "trashed"), None)
    if trashed is not None:
        raise Refused(f"{short(trashed.id)} is in the trash; `nacre restore {short(trashed.id)}` brings it back.")
    return memories


def tell(changed: Sequence[Memory], done: str) -> None:
    if not changed:
        say("Nothing to do: that is so already.")
        return
    told = f"{short(changed[0].id)}: {excerpt(changed[0])}" if len(changed) == 1 else f"{count_of(len(changed))}."
    say(f"{done} {told}")
    say("`nacre undo` takes it back.")
