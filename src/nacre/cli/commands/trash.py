"""nacre trash"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, Refused
from nacre.cli.lookup import find_memories
from nacre.cli.marking import tell
from nacre.cli.options import days_option, form_option, global_options, rows_option, show_plan, why_option, yes_option
from nacre.cli.ui.columns import headline, short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import confirm_memories, count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
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
@global_options
@click.pass_obj
def list_command(cli: CliContext, limit: int, form: str | None) -> None:
    """List what is in the trash, the last to come first, and from when on maintenance deletes it for good."""
    kept_days = cli.settings().trash_days
    with cli.open() as store:
        found = trashed(store)
    show_plan(found, columns(cli.now(), kept_days), lambda memory: record(memory, kept_days), limit, form)
    if not found:
        say("The trash is empty.")


@command.command("restore")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@global_options
@click.pass_obj
def restore(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
    """Bring memories back from the trash, in one act."""
    with cli.open() as store:
        memories = find_memories(store, ids)
        for memory in memories:
            if memory.status != "trashed":
                raise NotFound(f"{short(memory.id)} is not in the trash; `nacre trash list` tells what is.")
            if is_redacted(memory):
                raise Refused(f"{short(memory.id)} was redacted; its content is gone for good.")
        store.restore(*(memory.id for memory in memories), why=why)
    tell(memories, "Restored")


@command.command("empty")
@click.option(
    "--older-than",
    callback=days_option,
    metavar="LENGTH",
    help="In the trash for so long: 30d. The setting trash_days.",
)
@click.option("--all", "everything", is_flag=True, help="Whatever is in the trash.")
@yes_option
@why_option
@global_options
@click.pass_obj
def empty(cli: CliContext, older_than: float | None, everything: bool, yes: bool, why: str) -> None:
    """Delete for good what has been in the trash long enough. Nothing brings it back, not even `nacre undo`."""
    from nacre.lifecycle.retention import Trash

    if everything and older_than is not None:
        raise click.UsageError("--all is whatever is there, --older-than only a part of it; give one of them.")
    grace = 0.0 if everything else cli.settings().trash_days if older_than is None else older_than
    with cli.open() as store:
        trash = Trash(store, grace)
        plan = trash.plan()
        if not plan:
            tell_nothing(len(trashed(store)), grace)
            return
        if not yes:
            confirm_memories("Delete", plan, "This is for good: not even `nacre undo` brings it back.")
        gone = trash.apply(plan, why=why)
    say(f"Deleted {count_of(gone)} for good.")


def tell_nothing(there: int, grace: float) -> None:
    if there:
        say(f"{count_of(there)} in the trash, none of them for {grace:g} days; --all takes them too.")
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
