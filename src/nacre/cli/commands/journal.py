"""nacre journal and undo."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import resolve_id
from nacre.cli.options import combine, command, form_option, limit_option, moment_option, why_option, yes_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import Column, json_line, one_line, print_items, print_record, say
from nacre.cli.ui.prompts import LONGEST_LIST, confirm, count_of
from nacre.cli.ui.records import (
    entry_record,
    entry_subject,
    entry_summary,
    field_changes,
    operation_reason,
    undo_outcome,
)
from nacre.cli.ui.times import DAY, age, since, until
from nacre.errors import MemoryNotFound, UndoRefused
from nacre.files import atomic_writer
from nacre.model import JournalEntry
from nacre.model.instants import iso

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])


class TailByDefault(click.Group):
    """`nacre journal ID` and `nacre journal -n 5` mean its tail."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["tail", *args]
        return super().parse_args(ctx, args)


class EntryFilter(TypedDict):
    operation: str | None
    actor: str | None
    since: float | None
    until: float | None


def entry_options(command: F) -> F:
    return combine(
        click.option("--id", "about", metavar="ID", help="What was done to this memory."),
        click.option("--act", "operation", metavar="NAME", help="Operations of this name: remember, edit, forget, …"),
        click.option("--actor", metavar="NAME", help="What this actor did: cli, lib, mcp, …"),
        moment_option("--since", since, "Done since: 30m, 2h, 7d, 4w, or a date (UTC)."),
        moment_option("--until", until, "Done until: 7d, or a date, whose whole day counts."),
    )(command)


@click.group("journal", cls=TailByDefault)
def journal_command() -> None:
    """Show what was done, when and by whom. Without a subcommand: its tail, of all memories or of one ID.

    \b
      nacre journal                  the last operations
      nacre journal 3f2a             what was done to one memory
      nacre journal show 9c1e        one operation, field by field
    """


@command("tail", journal_command)
@click.argument("id", required=False)
@limit_option(20)
@click.option("--all", "everything", is_flag=True, help="All of them, as -n 0.")
@entry_options
@form_option()
def tail(
    cli: CliContext,
    id: str | None,
    limit: int,
    everything: bool,
    about: str | None,
    form: str | None,
    **chosen: Unpack[EntryFilter],
) -> None:
    """Show the last operations, newest first, of all memories or of the one with this ID."""
    if id is not None and about is not None:
        raise click.UsageError("Name the memory once, as ID or with --id.")
    about = id if id is not None else about
    with cli.open() as store:
        meant = resolve_id(store, about) if about is not None else None
        entries = store.journal(meant, **chosen, limit=None if everything else limit or None)
        if about and not entries and not any(chosen.values()):
            raise MemoryNotFound(about, store.space)
    empty = "Nothing in the journal fits." if about or any(chosen.values()) else "Nothing was done here yet."
    print_items(entries, entry_columns(cli.now()), entry_record, form, empty)


journal_command.add_command(tail, "list")


@command("show", journal_command)
@click.argument("batch")
@form_option("text", "json")
def show(cli: CliContext, batch: str, form: str | None) -> None:
    """Show one operation in full: every memory that it changed, field by field, before and after."""
    with cli.open() as store:
        try:
            entries = store.journal(batch=store.resolve_operation(batch), limit=None, newest_first=False)
        except UndoRefused as error:
            raise NotFound(str(error)) from error
    if not entries:
        raise NotFound(f"there is no operation {short(batch)!r} in the journal; `nacre journal` lists them.")
    print_record([entry_record(entry) for entry in entries], operation_lines(entries, cli.now()), form)


@command("undo", journal_command)
@click.argument("batch")
@why_option
def undo(cli: CliContext, batch: str, why: str) -> None:
    """Undo one operation, as `nacre undo BATCH` does."""
    with cli.open() as store:
        report_undo(store.undo(batch, why=why))


@command("export", journal_command)
@click.argument("file", default="-", metavar="[FILE|-]", type=click.Path(dir_okay=False, path_type=Path))
@entry_options
@click.option("--gzip", "packed", is_flag=True, help="Compress it; a FILE that ends in .gz is, without asking.")
def export(cli: CliContext, file: Path, about: str | None, packed: bool, **chosen: Unpack[EntryFilter]) -> None:
    """Write the journal as JSON lines, oldest first, to FILE or to stdout."""
    if str(file) == "-" and packed and sys.stdout.isatty():
        raise click.UsageError("A terminal cannot show what is compressed; name a FILE.")
    with cli.open() as store:
        entries = store.iterate_journal(resolve_id(store, about) if about is not None else None, **chosen)
        if str(file) == "-":
            write_entries(entries, sys.stdout.buffer, packed=packed)
            return
        with atomic_writer(file) as out:  # what broke off must not stand where a whole export stood
            written = write_entries(entries, out, packed=packed or file.suffix == ".gz")
    say(f"Wrote {count_of(written, 'entry', 'entries')} to {file}.")


@command("compact", journal_command)
@click.option("--older-than", metavar="WHEN", help="90d, 2y or a date; the setting journal_days unless given.")
@yes_option
@why_option
def compact(cli: CliContext, older_than: str | None, yes: bool, why: str) -> None:
    """Delete old journal entries. The memories stay as they are."""
    now = cli.now()
    days = cli.space_settings().journal_days if older_than is None else (now - since(older_than, now)) / DAY
    if older_than is None and days <= 0:
        raise click.UsageError(
            "The setting journal_days keeps the journal for ever; say --older-than 90d, for example."
        )
    confirm(
        f"Delete the journal entries before {iso(now - days * DAY)}? This is for good: they can no longer "
        "be undone, nor can the time before be asked about.",
        yes=yes,
    )
    with cli.open() as store:
        dropped = store.compact(older_than_days=days, why=why)
    done = f"Dropped {count_of(dropped, 'entry', 'entries')} for good."
    say(done if dropped else "The journal holds nothing so old.")


def write_entries(entries: Iterable[JournalEntry], out: IO[bytes], *, packed: bool) -> int:
    count = 0
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) if packed else nullcontext(out) as stream:
        for count, entry in enumerate(entries, 1):  # noqa: B007 (the count is returned)
            stream.write(json_line(entry_record(entry)).encode())
    out.flush()
    return count


def entry_columns(now: float) -> list[Column[JournalEntry]]:
    return [
        Column("batch", lambda entry: entry.operation.batch, lambda entry: short(entry.operation.batch), style="cyan"),
        Column("when", lambda entry: iso(entry.operation.at), lambda entry: age(entry.operation.at, now)),
        Column("actor", lambda entry: entry.operation.actor),
        Column("operation", lambda entry: entry.operation.name, style="magenta"),
        Column("memory", lambda entry: entry.memory_id, entry_subject),
        Column("what", entry_summary, lambda entry: one_line(entry_summary(entry)), wide=True),
    ]


def operation_lines(entries: list[JournalEntry], now: float) -> Iterator[str]:
    operation = entries[0].operation
    yield one_line(
        f"{operation.batch}  {operation.name} by {operation.actor}, {iso(operation.at)} ({age(operation.at, now)})"
    )
    if operation.why:
        yield one_line(operation_reason(operation))
    for entry in entries:
        yield ""
        yield click.style(one_line(f"{entry_subject(entry)}{entry_state(entry)}"), fg="cyan")
        for name, (before, after) in field_changes(entry).items():
            change = after if entry.before is None else before if entry.after is None else f"{before} → {after}"
            yield f"  {name.replace('_', ' ')}: {one_line(change)}"


def entry_state(entry: JournalEntry) -> str:
    if entry.damaged:
        return ": its journal entry cannot be read"
    if entry.before is None and entry.after is None:
        return ": its content is gone for good"
    return " came" if entry.before is None else " went" if entry.after is None else ""


@command("undo")
@click.argument("batch", required=False)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Undo the last N operations, all or none.")
@click.option("--any", "any_actor", is_flag=True, help="The last ones of anybody: agents, hooks, imports, maintenance.")
@click.option("--cascade", is_flag=True, help="Undo later operations that depend on it as well.")
@why_option
def undo_command(
    cli: CliContext, batch: str | None, last: int | None, any_actor: bool, cascade: bool, why: str
) -> None:
    """Undo your last operation at the command line, or the one whose BATCH `nacre journal` shows; its first characters
    suffice.

    An undo can be undone. Where later operations depend on it, nothing is changed, and they are named.
    """
    with cli.open() as store:
        report_undo(store.undo(batch, last=last, any_actor=any_actor, cascade=cascade, why=why))


def report_undo(undone: list[JournalEntry]) -> None:
    say(*(f"{entry_subject(entry)} {undo_outcome(entry)}" for entry in undone[:LONGEST_LIST]))
    if len(undone) > LONGEST_LIST:
        say(f"and {len(undone) - LONGEST_LIST:,} more; `nacre journal` lists them all.")
