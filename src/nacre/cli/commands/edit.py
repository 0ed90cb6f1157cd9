"""nacre edit, merge, supersede and validate: change one memory."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.marks import find_untrashed
from nacre.cli.errors import UsageProblem
from nacre.cli.lookup import find_memories
from nacre.cli.options import command, dry_run_option, field_options, why_option, without_none, yes_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm_memories, text_argument

if TYPE_CHECKING:
    from nacre.remember.validate import Editable

CLEARED_BY_EMPTY = ("occurred_at", "expires_at")


@command("edit")
@click.argument("id")
@click.option("--text", metavar="TEXT|-", help="Its new text; - reads it from stdin.")
@click.option("--add-tag", metavar="TAG", multiple=True, help="Add a tag; repeat for several.")
@click.option("--remove-tag", metavar="TAG", multiple=True, help="Take a tag away; repeat for several.")
@field_options
@click.option("--pin/--unpin", "pinned", default=None, help="Protect it from decay, or no longer.")
@why_option
def edit_command(
    cli: CliContext,
    /,
    id: str,
    text: str | None,
    add_tag: tuple[str, ...],
    remove_tag: tuple[str, ...],
    why: str,
    **described: object,
) -> None:
    """Change a memory; without options, its text in your editor. An empty value clears a field.

    The editor is the setting `editor`, $VISUAL, $EDITOR, or what is there.
    """
    from nacre.factory import make_guard
    from nacre.remember.guard import guard_notes

    changes = {
        name: None if name in CLEARED_BY_EMPTY and value == "" else value
        for name, value in without_none(described).items()
    }
    reembeds = text is not None or "title" in changes or not (changes or add_tag or remove_tag)
    with cli.open(model=reembeds) as store:
        memory = find_memories(store, [id])[0]
        if text is None and not (changes or add_tag or remove_tag):
            text = edit_text(memory.text, cli.settings().editor)
        elif text is not None:
            text = text_argument([text], stdin=False)
        if add_tag or remove_tag:
            changes["tags"] = [tag for tag in (*memory.tags, *add_tag) if tag not in remove_tag]
        after = store.edit(memory.id, text=text, why=why, **cast("Editable", changes))
    changed = after.updated_at != memory.updated_at
    say(f"{'Changed' if changed else 'Nothing changed in'} {short(after.id)}: {excerpt(after)}")
    _, kinds = make_guard(cli.settings()).fields({**changes, **({} if text is None else {"text": text})})
    say(*(guard_notes(kinds) if changed else ()))


def edit_text(text: str, configured: str, *, extension: str = ".md") -> str | None:
    """None when it was closed without saving."""
    usual = ("notepad",) if os.name == "nt" else ("nano", "vi")
    installed = next((name for name in usual if shutil.which(name)), usual[0])
    editor = configured or os.environ.get("VISUAL") or os.environ.get("EDITOR") or installed
    try:
        return click.edit(text, editor=editor, extension=extension)
    except click.ClickException as error:
        raise UsageProblem(
            f"the editor did not work ({error.format_message()}); set $EDITOR, or give the new text with --text."
        ) from error


@command("merge")
@click.argument("keep")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@click.option("--text", metavar="TEXT|-", help="What it says from now on; - reads it from stdin.")
@dry_run_option
@yes_option
@why_option
def merge_command(
    cli: CliContext, keep: str, others: tuple[str, ...], text: str | None, dry_run: bool, yes: bool, why: str
) -> None:
    """Merge the OTHERs into KEEP, with their tags and links. They are superseded, and no longer recalled."""
    said = "" if text is None else text_argument([text], stdin=False)
    with cli.open(model=bool(said)) as store:
        (stays,) = find_untrashed(store, [keep])
        gone = [memory for memory in find_untrashed(store, others) if memory.id != stays.id]
        if not gone:
            raise UsageProblem("a memory cannot be merged with itself alone; name at least one other.")
        if dry_run:
            say(f"{short(stays.id)} would stand for {', '.join(short(each.id) for each in gone)}; nothing was changed.")
            return
        confirm_memories(
            f"Merge into {short(stays.id)}", gone, "`nacre undo` takes it back.", yes=yes or len(gone) == 1
        )
        merged = store.merge(stays.id, *(memory.id for memory in gone), text=said, why=why)
    replaced = ", ".join(short(each.id) for each in gone)
    say(f"{short(merged.id)} ({excerpt(merged)}) now stands for {replaced}.", "`nacre undo` takes it back.")


@command("supersede")
@click.argument("old")
@click.argument("new")
@why_option
def supersede_command(cli: CliContext, old: str, new: str, why: str) -> None:
    """Replace OLD with NEW. OLD is superseded: it stays, but is no longer recalled."""
    with cli.open() as store:
        (former,), (later,) = find_memories(store, [old]), find_memories(store, [new])
        store.supersede(former.id, later.id, why=why)
    say(f"{short(later.id)} ({excerpt(later)}) now stands for {short(former.id)} ({excerpt(former)}).")


@command("validate")
@click.argument("id")
@click.option("--confidence", type=float, metavar="0-1", help="How sure that is now.")
@why_option
def validate_command(cli: CliContext, id: str, confidence: float | None, why: str) -> None:
    """Confirm that a memory is still true, so that it is no longer stale."""
    with cli.open() as store:
        (memory,) = find_memories(store, [id])
        after = store.validate(memory.id, confidence=confidence, why=why)
    say(f"{short(after.id)} still holds, with confidence {after.confidence:g}: {excerpt(after)}")
