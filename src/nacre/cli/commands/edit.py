"""nacre edit, merge, supersede, validate, pin, archive, tag, bump, forget, restore, trash, redact and purge."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import mkstemp
from typing import NamedTuple, Unpack, cast

import click

from nacre.cli.catalogue import GroupWithMembers
from nacre.cli.cli_context import CliContext
from nacre.cli.commands.remember import report_result, without_warnings
from nacre.cli.errors import NotFound, Refused, UsageProblem
from nacre.cli.lookup import find_by_id, find_memories, find_memories_ever, stores_read
from nacre.cli.options import (
    FirstByDefault,
    RowOptions,
    ValueCommand,
    command,
    dry_run_option,
    field_options,
    form_option,
    longest_name,
    option,
    rows_option,
    selection_options,
    show_plan,
    tag_suggestion,
    texts_in,
    typed_options,
    why_option,
    without_mark,
    yes_option,
)
from nacre.cli.ui.output import Column, Form, print_items, say
from nacre.cli.ui.prompts import confirm_memories, count_of, list_memories, text_argument
from nacre.cli.ui.records import (
    count_column,
    ended_note,
    excerpt,
    expired_note,
    headline,
    marked_text,
    memory_record,
    space_in_table,
)
from nacre.cli.ui.times import age
from nacre.engine.engine import retry_while_changed
from nacre.engine.merge import all_united, refuse_unmergeable
from nacre.engine.supersede import is_redacted, no_longer_expiring, redaction_note, refuse_hidden
from nacre.errors import MemoryNotFound, VersionMismatch
from nacre.memory_store import MemoryStore
from nacre.model import Memory, RememberResult
from nacre.model.instants import DAY, iso, last_day
from nacre.model.memory import TRASHED, short_id, without_none
from nacre.model.validate import Editable
from nacre.recall_options import Scope


@click.group("memory", cls=GroupWithMembers)
def memory_command() -> None:
    """Change memories: tags, importance, merge, pin, archive, purge.

    `nacre edit` changes the text and the fields of one, `nacre forget` moves some to the trash.
    """


TYPED = ".md"  # of a file with the text of a memory
CLEARED_BY_EMPTY = ("occurred_at", "valid_from", "valid_until", "expires_at")


@command("edit ID", why_option)
@option("--text TEXT|-", "Its new text; - reads it from stdin.")
@option("--add-tag TAG", "Add a tag; repeat for several.", old="--tag -g", multiple=True)
@option("--remove-tag TAG", "Take a tag away; repeat for several.", multiple=True)
@field_options
@option("--pin/--unpin", "Protect it from decay, or no longer.", to="pinned", default=None)
def edit_command(
    cli: CliContext, /, id: str, text: str | None, add_tag: tuple[str, ...], remove_tag: tuple[str, ...], why: str,
    **described: object,
) -> None:  # fmt: skip
    """Change a memory, with options or in your editor. An empty value clears a field.

    A type and an importance cannot be empty. Without options your editor opens with the text; it is $VISUAL, $EDITOR,
    or what is there.
    """
    changes = {
        name: None if name in CLEARED_BY_EMPTY and value == "" else value
        for name, value in without_none(**described).items()
    }
    text = None if text is None else text_argument([text], stdin=False)
    with cli.open_with_personal() as store:
        memory = find_memories(store, [id])[0]
        if text is None and not (changes or add_tag or remove_tag):
            text = edit_text(memory.text)

        def edit(memory: Memory) -> tuple[Memory, RememberResult]:
            if add_tag or remove_tag:
                changes["tags"] = [tag for tag in (*memory.tags, *add_tag) if tag not in remove_tag]
            as_read = store.expecting({memory.id: memory.version}, check=False)
            return memory, as_read.edit_result(memory.id, text=text, why=why, **cast("Editable", changes))

        with without_warnings():
            if text is None:
                memory, result = retry_while_changed(lambda: edit(find_by_id(store, memory.id)))
            else:
                with keeping_typed(text, memory):
                    _, result = edit(memory)
    after = result.memory
    changed = after.updated_at != memory.updated_at
    say(f"{'Changed' if changed else 'Nothing changed in'} {short_id(after.id)}: {excerpt(after)}")
    report_result(result)
    say(*result.notes, *(expired_note(after, cli.now()) if changed else ()))
    say(*(ended_note(after, cli.now()) if after.valid_until != memory.valid_until else ()))


@contextmanager
def keeping_typed(text: str, *memories: Memory) -> Iterator[None]:
    """Where somebody else changes or deletes one of the memories before the text is stored, the text is written to a
    file. Without memories nothing was typed."""
    try:
        yield
    except (VersionMismatch, MemoryNotFound) as error:
        if not memories:
            raise
        opened, file = mkstemp(prefix="nacre-", suffix=TYPED)  # for its owner alone
        with os.fdopen(opened, "w", encoding="utf-8") as out:
            out.write(text)
        named = ", ".join(short_id(memory.id) for memory in memories)
        done, remedy = "changed", f"`nacre show {short_id(memories[0].id)}` shows what it says now."
        if isinstance(error, MemoryNotFound):
            done, remedy = "deleted", f"`nacre remember - < {shlex.quote(file)}` stores it as a new memory."
        raise Refused(
            f"{named} was {done} by somebody else meanwhile, and nothing was written; your text is in {file}. {remedy}"
        ) from error


def edit_text(text: str) -> str | None:
    """None when it was closed without saving."""
    usual = ("notepad",) if os.name == "nt" else ("nano", "vi")
    installed = next((name for name in usual if shutil.which(name)), usual[0])
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or installed
    try:
        return click.edit(text, editor=editor, extension=TYPED)
    except click.ClickException as error:
        raise UsageProblem(
            f"the editor did not work ({error.format_message()}); set $EDITOR, or give the new text with --text."
        ) from error


def edit_both(memories: Sequence[Memory]) -> str | None:
    """What is made in the editor of the texts of several memories; None when it was closed without saving."""
    edited = edit_text("\n\n".join(memory.text for memory in memories))
    return edited.strip() or None if edited is not None else None


@command("merge KEEP OTHER...", why_option, group=memory_command)
@option("--text TEXT|-", "What it says from now on; - reads it from stdin. Unless given, the text of KEEP.")
@option("-e --edit", "Write that in your editor, which opens with all the texts.", to="in_editor")
@dry_run_option
@option("-y --yes", "Do not ask when several are merged.")
def merge_command(
    cli: CliContext, keep: str, others: tuple[str, ...], text: str | None, in_editor: bool, dry_run: bool, yes: bool,
    why: str,
) -> None:  # fmt: skip
    """Merge the OTHERs into KEEP, with their tags and links. They are superseded, and no longer recalled.

    It lasts and holds for as long as any of them, and links to them lead to it.
    """
    if in_editor and text is not None:
        raise UsageProblem("--edit and --text both say the new text; give one of them.")
    said = "" if text is None else text_argument([text], stdin=False)
    with cli.open_with_personal() as store:
        (stays,) = find_untrashed(store, [keep])
        gone = [memory for memory in find_untrashed(store, others) if memory.id != stays.id]
        if not gone:
            raise UsageProblem("a memory cannot be merged with itself alone; name at least one other.")
        for memory in (stays, *gone):
            refuse_unmergeable(memory)  # a dry run too must not promise what is refused
        refuse_hidden(all_united(stays, gone), store.now())
        if dry_run:
            named = ", ".join(short_id(each.id) for each in gone)
            say(f"{short_id(stays.id)} would replace {named}; nothing was changed.")
            return
        confirm_memories(
            f"Merge into {short_id(stays.id)}", gone, "`nacre undo` takes it back.", yes=yes or len(gone) == 1
        )
        if in_editor:
            said = edit_both([stays, *gone]) or ""
            if not said:
                raise UsageProblem("the editor was closed without saving, and nothing was merged.")
        edited = [stays, *gone] if in_editor else []
        as_read = store.expecting({memory.id: memory.version for memory in edited}, check=False)
        with keeping_typed(said, *edited):
            merged = as_read.merge(stays.id, *(memory.id for memory in gone), text=said, why=why)
    replaced = ", ".join(short_id(each.id) for each in gone)
    say(f"{short_id(merged.id)} ({excerpt(merged)}) now replaces {replaced}.", "`nacre undo` takes it back.")


@command("supersede OLD NEW", why_option, group=memory_command)
def supersede_command(cli: CliContext, old: str, new: str, why: str) -> None:
    """Replace OLD with NEW. OLD is superseded: it stays, but is no longer recalled."""
    with cli.open_with_personal() as store:
        (former,), (later,) = find_memories(store, [old]), find_memories(store, [new])
        store.supersede(former.id, later.id, why=why)
    say(f"{short_id(later.id)} ({excerpt(later)}) now replaces {short_id(former.id)} ({excerpt(former)}).")


@command("validate ID", why_option, group=memory_command)
@option("--confidence 0-1", "How sure that is now.", type=float)
def validate_command(cli: CliContext, id: str, confidence: float | None, why: str) -> None:
    """Confirm that a memory is still true, so that it is no longer stale."""
    with cli.open_with_personal() as store:
        (memory,) = find_memories(store, [id])
        after = store.validate(memory.id, confidence=confidence, why=why)
    say(f"{short_id(after.id)} still holds, with confidence {after.confidence:g}: {excerpt(after)}")


def mark_command(name: str, help: str, done: str) -> click.Command:
    """A command named as the method of the store that it calls."""

    @command(f"{name} ID...", why_option, group=memory_command, help=help)
    def mark(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
        with cli.open_with_personal() as store:
            method: Callable[..., list[Memory]] = getattr(store, name)
            memories = find_untrashed(store, ids)
            changed = method(*(memory.id for memory in memories), why=why)
        report_marked(changed, done)
        report_no_longer_expiring(memories, changed)

    return mark


def find_untrashed(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Those that are named; what is in the trash must come back first."""
    memories = find_memories(store, ids)
    trashed = next((memory for memory in memories if memory.status == TRASHED), None)
    if trashed is not None:
        refuse_redacted(trashed)
        raise Refused(
            f"{short_id(trashed.id)} is in the trash; `nacre trash restore {short_id(trashed.id)}` brings it back."
        )
    return memories


def refuse_redacted(memory: Memory) -> None:
    if is_redacted(memory):
        raise Refused(redaction_note(short_id(memory.id)))


def report_marked(changed: Sequence[Memory], done: str) -> None:
    if not changed:
        say("Nothing to do: that is so already.")
        return
    what = f"{short_id(changed[0].id)}: {excerpt(changed[0])}" if len(changed) == 1 else f"{count_of(len(changed))}."
    say(f"{done} {what}", "`nacre undo` takes it back.")


def report_no_longer_expiring(before: Sequence[Memory], after: Sequence[Memory]) -> None:
    """Of what was brought back after it had expired."""
    for memory in no_longer_expiring(before, after):
        id = short_id(memory.id)
        set_anew = f"`nacre edit {id} --expires-at TIME` sets another time"
        say(f"{id} had expired on {last_day(memory.expires_at or 0)}; it no longer expires. {set_anew}.")


pin_command = mark_command("pin", "Protect memories from decay and limits.", "Pinned")
unpin_command = mark_command("unpin", "Let memories decay again.", "Unpinned")
archive_command = mark_command(
    "archive", "Hide memories. With --include-archived, `list`, `recall` and `pack` look there too.", "Archived"
)
unarchive_command = mark_command(
    "unarchive", "Take memories out of the archive, back to where they were.", "Took out of the archive:"
)


@command("tag ID...", why_option, group=memory_command)
@option("-a --add TAG", "Add a tag; repeat for several.", multiple=True)
@option("-r --remove TAG", "Take a tag away; repeat for several.", multiple=True)
def tag_command(cli: CliContext, ids: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...], why: str) -> None:
    """Add tags to memories or remove some, in one operation. Their texts and vectors stay as they are."""
    if not add and not remove:
        raise click.UsageError("Say which tags: --add TAG, --remove TAG.")
    with cli.open_with_personal() as store:
        report_marked(
            store.tag(*(memory.id for memory in find_untrashed(store, ids)), add=add, remove=remove, why=why), "Tagged"
        )


CHANGE = re.compile(r"([+\-−=])(\d*\.?\d+)\Z", re.ASCII)
WRITTEN_CHANGES = "+0.2, -0.1 or =0.9"


@command("move ID...", why_option, group=memory_command)
@option("--to SPACE", "The space that they move into.", required=True)
def move_command(cli: CliContext, ids: tuple[str, ...], to: str, why: str) -> None:
    """Move memories to another space, with all versions of what they say, in one operation.

    Links to and from what stays lead nowhere until they are moved back. The journal of the space that they leave still
    has what they were, until they are purged.
    """
    with cli.open_with_personal() as store:
        memories = find_untrashed(store, ids)
        before = {note.name for note in store.space_notes()}
        moved = store.move(*(memory.id for memory in memories), to=to, why=why)
    target, more = moved[0].space, len(moved) - len(memories)
    versions = f", with {count_of(more, 'other version', 'other versions')} of them" if more > 0 else ""
    if target not in before:
        say(f"Created the space {target!r}.")
    say(f"Moved {count_of(len(memories))} from {memories[0].space} to {target}{versions}; `nacre undo` takes it back.")


class TypeCount(NamedTuple):
    type: str
    memories: int


@command("types", form_option(), group=memory_command)
@option("--add NAME", "Add a type of your own, for all spaces of the store.")
def types_command(cli: CliContext, add: str | None, form: Form) -> None:
    """List the types that a memory can have, and how many memories here have each; or add one."""
    if add is not None:
        add_type(cli, add)
        return
    with cli.open_with_personal() as store:
        counts, types = store.tally("type"), store.types()
    columns: list[Column[TypeCount]] = [
        Column("type", lambda each: each.type, style="magenta"),
        count_column("memories", lambda each: each.memories),
    ]
    print_items([TypeCount(each, counts.get(each, 0)) for each in types], columns, TypeCount._asdict, form)


def add_type(cli: CliContext, name: str) -> None:
    with cli.open_or_make() as store:
        before = store.types()
        store.register_type(name)
        added = [each for each in store.types() if each not in before]
    say(*(f"Memories can have the type {each!r} now; `nacre undo` takes it back." for each in added))
    if not added:
        say(f"{name!r} is a type already.")


class ChangeCommand(ValueCommand):
    """Takes IDs and a change, which may be negative."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:  # it takes the only word for the change
            raise click.UsageError(f"Name the memories, and then the change: {WRITTEN_CHANGES}.", ctx) from error


def amount_argument(_ctx: click.Context, _argument: click.Parameter, value: str) -> tuple[float | None, float | None]:
    """By how much, or to what."""
    typed = str(without_mark(value))
    match = CHANGE.match(typed.strip())
    if not match:
        raise click.BadParameter(f"{typed!r} is no change of an importance; write {WRITTEN_CHANGES}.")
    number = float(match[2])
    return (None, number) if match[1] == "=" else (number if match[1] == "+" else -number, None)


@command("bump ID...", why_option, group=memory_command, cls=ChangeCommand)
@click.argument("change", callback=amount_argument, metavar="+0.2|-0.1|=0.9")
def bump_command(cli: CliContext, ids: tuple[str, ...], change: tuple[float | None, float | None], why: str) -> None:
    """Raise or lower the importance of memories, in one operation. An importance stays between 0 and 1."""
    by, to = change
    with cli.open_with_personal() as store:
        changed = store.bump(*(memory.id for memory in find_untrashed(store, ids)), by=by, to=to, why=why)
    report_marked(changed, "Changed the importance of")
    if len(changed) == 1:
        say(f"The importance of {short_id(changed[0].id)} is {changed[0].importance:g} now.")


@click.group("trash", cls=FirstByDefault)
def trash_command() -> None:
    """List the trash, empty it for good, or restore from it."""


@command("list", rows_option, form_option(), group=trash_command)
def list_command(cli: CliContext, **rows: Unpack[RowOptions]) -> None:
    """List what is in the trash, the last to come first, and from when on maintenance deletes it for good."""
    settings, now = cli.unlocked_settings(), cli.now()
    with cli.open_with_personal() as store:
        memories = [memory for each in stores_read(store) for memory in trashed_memories(each)]
    memories.sort(key=lambda memory: -memory.updated_at)

    def days(memory: Memory) -> float:
        return settings.for_space(memory.space).trash_days

    def kept_until(memory: Memory) -> str:
        return iso(memory.updated_at + days(memory) * DAY) if days(memory) > 0 else ""

    def time_left(memory: Memory) -> str:
        until = memory.updated_at + days(memory) * DAY
        return "never" if days(memory) <= 0 else "next time" if until <= now else age(until, now)

    columns: list[Column[Memory]] = [
        Column("id", lambda memory: memory.id, lambda memory: short_id(memory.id), style="cyan"),
        Column("type", lambda memory: memory.type, style="magenta"),
        Column(
            "trashed", lambda memory: iso(memory.updated_at), lambda memory: age(memory.updated_at, now), named=True
        ),
        Column("deleted", kept_until, time_left, named=True),
        *space_in_table(lambda memory: memory.space, two_spaces=store.beside is not None),
        Column("text", marked_text, headline, wide=True),
        Column("space", lambda memory: memory.space, only="tsv"),
    ]

    def record(memory: Memory) -> dict[str, object]:
        return {**memory_record(memory), "kept_until": kept_until(memory) or None}

    show_plan(memories, columns, record, rows, "The trash is empty.")


@command("empty", yes_option, why_option, group=trash_command)
@option("--older-than LENGTH", "In the trash so long: 30d. The setting trash_days.")
@option("--all", "Whatever is in the trash.", to="everything")
def empty(cli: CliContext, older_than: float | None, everything: bool, yes: bool, why: str) -> None:
    """Delete for good what has been in the trash long enough. Nothing brings it back, not even `nacre undo`."""
    from nacre.lifecycle.retention import Trash

    if everything and older_than is not None:
        raise click.UsageError("--all is whatever is there, --older-than only a part of it; give one of them.")
    days = cli.space_settings().trash_days
    if days <= 0 and not everything and older_than is None:
        raise click.UsageError("The setting trash_days keeps the trash forever; say --older-than 30d, for example.")
    grace = 0.0 if everything else days if older_than is None else older_than
    with cli.open_with_personal() as both:
        store = both.in_space(both.space)
        trash = Trash(store, grace)
        plan = trash.plan()
        if not plan:
            left = len(trashed_memories(store))
            later = f"{count_of(left)} in the trash, none of them for {grace:g} days; --all takes them too."
            say(later if left else empty_trash(both))
            return
        confirm_memories("Delete", plan, "This is for good: not even `nacre undo` brings it back.", yes=yes)
        gone = trash.apply(plan, why=why)
    say(f"Deleted {count_of(gone)} for good.")


def empty_trash(store: MemoryStore) -> str:
    """What is personal is only deleted for good by who says so."""
    if store.beside is None:
        return "The trash is empty."
    other, there = store.beside.space, len(trashed_memories(store.beside))
    remedy = f" That of {other!r} has {count_of(there)}; `nacre --space {shlex.quote(other)} trash empty` empties it."
    return f"The trash of the space {store.space!r} is empty.{remedy if there else ''}"


def trashed_memories(store: MemoryStore) -> list[Memory]:
    """What was redacted is only a mark, and stays."""
    memories = store.iterate(status=TRASHED, include_superseded=True, include_expired=True)
    return sorted((memory for memory in memories if not is_redacted(memory)), key=lambda memory: -memory.updated_at)


WIDENING = {"include_superseded", "include_archived"}  # filters that choose nothing by themselves


@command("forget [ID]...", selection_options, dry_run_option, yes_option, why_option)
def forget_command(
    cli: CliContext, ids: tuple[str, ...], dry_run: bool, yes: bool, why: str, **scope: Unpack[Scope]
) -> None:
    """Move memories to the trash: those with these IDs, or all that `nacre list` has with the same filters.

    `nacre trash restore` brings one back, `nacre undo` all of them. Filters choose from one space alone.

    \b
      nacre forget 3f2a 77b0
      nacre forget --session 2026-03-31-standup --dry-run
      nacre forget --source old-wiki --until 2025-12-31 --include-superseded
    """
    refuse_empty_filters(scope)
    filters = {name: value for name, value in scope.items() if value not in (None, False)}
    if ids and filters:
        raise click.UsageError("Name memories by their IDs, or choose them by filters; not both.")
    if not ids and not filters.keys() - WIDENING:
        raise click.UsageError("Say which: name IDs, or filters of a list, such as --session NAME.")
    with cli.open_with_personal() as store:
        if ids:
            memories = [memory for memory in find_memories(store, ids) if memory.status != TRASHED]
        else:
            memories = list(store.iterate(**scope))
            say(*matches_beside(store, scope))
        if not memories:
            unknown_tag = tag_suggestion(store, scope.get("all_tags"))
            say("In the trash already." if ids else f"Nothing matches, and nothing was forgotten.{unknown_tag}")
            return
        if dry_run:
            list_memories(memories)
            say(f"{count_of(len(memories))} would move to the trash; nothing was changed.")
            return
        way_back = "`nacre trash restore` can bring back what is forgotten." if ids else "`nacre undo` takes it back."
        confirm_memories("Forget", memories, way_back, yes=yes)
        store.forget(*(memory.id for memory in memories), why=why)
    say(f"Forgot {count_of(len(memories))}; `nacre undo` takes it back, `nacre trash restore ID` brings one back.")


def refuse_empty_filters(scope: Scope) -> None:
    """As of a variable that is not set: a list leaves such a filter out, and more than was meant would be forgotten."""
    for typed in typed_options(click.get_current_context()):
        if not all(map(str.strip, texts_in(scope.get(str(typed.name))))):
            name = longest_name(typed)
            raise click.UsageError(f"{name} has no value; give one, or leave {name} out.")


def matches_beside(store: MemoryStore, scope: Scope) -> Iterator[str]:
    """An operation is about one space; what else a list with these filters shows is in another one."""
    others = store.beside.count(**scope) if store.beside is not None else 0
    if store.beside is not None and others:
        beside, are = store.beside.space, "that matches is" if others == 1 else "that match are"
        remedy = f"`nacre --space {shlex.quote(beside)} forget` with the same filters moves"
        yield f"{others:,} more {are} in the space {beside!r}; {remedy} {'it' if others == 1 else 'them'}."


@command("restore ID...", why_option, group=trash_command)
def restore_command(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
    """Restore forgotten or superseded memories, in one operation. What has expired meanwhile no longer expires."""
    with cli.open_with_personal() as store:
        try:
            memories = find_memories(store, ids)
        except MemoryNotFound as error:
            raise NotFound(str(error).replace("`nacre list` shows", "`nacre trash list` shows")) from error
        for memory in memories:
            refuse_redacted(memory)
            if memory.status != TRASHED and not memory.superseded_by:
                neither = f"{short_id(memory.id)} is neither in the trash nor superseded."
                raise NotFound(" ".join([neither, *expired_note(memory, cli.now())]))
        restored = [memory.id for memory in memories]
        store.restore(*restored, why=why)
        after = store.get_many(restored)
    report_marked(memories, "Restored")
    report_no_longer_expiring(memories, after)


@command("redact ID...", yes_option, why_option, group=memory_command)
def redact_command(cli: CliContext, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Delete the content of memories for good, in the journal too, and leave a mark that something was there.

    Backups and other copies that were made before keep what they have.
    """
    with cli.open_with_personal() as store:
        memories = find_memories_ever(store, ids)
        final = "This is for good: nothing brings back the content of what is redacted."
        confirm_memories("Redact", memories, final, yes=yes)
        gone = store.redact(*(memory.id for memory in memories), why=why)
    say(f"Redacted {count_of(gone)} for good; copies made before, such as backups, still have the content.")


@command("purge ID...", yes_option, group=memory_command)
def purge_command(cli: CliContext, ids: tuple[str, ...], yes: bool) -> None:
    """Delete memories for good, in the journal too. `nacre forget` only moves them to the trash."""
    from nacre.lifecycle.backups import copies_that_stay

    with cli.open_with_personal() as store:
        memories = find_memories_ever(store, ids)
        confirm_memories("Purge", memories, "This is for good: nothing brings back what is purged.", yes=yes)
        gone = store.purge(*(memory.id for memory in memories))
    say(f"Purged {count_of(gone)} for good.", *filter(None, [copies_that_stay(cli.settings())]))
