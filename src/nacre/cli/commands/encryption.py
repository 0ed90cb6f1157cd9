"""nacre encrypt, decrypt and rekey."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused, UsageProblem
from nacre.cli.options import command, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm
from nacre.factory import is_encrypted, key_named, make_access, make_key_file, open_backend, rekey_store, store_file
from nacre.settings import KEY_FILE, Settings

SETTING = "NACRE_KEY"


def new_key_setting(named: str | None, new_file: str | None, known: str, option: str) -> str:
    """The setting that names the new key: as given, of a file that is yet to be made, or as the settings have it.

    What is wrong with it is said now, before anybody is asked.
    """
    if named and new_file:
        raise UsageProblem(f"{option} and --new-key-file name two keys; give one of them.")
    if new_file:
        return with_absolute_path(KEY_FILE + new_file)
    setting = with_absolute_path(named or known)
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


def check_opens(settings: Settings) -> None:
    """With the key that the settings name, by one who may; what is wrong is said before anybody is asked."""
    access = make_access(settings, settings.space, settings.agent, settings.session, None)
    if access is not None:
        access.demand("change the key of the store")
    open_backend(settings.store, settings).close()


def give_key(settings: Settings, before: str, setting: str, new_file: str | None) -> None:
    """Makes the key file where one is wanted, and encrypts the store with the key that `setting` names."""
    if new_file:
        make_key_file(new_file)
    rekey_store(settings.store, before, setting)
    say(f"{store_file(settings.store)} has another key." if before else f"Encrypted {store_file(settings.store)}.")
    if with_absolute_path(settings.key) == setting:
        say("The setting `key` names the key already.")
    else:
        say(f"Now put  key = '{setting}'  into the settings, or set {SETTING}; and keep a copy of the key elsewhere.")
    report_old_backups(plain=not before)


def check_no_mirror(settings: Settings) -> None:
    """A mirror of the journal is plain text: it would go on repeating what the store encrypts."""
    mirrors = [settings.journal_mirror, *(str(own.get("journal_mirror", "")) for own in settings.spaces.values())]
    if any(mirrors):
        named = ", ".join(mirror for mirror in mirrors if mirror)
        raise Refused(
            f"the journal is mirrored in plain text ({named}), which would repeat what is encrypted. Set "
            "`journal_mirror` to nothing, delete the mirror and its archives beside it, and repeat."
        )


def report_old_backups(*, plain: bool) -> None:
    """Of what the change does not reach: `plain` where it was not encrypted before."""
    say(f"Backups made before stay as they were: {'not encrypted' if plain else 'they open with the old key'}.")


@command("encrypt")
@click.option("--key", metavar="WHERE", help="The key: file:PATH, env:VARIABLE or keyring:NAME.")
@click.option("--new-key-file", metavar="PATH", help="Make a random key, and keep it in this file.")
@yes_option
def encrypt_command(cli: CliContext, key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Encrypt the whole store. From then on the setting `key` has to name the key.

    A passphrase is a key, and so are 64 hex digits, which open faster. Without a key that is named here, the one of
    the setting is taken.
    """
    settings = cli.settings()
    file = store_file(settings.store)
    if is_encrypted(settings.store):
        raise Refused(f"{file} is encrypted already; `nacre rekey` gives it another key.")
    check_opens(replace(settings, key=""))
    check_no_mirror(settings)
    setting = new_key_setting(key, new_key_file, settings.key, "--key")
    confirm(f"Encrypt {file}? Without the key nothing in it can ever be read again.", yes=yes)
    give_key(settings, "", setting, new_key_file)


@command("decrypt")
@yes_option
def decrypt_command(cli: CliContext, yes: bool) -> None:
    """Remove the encryption of a store. The setting `key` names the key that it has."""
    settings = cli.settings()
    file = store_file(settings.store)
    if not is_encrypted(settings.store):
        raise Refused(f"{file} is not encrypted; there is nothing to decrypt.")
    check_opens(settings)
    confirm(f"Decrypt {file}? Whoever can read the file can then read every memory.", yes=yes)
    rekey_store(settings.store, settings.key, "")
    say(f"Decrypted {file}. Now take `key` out of the settings.")
    report_old_backups(plain=False)


@command("rekey")
@click.option("--new-key", metavar="WHERE", help="The new key: file:PATH, env:VARIABLE or keyring:NAME.")
@click.option("--new-key-file", metavar="PATH", help="Make a random key, and keep it in this file.")
@yes_option
def rekey_command(cli: CliContext, new_key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Change the key of an encrypted store. The setting `key` names the one that it has."""
    settings = cli.settings()
    file = store_file(settings.store)
    if not is_encrypted(settings.store):
        raise Refused(f"{file} is not encrypted; `nacre encrypt` gives it its first key.")
    check_opens(settings)
    setting = new_key_setting(new_key, new_key_file, "", "--new-key")
    confirm(f"Give {file} another key? The old one will no longer open it.", yes=yes)
    give_key(settings, settings.key, setting, new_key_file)
