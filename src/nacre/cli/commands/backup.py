"""nacre store backup, encrypt, decrypt and rekey: copies of the store's file, and its key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext, at_terminal, configure_logging
from nacre.cli.errors import NotFound, Refused, StoreProblem, UsageProblem
from nacre.cli.options import command, dry_run_option, form_option, option, yes_option
from nacre.cli.ui.output import Column, Form, print_items, print_record, put, say
from nacre.cli.ui.prompts import confirm, count_of, read_new_passphrase
from nacre.cli.ui.times import age
from nacre.errors import NotAStore, StorageError, WrongKey
from nacre.factory import (
    is_encrypted,
    is_typed,
    key_named,
    make_access,
    make_key_file,
    open_backend,
    rekey_store,
    store_file,
    typed_key_setting,
)
from nacre.files import private_folder
from nacre.model.instants import iso
from nacre.settings import KEY_FILE, Settings

if TYPE_CHECKING:
    from nacre.lifecycle.backups import StoredCopy
    from nacre.storage.sqlite.backup import Copy

MEGABYTE = 1_000_000
key_option = option("--key WHERE", "The key of the copy, if it is another: file:PATH, env:VARIABLE or keyring:NAME.")


@click.group("backup", cls=HelpGroup)
def backup_command() -> None:
    """Copy the store, check a copy, or restore one. A copy has all spaces, the journal and the vectors."""


@command("create [PATH]", group=backup_command)
def create(cli: CliContext, path: str | None) -> None:
    """Copy the store while others go on writing. Prints where the copy is.

    PATH is a file (copy.db), or a folder: a new name without an ending makes a folder. Without it the copy goes to the
    setting `backup_folder`, by default beside the store, where the last seven that you made are kept. Each day one is
    made by itself; see the setting `backup_every`.
    """
    from nacre.cli import remote
    from nacre.lifecycle.jobs import backups_of

    if remote.is_remote(cli):
        if path:
            raise UsageProblem("a server makes its copies beside its own store; leave PATH out.")
        put(remote.make_backup(cli))
        say("Copied and checked by the server, which keeps the copy.")
        return
    target = Path(path).expanduser().absolute() if path else None
    if target is not None and not target.parent.is_dir():
        raise StoreProblem(f"there is no folder {target.parent}; make it first, or name another place.")
    with cli.open() as store:
        if cli.reported_empty:
            raise click.exceptions.Exit(NotFound.exit_code)
        if target is not None and not target.suffix and not target.exists():
            private_folder(target)
        made = store.backup(target) if target else backups_of(cli.settings()).make(store, cli.now())
    put(str(made))
    say(f"Copied and checked, {size(made.stat().st_size)}.")
    if target is not None and made.suffix == ".db":
        say(f"`nacre store backup list {quote(str(made.parent))}` lists the copies there.")


@command("list [FOLDER]", form_option(), group=backup_command)
def list_command(cli: CliContext, folder: str | None, form: Form) -> None:
    """List the copies of this store, newest first, and what earlier restores left beside it.

    With FOLDER, the copies (*.db) that you put there.
    """
    from nacre.cli import remote
    from nacre.lifecycle.backups import StoredCopy, copies, copies_in
    from nacre.lifecycle.jobs import backups_of

    now = cli.now()
    columns: list[Column[StoredCopy]] = [
        Column("made", lambda stored: iso(stored.made_at), lambda stored: age(stored.made_at, now)),
        Column("size", lambda stored: str(stored.bytes_on_disk), lambda stored: size(stored.bytes_on_disk), right=True),
        Column("kind", kind, style="magenta"),
        Column("file", lambda stored: str(stored.file), wide=True, wraps=True),
    ]
    how_to_make = "`nacre store backup create` makes one."
    if remote.is_remote(cli):
        if folder:
            raise UsageProblem("a server lists the copies beside its own store; leave FOLDER out.")
        notes = remote.backups(cli)
        known = [StoredCopy(Path(each.name), each.made_at, each.bytes_on_disk, each.replaced) for each in notes]
        empty = f"There are no copies yet; {how_to_make}"
    elif folder:
        place = Path(folder).expanduser()
        if not place.is_dir():
            raise StoreProblem(f"there is no folder {place}; check its name.")
        known, empty = copies_in(cli.settings(), place), f"There is no copy (a file named *.db) in {place}."
    else:
        known = copies(cli.settings())
        usual = backups_of(cli.settings()).folder
        empty = (
            f"There are no copies in {usual} yet; {how_to_make} Those that you put elsewhere are listed by "
            "`nacre store backup list FOLDER`."
        )
    print_items(known, columns, backup_record, form, empty)


@command("verify FILE", key_option, form_option("text", "json"), group=backup_command)
def verify_command(cli: CliContext, file: str, key: str | None, form: Form) -> None:
    """Read a copy from end to end, change nothing, and say what it holds. Ends with code 4 when it is damaged."""
    configure_logging(debug=cli.debug)
    copy = verified(cli.unlocked_settings() if key is None else cli.settings(), file, key)
    record = {
        "file": file,
        "schema": copy.schema,
        "encrypted": copy.encrypted,
        "bytes": copy.bytes_on_disk,
        "last_at": None if copy.last_at is None else iso(copy.last_at),
        "memories": copy.memories,
        "spaces": copy.spaces,
    }
    print_record(record, [f"{file} is complete and undamaged: {copy_text(copy, cli.now())}."], form)


@command("restore FILE", key_option, dry_run_option, yes_option, group=backup_command)
def restore_command(cli: CliContext, file: str, key: str | None, dry_run: bool, yes: bool) -> None:
    """Replace the store with a copy. The present file is kept beside it under another name.

    The copy is checked first, and nothing is changed while another process has the store open. An encrypted store stays
    encrypted with its own key, whatever the copy was. Users and tokens of a server stay as they are now, if there are
    any: a token that was revoked does not come back.
    """
    from nacre.server.users import restore_keeping_users

    configure_logging(debug=cli.debug)
    settings = cli.unlocked_settings()
    store, description = store_file(settings.store), copy_text(verified(settings, file, key), cli.now())
    if dry_run:
        say(f"{store} would become {description}; nothing was changed.")
        return
    confirm(f"Replace {store} with {file} ({description})? The present file is kept beside it.", yes=yes)
    restored = restore_keeping_users(settings, file, cli.now(), key=key)
    say(f"{store} is restored: {description}.")
    if restored.replaced is not None:
        put(str(restored.replaced))
        if restored.replaced.name.endswith("-wal"):
            say("Only the log of the store before was there; `nacre doctor --salvage` with this name reads it.")
        else:
            say("What was there before is kept under this name; `nacre store backup restore` puts it back.")
    if restored.users == "kept":
        say("The users and tokens of the server are not those of the copy, but stay as they were.")
    elif restored.users == "of the copy":
        say("The users and tokens of the server are those of the copy: revoke again what was revoked since.")


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
    except NotAStore as error:
        raise StoreProblem(
            f"{file} is no whole copy of a store ({error.reason}). Use another one (`nacre store backup list` has them)"
            ", or make a new one with `nacre store backup create`."
        ) from error


def copy_text(copy: Copy, now: float) -> str:
    written = f", last written {age(copy.last_at, now)}" if copy.last_at is not None else ""
    secret = ", encrypted" if copy.encrypted else ""
    return f"{count_of(copy.memories)} in {count_of(len(copy.spaces), 'space', 'spaces')}{written}{secret}"


def kind(stored: StoredCopy) -> str:
    return "replaced" if stored.replaced else "automatic" if stored.automatic else "copy"


def backup_record(stored: StoredCopy) -> dict[str, object]:
    return {"made": iso(stored.made_at), "bytes": stored.bytes_on_disk, "kind": kind(stored), "file": str(stored.file)}


def size(bytes: int) -> str:
    return f"{bytes / MEGABYTE:,.1f} MB"


SETTING = "NACRE_KEY"


def new_key_setting(file: Path, named: str | None, new_file: str | None, known: str, option: str) -> str:
    """The setting that names the new key: as given, of a file that is yet to be made, or as the settings have it; else
    a person at a terminal types a passphrase, twice.

    What is wrong with it is said now, before anybody is asked.
    """
    if named and new_file:
        raise UsageProblem(f"{option} and --new-key-file name two keys; give one of them.")
    if new_file:
        return with_absolute_path(KEY_FILE + new_file)
    setting = with_absolute_path(named or known)
    if not setting and at_terminal():
        setting = typed_key_setting(read_new_passphrase(str(file)), "new")
    if not setting:
        named_by = "file:PATH, env:VARIABLE, keyring:NAME"
        raise UsageProblem(f"no key was named; give {option} ({named_by}) or --new-key-file PATH.")
    key = key_named(setting)
    if key is not None:
        key.check_strength()
    return setting


def with_absolute_path(setting: str) -> str:
    """The setting is read from any folder, so a relative path is made absolute."""
    name = setting.removeprefix(KEY_FILE)
    return setting if name in (setting, "") else KEY_FILE + str(Path(name).expanduser().absolute())


def checked_store(cli: CliContext, remedy: str, *, encrypted: bool) -> tuple[Settings, Path]:
    """The settings and the file. It is encrypted or not, and opens with the key that the settings name, for one who
    may change it; what is wrong is said before anybody is asked."""
    settings = cli.settings()
    file = store_file(settings.store)
    if is_encrypted(settings.store) != encrypted:
        raise Refused(f"{file} is {'not encrypted' if encrypted else 'encrypted already'}; {remedy}")
    settings = cli.unlocked_settings()
    access = make_access(settings, cli.choose_space().space, settings.agent, settings.session, None)
    access.demand("change the key of the store")
    open_backend(settings.store, settings if encrypted else replace(settings, key="")).close()
    return settings, file


def give_key(settings: Settings, before: str, setting: str, new_file: str | None) -> None:
    """Makes the key file where one is wanted, and encrypts the store with the key that `setting` names."""
    if new_file:
        make_key_file(new_file)
    try:
        rekey_store(settings.store, before, setting)
    except BaseException:
        if new_file and opens(settings, before):
            Path(new_file).expanduser().unlink(missing_ok=True)  # else the same command could not be repeated
        raise
    say(f"{store_file(settings.store)} has another key." if before else f"Encrypted {store_file(settings.store)}.")
    if is_typed(setting):
        say(
            "From now on commands at a terminal ask for the passphrase. Agents, hooks and scripts cannot be asked: for "
            "them, put it into a file of your own or the keyring, and name that with `nacre config set key file:PATH` "
            "or `keyring:NAME`."
        )
    elif with_absolute_path(settings.key) == setting:
        say("The setting `key` names the key already.")
    else:
        say(f"Now run `nacre config set key {quote(setting)}`, or set {SETTING}; and keep a copy of the key elsewhere.")
    report_old_backups(settings, plain=not before)


def opens(settings: Settings, key: str) -> bool:
    """Whether the store opens with the key that the setting `key` names."""
    try:
        open_backend(settings.store, replace(settings, key=key)).close()
    except StorageError:
        return False
    return True


def check_no_mirror(settings: Settings) -> None:
    """A mirror of the journal is plain text: it would go on repeating what the store encrypts."""
    mirrors = [settings.journal_mirror, *(str(own.get("journal_mirror", "")) for own in settings.spaces.values())]
    if any(mirrors):
        named = ", ".join(mirror for mirror in mirrors if mirror)
        raise Refused(
            f"the journal is mirrored in plain text ({named}), which would repeat what is encrypted. Set "
            "`journal_mirror` to nothing, delete the mirror and its archives beside it, and repeat."
        )


def report_old_backups(settings: Settings, *, plain: bool) -> None:
    """Of what the change does not reach: `plain` where it was not encrypted before."""
    from nacre.lifecycle.backups import copies

    left = [str(stored.file) for stored in copies(settings) if not is_encrypted(stored.file)] if plain else []
    if left:
        say("These copies are still plain text; delete them once you have a new one:", *(f"  {file}" for file in left))
        return
    say(f"Backups made before stay as they were: {'not encrypted' if plain else 'they open with the old key'}.")


@command("encrypt", yes_option)
@option("--key WHERE", "The key: file:PATH, env:VARIABLE or keyring:NAME.")
@option("--new-key-file PATH", "Make a random key, and keep it in this file.")
def encrypt_command(cli: CliContext, key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Encrypt the store with a key. From then on the setting `key` has to name it.

    A passphrase is a key, and so are 64 hex digits, which open faster. Without a key that is named here, the one of
    the setting is taken; where there is none, a terminal asks for a passphrase.
    """
    settings, file = checked_store(cli, "`nacre store rekey` gives it another key.", encrypted=False)
    check_no_mirror(settings)
    setting = new_key_setting(file, key, new_key_file, settings.key, "--key")
    confirm(f"Encrypt {file}? Without the key nothing in it can ever be read again.", yes=yes)
    give_key(settings, "", setting, new_key_file)


@command("decrypt", yes_option)
def decrypt_command(cli: CliContext, yes: bool) -> None:
    """Remove the encryption of a store. The setting `key` names the key that it has."""
    settings, file = checked_store(cli, "there is nothing to decrypt.", encrypted=True)
    confirm(f"Decrypt {file}? Whoever can read the file can then read every memory.", yes=yes)
    rekey_store(settings.store, settings.key, "")
    say(f"Decrypted {file}." + ("" if is_typed(settings.key) else " Now run `nacre config unset key`."))
    report_old_backups(settings, plain=False)


@command("rekey", yes_option)
@option("--new-key WHERE", "The new key: file:PATH, env:VARIABLE or keyring:NAME.")
@option("--new-key-file PATH", "Make a random key, and keep it in this file.")
def rekey_command(cli: CliContext, new_key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Change the key of an encrypted store. The setting `key` names the one that it has."""
    settings, file = checked_store(cli, "`nacre store encrypt` gives it its first key.", encrypted=True)
    setting = new_key_setting(file, new_key, new_key_file, "", "--new-key")
    confirm(f"Give {file} another key? The old one will no longer open it.", yes=yes)
    give_key(settings, settings.key, setting, new_key_file)
