"""nacre backup"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext, configure_logging
from nacre.cli.errors import StoreProblem
from nacre.cli.options import command, dry_run_option, form_option, yes_option
from nacre.cli.ui.output import Column, Form, print_items, print_record, put, say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.cli.ui.times import age
from nacre.errors import WrongKey
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.backups import StoredCopy
    from nacre.settings import Settings
    from nacre.storage.sqlite.backup import Copy

MEGABYTE = 1_000_000
key_option = click.option(
    "--key", metavar="WHERE", help="The key of the copy, if it is another: file:PATH, env:VARIABLE or keyring:NAME."
)


@click.group("backup")
def backup_command() -> None:
    """Copy the whole store, check a copy, or put one back. A copy has all spaces, the journal and the vectors."""


@command("create", backup_command)
@click.argument("path", required=False)
def create(cli: CliContext, path: str | None) -> None:
    """Copy the store while others go on writing. Prints where the copy is.

    PATH is a file or a folder. Without it the copy goes to the setting `backup_folder`, by default beside the store,
    where the last few are kept (the setting `backup_keep`).
    """
    from nacre.lifecycle.jobs import backups_of

    with cli.open() as store:
        made = store.backup(path) if path else backups_of(cli.settings()).make(store, cli.now())
    put(str(made))
    say(f"Copied and checked, {size(made.stat().st_size)}.")


@command("list", backup_command)
@form_option()
def list_command(cli: CliContext, form: Form) -> None:
    """List the copies of this store, newest first, and what earlier restores left beside it."""
    from nacre.lifecycle.backups import copies

    now = cli.now()
    columns: list[Column[StoredCopy]] = [
        Column("made", lambda stored: iso(stored.made_at), lambda stored: age(stored.made_at, now)),
        Column("size", lambda stored: str(stored.bytes_on_disk), lambda stored: size(stored.bytes_on_disk), right=True),
        Column("kind", kind, style="magenta"),
        Column("file", lambda stored: str(stored.file), wide=True, wraps=True),
    ]
    empty = "There are no copies yet; `nacre backup create` makes one."
    print_items(copies(cli.settings()), columns, backup_record, form, empty)


@command("verify", backup_command)
@click.argument("file")
@key_option
@form_option("text", "json")
def verify_command(cli: CliContext, file: str, key: str | None, form: Form) -> None:
    """Read a copy from end to end, change nothing, and say what it holds. Ends with code 4 when it is damaged."""
    configure_logging(debug=cli.debug)
    copy = verified(cli.settings(), file, key)
    record = {
        "file": file,
        "schema": copy.schema,
        "encrypted": copy.encrypted,
        "bytes": copy.bytes_on_disk,
        "last_at": None if copy.last_at is None else iso(copy.last_at),
        "memories": copy.memories,
        "spaces": copy.spaces,
    }
    print_record(record, [f"{file} is whole: {copy_text(copy, cli.now())}."], form)


@command("restore", backup_command)
@click.argument("file")
@key_option
@dry_run_option
@yes_option
def restore_command(cli: CliContext, file: str, key: str | None, dry_run: bool, yes: bool) -> None:
    """Replace the store with a copy. The present file is kept beside it under another name.

    The copy is checked first, and nothing is changed while another process has the store open. An encrypted store stays
    encrypted with its own key, whatever the copy was.
    """
    from nacre.factory import store_file
    from nacre.lifecycle.backups import restore

    configure_logging(debug=cli.debug)
    settings = cli.settings()
    store, description = store_file(settings.store), copy_text(verified(settings, file, key), cli.now())
    if dry_run:
        say(f"{store} would become {description}; nothing was changed.")
        return
    confirm(f"Replace {store} with {file} ({description})? The present file is kept beside it.", yes=yes)
    stored = restore(settings, file, cli.now(), key=key)
    say(f"{store} is restored: {description}.")
    if stored is not None:
        put(str(stored))
        say("What was there before is kept under this name; `nacre backup restore` puts it back.")


def verified(settings: Settings, file: str, key: str | None) -> Copy:
    from nacre.lifecycle.backups import verify

    try:
        return verify(settings, file, key=key)
    except WrongKey as error:
        state = "no key was given" if not (settings.key if key is None else key) else "the key does not open it"
        raise StoreProblem(
            f"{file} is encrypted, and {state}. Name the key of the copy with --key (file:PATH, env:VARIABLE or "
            "keyring:NAME)."
        ) from error


def copy_text(copy: Copy, now: float) -> str:
    written = f", last written {age(copy.last_at, now)}" if copy.last_at is not None else ""
    secret = ", encrypted" if copy.encrypted else ""
    return f"{count_of(copy.memories)} in {count_of(len(copy.spaces), 'space', 'spaces')}{written}{secret}"


def kind(stored: StoredCopy) -> str:
    return "replaced" if stored.replaced else "copy"


def backup_record(stored: StoredCopy) -> dict[str, object]:
    return {"made": iso(stored.made_at), "bytes": stored.bytes_on_disk, "kind": kind(stored), "file": str(stored.file)}


def size(bytes: int) -> str:
    return f"{bytes / MEGABYTE:,.1f} MB"
