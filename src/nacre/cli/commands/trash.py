"""nacre forget, restore, trash, redact and purge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.marks import report_marked
from nacre.cli.errors import NotFound, Refused
from nacre.cli.lookup import find_memories
from nacre.cli.options import (
    RowOptions,
    command,
    days_option,
    form_option,
    rows_option,
    show_plan,
    why_option,
    yes_option,
)
from nacre.cli.ui.columns import excerpt, headline, short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import confirm_memories, count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.engine.supersede import is_redacted
from nacre.model import Memory
from nacre.model.instants import DAY, iso

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


@click.group("trash")
def trash_command() -> None:
    """List the trash, restore from it, or empty it for good."""


@command("list", trash_command)
@rows_option
@form_option()
def list_command(cli: CliContext, **rows: Unpack[RowOptions]) -> None:
    """List what is in the trash, the last to come first, and from when on maintenance deletes it for good."""
    days, now = cli.space_settings().trash_days, cli.now()
    with cli.open() as store:
        memories = trashed_memories(store)

    def kept_until(memory: Memory) -> float:
        return memory.updated_at + days * DAY

    def time_left(memory: Memory) -> str:
        return "now" if kept_until(memory) <= now else age(kept_until(memory), now)

    columns: list[Column[Memory]] = [
        Column("id", lambda memory: memory.id, lambda memory: short(memory.id), style="cyan"),
        Column("type", lambda memory: memory.type, style="magenta"),
        Column("trashed", lambda memory: iso(memory.updated_at), lambda memory: age(memory.updated_at, now)),
        Column("kept until", lambda memory: iso(kept_until(memory)), time_left),
        Column("text", lambda memory: memory.text, headline, wide=True),
    ]

    def record(memory: Memory) -> dict[str, object]:
        return {**memory_record(memory), "kept_until": iso(kept_until(memory))}

    show_plan(memories, columns, record, rows, "The trash is empty.")


@command("restore", trash_command)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
def restore(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
    """Restore memories from the trash, in one operation."""
    with cli.open() as store:
        memories = find_memories(store, ids)
        for memory in memories:
            if memory.status != "trashed":
                raise NotFound(f"{short(memory.id)} is not in the trash; `nacre trash list` tells what is.")
            if is_redacted(memory):
                raise Refused(f"{short(memory.id)} was redacted; its content is gone for good.")
        store.restore(*(memory.id for memory in memories), why=why)
    report_marked(memories, "Restored")


@command("empty", trash_command)
@click.option(
    "--older-than",
    callback=days_option,
    metavar="LENGTH",
    help="In the trash for so long: 30d. The setting trash_days.",
)
@click.option("--all", "everything", is_flag=True, help="Whatever is in the trash.")
@yes_option
@why_option
def empty(cli: CliContext, older_than: float | None, everything: bool, yes: bool, why: str) -> None:
    """Delete for good what has been in the trash long enough. Nothing brings it back, not even `nacre undo`."""
    from nacre.lifecycle.retention import Trash

    if everything and older_than is not None:
        raise click.UsageError("--all is whatever is there, --older-than only a part of it; give one of them.")
    grace = 0.0 if everything else cli.space_settings().trash_days if older_than is None else older_than
    with cli.open() as store:
        trash = Trash(store, grace)
        plan = trash.plan()
        if not plan:
            left = len(trashed_memories(store))
            later = f"{count_of(left)} in the trash, none of them for {grace:g} days; --all takes them too."
            say(later if left else "The trash is empty.")
            return
        confirm_memories("Delete", plan, "This is for good: not even `nacre undo` brings it back.", yes=yes)
        gone = trash.apply(plan, why=why)
    say(f"Deleted {count_of(gone)} for good.")


def trashed_memories(store: MemoryStore) -> list[Memory]:
    """What was redacted is only a mark, and stays."""
    memories = store.iterate(status="trashed", include_superseded=True, include_expired=True)
    return sorted((memory for memory in memories if not is_redacted(memory)), key=lambda memory: -memory.updated_at)


@command("forget")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@why_option
def forget_command(cli: CliContext, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Move memories to the trash, from which `nacre restore` brings them back."""
    with cli.open() as store:
        memories = [memory for memory in find_memories(store, ids) if memory.status != "trashed"]
        if not memories:
            say("In the trash already.")
            return
        confirm_memories("Forget", memories, "`nacre restore` can bring back what is forgotten.", yes=yes)
        store.forget(*(memory.id for memory in memories), why=why)
    say(f"Forgot {count_of(len(memories))}; `nacre undo` takes it back, `nacre restore ID` brings one back.")


@command("restore")
@click.argument("id")
def restore_command(cli: CliContext, id: str) -> None:
    """Restore a forgotten or superseded memory."""
    with cli.open() as store:
        (memory,) = find_memories(store, [id])
        if not store.restore(memory.id):
            raise NotFound(f"{short(memory.id)} is neither in the trash nor superseded.")
    say(f"Restored {short(memory.id)}: {excerpt(memory)}")


@command("redact")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@why_option
def redact_command(cli: CliContext, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Delete the content of memories for good, in the journal too, and leave a mark that something was there.

    Backups and other copies that were made before keep what they have.
    """
    with cli.open() as store:
        memories = find_memories(store, ids)
        final = "This is for good: nothing brings back the content of what is redacted."
        confirm_memories("Redact", memories, final, yes=yes)
        gone = store.redact(*(memory.id for memory in memories), why=why)
    say(f"Redacted {count_of(gone)} for good; copies made before, such as backups, still have the content.")


@command("purge")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
def purge_command(cli: CliContext, ids: tuple[str, ...], yes: bool) -> None:
    """Delete memories for good, in the journal too. `nacre forget` is the gentle way."""
    with cli.open() as store:
        memories = find_memories(store, ids)
        confirm_memories("Purge", memories, "This is for good: nothing brings back what is purged.", yes=yes)
        gone = store.purge(*(memory.id for memory in memories))
    say(f"Purged {count_of(gone)} for good.")
