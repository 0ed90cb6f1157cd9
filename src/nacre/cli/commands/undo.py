"""nacre undo"""

from __future__ import annotations

import click

from nacre.cli.columns import short
from nacre.cli.door import Door
from nacre.cli.naming import batch_named
from nacre.cli.options import door_options
from nacre.cli.output import say
from nacre.cli.printable import shortened
from nacre.model import JournalEntry


@click.command("undo")
@click.argument("batch", required=False)
@door_options
@click.pass_obj
def command(door: Door, batch: str | None) -> None:
    """Take back the last act, or the one whose BATCH `nacre journal` shows; its first characters suffice."""
    with door.open() as store:
        undone = store.undo(batch_named(store, batch) if batch else None)
    for entry in undone:
        say(f"{short(entry.memory_id)} {outcome(entry)}")


def outcome(entry: JournalEntry) -> str:
    if entry.after is None:
        return f"is no longer there: {shortened(str((entry.before or {}).get('text', '')))}"
    if entry.before is None:
        return f"is back: {shortened(str(entry.after.get('text', '')))}"
    changed = [name.replace("_", " ") for name in entry.after if name != "updated_at"]
    return f"is as it was before: {', '.join(changed) or 'nothing had changed'}"
