"""nacre journal"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.columns import journal_columns
from nacre.cli.door import Door
from nacre.cli.options import door_options, form_option
from nacre.cli.output import print_items, say
from nacre.cli.records import entry_record
from nacre.errors import MemoryNotFound

if TYPE_CHECKING:
    from nacre.store import MemoryStore


@click.command("journal")
@click.argument("id", required=False)
@click.option("-n", "limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most; 0 for all.")
@form_option()
@door_options
@click.pass_obj
def command(door: Door, id: str | None, limit: int, form: str | None) -> None:
    """Tell what was done, to all memories or to the one with this ID, newest first."""
    with door.open() as store:
        told = store.journal(subject(store, id) if id else None, limit=limit or None)
        if id and not told:
            raise MemoryNotFound(id, store.space)
    print_items(told, journal_columns(door.now()), entry_record, form)
    if not told:
        say("Nothing was done here yet.")


def subject(store: MemoryStore, id: str) -> str:
    """The journal remembers that a memory was purged; its whole id still finds that."""
    try:
        return store.resolve_id(id)
    except MemoryNotFound:
        return id
