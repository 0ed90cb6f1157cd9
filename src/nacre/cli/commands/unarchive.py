"""nacre unarchive"""

from __future__ import annotations

from dataclasses import replace

import click

from nacre.cli.door import Door
from nacre.cli.marking import mark, untrashed
from nacre.cli.options import door_options, why_option
from nacre.model import JournalEntry, Memory
from nacre.store import MemoryStore

ARCHIVED = "archived"
UNTOLD = "long_term"  # where the journal no longer says: somebody wants it, so that it should last


@click.command("unarchive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], why: str) -> None:
    """Take memories out of the archive, back to where they were."""
    with door.open() as store:
        memories = untrashed(store, ids)
        statuses = {memory.id: former(store, memory) for memory in memories}

        def edit(memory: Memory) -> Memory:
            return replace(memory, status=statuses[memory.id]) if memory.status == ARCHIVED else memory

        mark(store, memories, "unarchive", edit, "Took out of the archive:", why)


def former(store: MemoryStore, memory: Memory) -> str:
    told = map(status_before, store.journal(memory.id, limit=None))
    return next((status for status in told if status), UNTOLD)


def status_before(entry: JournalEntry) -> str:
    """Empty unless this entry put it into the archive, from elsewhere than the trash."""
    before, after = entry.before or {}, entry.after or {}
    told = str(before.get("status", "")) if after.get("status") == ARCHIVED else ""
    return "" if told == "trashed" else told
