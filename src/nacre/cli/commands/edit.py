"""nacre edit"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.lookup import find_memories
from nacre.cli.options import field_options, global_options, without_none
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import text_argument

if TYPE_CHECKING:
    from nacre.remember.validate import Editable

CLEARED_BY_EMPTY = ("occurred_at", "expires_at")


@click.command("edit")
@click.argument("id")
@click.option("--text", metavar="TEXT|-", help="Its new text; - reads it from stdin.")
@click.option("--add-tag", metavar="TAG", multiple=True, help="Add a tag; repeat for several.")
@click.option("--remove-tag", metavar="TAG", multiple=True, help="Take a tag away; repeat for several.")
@field_options
@click.option("--pin/--unpin", "pinned", default=None, help="Keep it from fading, or no longer.")
@click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")
@global_options
@click.pass_obj
def command(
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
    changes = {
        name: None if name in CLEARED_BY_EMPTY and value == "" else value
        for name, value in without_none(described).items()
    }
    retold = text is not None or "title" in changes or not (changes or add_tag or remove_tag)
    with cli.open_with_model() if retold else cli.open() as store:
        memory = find_memories(store, [id])[0]
        if text is None and not (changes or add_tag or remove_tag):
            text = in_editor(memory.text, cli.settings().editor)
        elif text is not None:
            text = text_argument([text], stdin=False)
        if add_tag or remove_tag:
            changes["tags"] = [tag for tag in (*memory.tags, *add_tag) if tag not in remove_tag]
        after = store.edit(memory.id, text=text, why=why, **cast("Editable", changes))
    changed = after.updated_at != memory.updated_at
    say(f"{'Changed' if changed else 'Nothing changed in'} {short(after.id)}: {excerpt(after)}")


def in_editor(text: str, configured: str, *, extension: str = ".md") -> str | None:
    """None when it was closed without saving."""
    editor = configured or os.environ.get("VISUAL") or os.environ.get("EDITOR") or present()
    try:
        return click.edit(text, editor=editor, extension=extension)
    except click.ClickException as error:
        raise UsageProblem(
            f"the editor did not work ({error.format_message()}); set $EDITOR, or give the new text with --text."
        ) from error


def present() -> str:
    if os.name == "nt":
        return "notepad"
    return next((name for name in ("nano", "vi") if shutil.which(name)), "nano")
