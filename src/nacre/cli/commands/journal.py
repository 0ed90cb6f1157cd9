"""nacre journal, undo, history and diff: what was done, and what changed over time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import NamedTuple, TypedDict, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import resolve_id
from nacre.cli.options import (
    FirstByDefault,
    TimeOptions,
    combine,
    command,
    form_option,
    limit_option,
    option,
    time_options,
    why_option,
    yes_option,
)
from nacre.cli.ui.output import (
    DATA,
    Column,
    Form,
    chosen_form,
    one_line,
    print_data,
    print_items,
    print_record,
    print_rows,
    print_table,
    say,
    shortened,
)
from nacre.cli.ui.prompts import LONGEST_LIST, confirm, count_of
from nacre.cli.ui.records import TIMES, excerpt, headline, iso_or_none, memory_record, space_in_table, with_iso_times
from nacre.cli.ui.times import DAY, age
from nacre.engine.engine import UNDO, entity_kind
from nacre.engine.operation_parts import undone_batches
from nacre.errors import MemoryNotFound, UndoRefused
from nacre.memory_store import MemoryStore
from nacre.model import Changed, Difference, JournalEntry, Memory, Operation, Transition
from nacre.model.instants import iso
from nacre.model.journal import MEMORY, MOVED, renamed_to
from nacre.model.memory import TRASHED, Json, short_id
from nacre.text.dates import moment


class EntryFilter(TypedDict):
    operation: str | None
    actor: str | None
    since: str | None
    until: str | None


FIRST_READ = 4  # entries read for each operation that is wanted, and the factor by which more are read
MOST_READ = 20_000  # entries; an import of more is one row all the same
entry_options = combine(
    option("--id ID", "What was done to this memory.", to="about"),
    option("--operation NAME", "Of this name: remember, edit, forget, …", old="--act"),
    option("--actor NAME", "What this actor did: cli, lib, mcp, …"),
    option("--since WHEN", "Done since: 30m, 2h, 7d, 4w, a date (UTC), or words such as 'last week'."),
    option("--until WHEN", "Done until: 7d, a date, whose whole day counts, or words such as yesterday."),
)


@click.group("journal", cls=FirstByDefault)
def journal_command() -> None:
    """Show what was done, when and by whom, and what changed. Without a subcommand: its tail, of all memories or of
    one ID.

    \b
      nacre journal                  the last operations
      nacre journal 3f2a             what was done to one memory
      nacre journal show 9c1e        one operation, field by field
    """


@command("tail [ID]", entry_options, form_option(), group=journal_command)
@limit_option(20)
@option("--all", "List all entries, as -n 0 does.", to="everything")
def tail(
    cli: CliContext, id: str | None, limit: int, everything: bool, about: str | None, form: Form,
    **chosen: Unpack[EntryFilter],
) -> None:  # fmt: skip
    """Show the last operations, newest first, of all memories or of the one with this ID."""
    if id is not None and about is not None:
        raise click.UsageError("Name the memory once, as ID or with --id.")
    about = id if id is not None else about
    most, drawn = None if everything else limit or None, chosen_form(form) in ("table", "markdown")
    with cli.open_with_personal() as store:
        meant = resolve_id(store, about) if about is not None else None
        groups = operations_of(store, meant, chosen, most) if drawn else {}
        entries = [group[0] for group in groups.values()]
        if not drawn:
            entries = store.journal(meant, **chosen, limit=most)
        if about and not entries and not any(chosen.values()):
            raise MemoryNotFound(about, store.space)
    empty = "Nothing in the journal fits." if about or any(chosen.values()) else "Nothing was done here yet."
    now = cli.now()
    columns: list[Column[JournalEntry]] = [
        Column("id", lambda entry: entry.operation.batch, lambda entry: short_id(entry.operation.batch), style="cyan"),
        Column("when", lambda entry: iso(entry.operation.at), lambda entry: age(entry.operation.at, now)),
        Column("actor", lambda entry: entry.operation.actor),
        Column("operation", lambda entry: entry.operation.name, style="magenta"),
        Column("memory", lambda entry: entry.memory_id, lambda entry: subject_of(groups[entry.operation.batch])),
        Column("what", entry_summary, lambda entry: summary_of(groups[entry.operation.batch]), wide=True),
    ]
    print_items(entries, columns, entry_record, form, empty)


def operations_of(
    store: MemoryStore, id: str | None, chosen: EntryFilter, limit: int | None
) -> dict[str, list[JournalEntry]]:
    """The entries of the last operations, by their batch: one row of a table for each, however many it changed."""
    most = MOST_READ if limit is None else min(MOST_READ, FIRST_READ * limit)
    while True:
        entries = store.journal(id, **chosen, limit=most)
        groups: dict[str, list[JournalEntry]] = {}
        for entry in entries:
            groups.setdefault(entry.operation.batch, []).append(entry)
        # The last of them may go on; it is complete once another one follows.
        if len(entries) < most or most == MOST_READ or (limit is not None and len(groups) > limit):
            return dict(islice(groups.items(), limit))
        most = min(MOST_READ, most * FIRST_READ)


def main_entries(entries: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """Those about memories, if any: a new tag or relation comes beside them."""
    return [entry for entry in entries if entry.kind == MEMORY] or entries


def subject_of(entries: Sequence[JournalEntry]) -> str:
    main = main_entries(entries)
    if len(main) == 1:
        return entry_subject(main[0])
    more = " or more" if len(entries) >= MOST_READ else ""
    return f"{len(main):,}{more} {'memories' if main[0].kind == MEMORY else 'terms'}"


def summary_of(entries: Sequence[JournalEntry]) -> str:
    main = main_entries(entries)
    first = one_line(entry_summary(main[0]))
    return first if len(main) == 1 else f"{shortened(first)}; and {len(main) - 1:,} more"


journal_command.add_command(tail, "list")


@command("show OPERATION", form_option("text", "json"), group=journal_command)
def show(cli: CliContext, operation: str, form: Form) -> None:
    """Show one operation in full: every memory that it changed, field by field, before and after."""
    with cli.open_with_personal() as store:
        entries = store.journal(batch=find_operation(store, operation), limit=None, newest_first=False)
    print_record([entry_record(entry) for entry in entries], operation_lines(entries, cli.now()), form)


def find_operation(store: MemoryStore, prefix: str) -> str:
    """The id of the operation that begins so. Raises `NotFound`."""
    try:
        batch = store.resolve_operation(prefix)
    except UndoRefused as error:
        raise NotFound(str(error)) from error
    if not store.journal(batch=batch, limit=1):
        raise NotFound(f"there is no operation {short_id(batch)!r} in the journal; `nacre journal` lists them.")
    return batch


@command("undo OPERATION", why_option, group=journal_command)
def undo(cli: CliContext, operation: str, why: str) -> None:
    """Undo one operation, as `nacre undo OPERATION` does."""
    with cli.open_with_personal() as store:
        report_undo(store, store.undo(find_operation(store, operation), why=why), cli.now())


@command("compact", yes_option, why_option, group=journal_command)
@option("--older-than WHEN", "90d, 2y or a date; the setting journal_days unless given.")
def compact(cli: CliContext, older_than: str | None, yes: bool, why: str) -> None:
    """Delete old journal entries. The memories stay as they are."""
    now = cli.now()
    days = cli.space_settings().journal_days if older_than is None else (now - moment(older_than, now)) / DAY
    if older_than is None and days <= 0:
        raise click.UsageError("The setting journal_days keeps the journal forever; say --older-than 90d, for example.")
    confirm(
        f"Delete the journal entries before {iso(now - days * DAY)}? This is for good: they can no longer "
        "be undone, nor can the time before be asked about.",
        yes=yes,
    )
    with cli.open() as store:
        dropped = store.compact(older_than_days=days, why=why)
    done = f"Dropped {count_of(dropped, 'entry', 'entries')} for good."
    say(done if dropped else "The journal holds nothing so old.")


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


@command("undo [OPERATION]", why_option)
@option("--last N", "Undo the last N operations, all or none.", least=1)
@option("--any", "The last ones of anybody: agents, hooks, maintenance.", to="any_actor")
@option("--cascade", "Undo later operations that depend on it as well.")
def undo_command(
    cli: CliContext, operation: str | None, last: int | None, any_actor: bool, cascade: bool, why: str
) -> None:
    """Undo the last operation, or the one you name.

    The last one is yours, at the command line. One is named by its id, which is in the first column of `nacre journal`;
    its first characters suffice. An undo can be undone. Where later operations depend on it, nothing is changed, and
    they are named.
    """
    with cli.open_with_personal() as store:
        batch = find_operation(store, operation) if operation is not None and last is None else operation
        entries = store.undo(batch, last=last, any_actor=any_actor, cascade=cascade, why=why)
        if renamed := renamed_to(entries):  # what is advised must name the space as it is called now
            cli.flags["space"] = renamed
        report_undo(store, entries, cli.now())


def report_undo(store: MemoryStore, undone: list[JournalEntry], now: float) -> None:
    if not undone:
        return  # another process has just finished it
    done = undone[0].operation
    entries = (entry for batch in undone_batches(done) for entry in store.journal(batch=batch, limit=1))
    named = [
        f"{each.name} {short_id(each.batch)} ({age(each.at, now)})" for each in (entry.operation for entry in entries)
    ]
    beside = store.beside is not None and undone[0].space == store.beside.space
    where = f" in {undone[0].space}" if beside else ""
    say(f"Undid {', '.join(named)}{where}; `nacre undo {short_id(done.batch)}` does it again.")
    undone = [entry for entry in undone if entry.kind != MOVED]  # the memories say it
    changed = [entry.memory_id for entry in undone[:LONGEST_LIST] if entry.kind == MEMORY]
    present = {memory.id: excerpt(memory) for memory in store.get_many(changed)}
    moved = len({entry.space for entry in undone}) > 1
    for entry in undone[:LONGEST_LIST]:
        place = f" in {entry.space}" if moved else ""
        say(f"{entry_subject(entry)} {undo_outcome(entry, present.get(entry.memory_id, ''), place)}")
    if len(undone) > LONGEST_LIST:
        say(f"and {len(undone) - LONGEST_LIST:,} more; `nacre journal show {short_id(done.batch)}` lists them all.")


LONGEST_VALUE = 200  # of what a value was and became; `-f json` has all of it


@command("history ID", time_options, form_option())
def history_command(cli: CliContext, id: str, form: Form, **times: Unpack[TimeOptions]) -> None:
    """Show each text that a memory had, also by replacement, and when and why it changed.

    "from" is since when somebody said that a text holds. Where nobody did, "by" is when it was said or happened: it may
    have held before.
    """
    with cli.open_with_personal() as store:
        history = store.history(resolve_id(store, id), **times)
    chosen = chosen_form(form)
    if chosen in DATA:
        versions = [memory_record(version) for version in history.versions]
        changes = [transition_record(change) for change in history.transitions]
        print_data({"head": history.head.id, "versions": versions, "changes": changes}, chosen)
    elif chosen == "tsv":
        # Versions and changes in the same columns: what, id, from, until, value before, value after, operation, why.
        for each in history.versions:
            print_rows([["version", each.id, iso(began_by(each)), iso(each.valid_until), "", each.text, "", ""]])
        for change in history.transitions:
            moved = [change.before, change.after, change.operation, change.why]
            print_rows([["change", change.new, iso(change.at), "", *moved]])
    else:
        versions_columns: list[Column[Memory]] = [
            Column("id", lambda each: short_id(each.id), style="cyan"),
            Column("held", valid_from),
            Column("until", valid_until),
            Column("version", headline, wide=True, wraps=True),
        ]
        print_items(history.versions, versions_columns, memory_record, "table")
        if history.transitions:
            sys.stdout.write("\n")
        now = cli.now()
        changes_columns: list[Column[Transition]] = [
            Column("changed", lambda each: f"{minute_text(each.at)} ({age(each.at, now)})"),
            Column("operation", lambda each: f"{each.operation} {short_id(each.new)}", style="magenta"),
            Column("what", value_change, wide=True, wraps=True),
        ]
        print_items(history.transitions, changes_columns, transition_record, "table")


def transition_record(change: Transition) -> dict[str, object]:
    fields = {**asdict(change), "at": iso(change.at)}
    return {("act" if name == "operation" else name): value for name, value in fields.items()}


def began_by(version: Memory) -> float:
    return version.happened_at if version.valid_from is None else version.valid_from


def valid_from(version: Memory) -> str:
    """Where nobody said since when it held, it may have held before it was written, and `--valid-at` finds it there."""
    return f"{'by' if version.valid_from is None else 'from'} {minute_text(began_by(version))}"


def valid_until(version: Memory) -> str:
    if version.status == TRASHED:
        return "(in the trash)"
    if version.valid_until is not None:
        return minute_text(version.valid_until)
    return "(superseded)" if version.superseded_by else "now"


def minute_text(at: float) -> str:
    return iso(at)[:16].replace("T", " ")


def value_change(change: Transition) -> str:
    reason = reason_of_undo(change.why) if change.operation == UNDO else change.why
    why = f"\nbecause: {shortened(reason, LONGEST_VALUE)}" if reason else ""
    return f"{shortened(change.before, LONGEST_VALUE)} → {shortened(change.after, LONGEST_VALUE)}{why}"


def reason_of_undo(why: str) -> str:
    """An undo names the operations that it took back before the reason."""
    batches, _, reason = why.partition(":")
    undone = f"undid {count_of(batches.count(',') + 1, 'operation', 'operations')}"
    return f"{undone}:{reason}" if reason else undone


class DiffLine(NamedTuple):
    sign: str
    id: str
    field: str
    before: str
    after: str
    space: str


@command("diff", form_option(), group=journal_command)
@click.argument("earlier", metavar="WHEN")
@click.argument("later", required=False, metavar="[WHEN]")
def diff_command(cli: CliContext, earlier: str, later: str | None, form: Form) -> None:
    """Show what came (+), went (-) and changed (~) between two times, or since one.

    WHEN is 2h, 7d, a time, or a date (UTC). Of two dates both days count: from the first one's beginning to the second
    one's end. What is in the trash went, and comes when it is restored. What was purged since is not shown.
    """
    now = cli.now()
    if later is not None and moment(earlier, now) > moment(later, now):
        earlier, later = later, earlier
    begin, end = moment(earlier, now), now if later is None else min(moment(later, now, "end"), now)
    with cli.open_with_personal() as store:
        difference = store.diff(begin, later)

    def what(line: DiffLine) -> str:
        before, after = shortened(line.before, LONGEST_VALUE), shortened(line.after, LONGEST_VALUE)
        return f"{before} → {after}" if line.sign == "~" else before or after

    columns: list[Column[DiffLine]] = [
        Column("", lambda line: line.sign, style="magenta"),
        Column("id", lambda line: line.id, lambda line: short_id(line.id), style="cyan"),
        Column("field", lambda line: line.field, lambda line: line.field.replace("_", " ")),
        Column("before", lambda line: line.before, only="tsv"),
        *space_in_table(lambda line: line.space, two_spaces=store.beside is not None),
        Column("what", lambda line: line.after, what, wide=True, wraps=True),
        Column("space", lambda line: line.space, only="tsv"),
    ]
    parts = diff_parts(difference)
    print_table(list(diff_lines(parts)), columns, diff_record(parts), form)
    came, went, changed = len(parts.came), len(parts.went), len(parts.changed)
    counts = f"{count_of(came)} came, {went:,} went, {changed:,} changed"
    say(f"{counts} between {iso(begin)} and {iso(end)}.")


class DiffParts(NamedTuple):
    came: list[Memory]
    went: list[Memory]
    changed: list[Changed]


def diff_parts(difference: Difference) -> DiffParts:
    """As readers of a list see it, who do not see the trash."""
    parts = DiffParts(
        came=[memory for memory in difference.added if is_listed(memory)],
        went=[memory for memory in difference.removed if is_listed(memory)],
        changed=[change for change in difference.changed if is_listed(change.before) == is_listed(change.after)],
    )
    parts.came.extend(each.after for each in difference.changed if is_listed(each.after) and not is_listed(each.before))
    parts.went.extend(
        each.before for each in difference.changed if is_listed(each.before) and not is_listed(each.after)
    )
    return parts


def is_listed(memory: Memory) -> bool:
    return memory.status != TRASHED


def diff_lines(parts: DiffParts) -> Iterator[DiffLine]:
    for memory in parts.came:
        yield DiffLine("+", memory.id, "", "", memory.text, memory.space)
    for memory in parts.went:
        yield DiffLine("-", memory.id, "", memory.text, "", memory.space)
    for change in parts.changed:
        for name, (before, after) in change.fields.items():
            after_text = field_text(name, after)
            yield DiffLine("~", change.after.id, name, field_text(name, before), after_text, change.after.space)


def diff_record(parts: DiffParts) -> dict[str, object]:
    return {
        "added": [memory_record(memory) for memory in parts.came],
        "removed": [memory_record(memory) for memory in parts.went],
        "changed": [
            {
                "id": change.after.id,
                "space": change.after.space,
                "before": with_iso_times({name: before for name, (before, _) in change.fields.items()}),
                "after": with_iso_times({name: after for name, (_, after) in change.fields.items()}),
            }
            for change in parts.changed
        ],
    }


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "seq": entry.seq,
        "at": iso(entry.operation.at),
        "act": entry.operation.name,
        "actor": entry.operation.actor,
        "batch": entry.operation.batch,
        "why": entry.operation.why,
        "space": entry.space,
        "kind": entry.kind,
        "memory_id": entry.memory_id,
        "before": None if entry.before is None else with_iso_times(entry.before),
        "after": None if entry.after is None else with_iso_times(entry.after),
        "damaged": entry.damaged,
    }


NOTHING = "(nothing)"


def entry_subject(entry: JournalEntry) -> str:
    """Of a word of the vocabulary its kind and name, of a memory its short id."""
    if entry.kind == MEMORY:
        return short_id(entry.memory_id)
    kind = "name" if is_entity(entry) else entry.kind.partition("/")[0]  # what follows is the space
    return f"{kind} {entry.memory_id}".strip()


def is_entity(entry: JournalEntry) -> bool:
    return entry.kind.startswith(entity_kind(""))


def entry_summary(entry: JournalEntry) -> str:
    """The text of a memory that came or went; of anything else that changed, what became of it."""
    if entry.damaged:
        return "(cannot be read)"
    why = f"({operation_reason(entry.operation)}) " if entry.operation.why else ""
    fields = entry.after if entry.before is None else entry.before if entry.after is None else None
    if fields is not None and entry.kind == MEMORY:
        return why + str(fields.get("text", ""))
    if entry.kind != MEMORY and entry.after is None:
        return f"{why}gone"
    return why + "; ".join(f"{name}: {became}" for name, (_, became) in field_changes(entry).items())


def operation_reason(operation: Operation) -> str:
    """An undo names the operations that it took back before the reason."""
    if operation.name != UNDO:
        return operation.why
    batches, _, why = operation.why.partition(":")
    return "takes back " + ", ".join(map(short_id, batches.split(","))) + (f":{why}" if why else "")


def field_changes(entry: JournalEntry) -> dict[str, tuple[str, str]]:
    """Every field that the entry changed, before and after; times last, as they follow from the rest."""
    before, after = entry.before or {}, entry.after or {}
    names = sorted(dict.fromkeys((*before, *after)), key=lambda name: name in TIMES)
    return {
        name: (field_text(name, before.get(name)), field_text(name, after.get(name)))
        for name in names
        if name != "updated_at"
    }


def field_text(name: str, value: Json) -> str:
    """Short enough to be printed beside another value."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if name in TIMES:
        return str(iso_or_none(value))
    if name == "links" and isinstance(value, list):
        return ", ".join(link_text(each) for each in value if isinstance(each, dict))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def link_text(link: Mapping[str, Json]) -> str:
    weight = link.get("weight", 1.0)
    return f"{link.get('rel')} → {short_id(str(link.get('to')))}" + (f" ({weight:g})" if weight != 1.0 else "")


def undo_outcome(entry: JournalEntry, present: str = "", place: str = "") -> str:
    """What an undo left behind; `present` is how the text of the memory begins now, `place` where it is."""
    if entry.kind != MEMORY:
        gone = entry.after is None and not is_entity(entry)  # a name is in the memories, whatever was decided on it
        return "is gone again" if gone else "is as it was before"
    if entry.after is None:
        return f"is no longer {place.strip() or 'there'}: {shortened(str((entry.before or {}).get('text', '')))}"
    if entry.before is None:
        return f"is back{place}: {shortened(str(entry.after.get('text', '')))}"
    changed = [name.replace("_", " ") for name in field_changes(entry)]
    text = f" ({present})" if present else ""
    return f"is as it was before: {', '.join(changed) or 'nothing had changed'}{text}"
