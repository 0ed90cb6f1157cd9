"""nacre trash"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.asking import confirm, counted
from nacre.cli.columns import headline, short
from nacre.cli.door import Door
from nacre.cli.faults import NothingFound, Refused
from nacre.cli.kinds import days
from nacre.cli.marking import tell
from nacre.cli.naming import named
from nacre.cli.options import door_options, form_option, why_option, yes_option
from nacre.cli.output import Column, say
from nacre.cli.planning import rows_option, show
from nacre.cli.records import memory_record
from nacre.cli.times import age
from nacre.engine.engine import is_redacted
from nacre.model import Memory
from nacre.model.instants import DAY, iso

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


@click.group("trash")
def command() -> None:
    """See what is in the trash, bring it back, or empty it for good."""


@command.command("list")
@rows_option
@form_option()
@door_options
@click.pass_obj
def list_command(door: Door, limit: int, form: str | None) -> None:
    """List what is in the trash, the last to come first, and from when on maintenance deletes it for good."""
    kept_days = door.settings().trash_days
    with door.open() as store:
        found = trashed(store)
    show(found, columns(door.now(), kept_days), lambda memory: record(memory, kept_days), limit, form)
    if not found:
        say("The trash is empty.")


@command.command("restore")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@door_options
@click.pass_obj
def restore(door: Door, ids: tuple[str, ...], why: str) -> None:
    """Bring memories back from the trash, in one act."""
    with door.open() as store:
        memories = named(store, ids)
        for memory in memories:
            if memory.status != "trashed":
                raise NothingFound(f"{short(memory.id)} is not in the trash; `nacre trash list` tells what is.")
            if is_redacted(memory):
                raise Refused(f"{short(memory.id)} was redacted; its content is gone for good.")
        store.restore(*(memory.id for memory in memories), why=why)
    tell(memories, "Restored")


@command.command("empty")
@click.option(
    "--older-than", callback=days, metavar="LENGTH", help="In the trash for so long: 30d. The setting trash_days."
)
@click.option("--all", "everything", is_flag=True, help="Whatever is in the trash.")
@yes_option
@why_option
@door_options
@click.pass_obj
def empty(door: Door, older_than: float | None, everything: bool, yes: bool, why: str) -> None:
    """Delete for good what has been in the trash long enough. Nothing brings it back, not even `nacre undo`."""
    from nacre.lifecycle.retention import Trash

    if everything and older_than is not None:
        raise click.UsageError("--all is whatever is there, --older-than only a part of it; give one of them.")
    grace = 0.0 if everything else door.settings().trash_days if older_than is None else older_than
    with door.open() as store:
        trash = Trash(store, grace)
        plan = trash.plan()
        if not plan:
            tell_nothing(len(trashed(store)), grace)
            return
        if not yes:
            confirm("Delete", plan, "This is for good: not even `nacre undo` brings it back.")
        gone = trash.apply(plan, why=why)
    say(f"Deleted {counted(gone)} for good.")


def tell_nothing(there: int, grace: float) -> None:
    if there:
        say(f"{counted(there)} in the trash, none of them for {grace:g} days; --all takes them too.")
    else:
        say("The trash is empty.")


def trashed(store: MemoryStore) -> list[Memory]:
    """What was redacted is only a mark, and stays."""
    found = store.iterate(status="trashed", include_superseded=True, include_expired=True)
    return sorted((memory for memory in found if not is_redacted(memory)), key=lambda memory: -memory.updated_at)


def columns(now: float, kept_days: float) -> list[Column[Memory]]:
    return [
        Column("id", lambda memory: memory.id, lambda memory: short(memory.id), style="cyan"),
        Column("type", lambda memory: memory.type, lambda memory: memory.type, style="magenta"),
        Column("trashed", lambda memory: iso(memory.updated_at), lambda memory: age(memory.updated_at, now)),
        Column("kept until", lambda memory: iso(until(memory, kept_days)), lambda memory: left(memory, kept_days, now)),
        Column("text", lambda memory: memory.text, headline, wide=True),
    ]


def until(memory: Memory, kept_days: float) -> float:
    return memory.updated_at + kept_days * DAY


def left(memory: Memory, kept_days: float, now: float) -> str:
    at = until(memory, kept_days)
    return "now" if at <= now else age(at, now)


def record(memory: Memory, kept_days: float) -> dict[str, object]:
    return {**memory_record(memory), "kept_until": iso(until(memory, kept_days))}
