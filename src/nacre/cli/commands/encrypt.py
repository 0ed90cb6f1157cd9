"""nacre encrypt"""

from __future__ import annotations

from dataclasses import replace

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.options import global_options, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm


@click.command("encrypt")
@click.option("--key", metavar="WHERE", help="The key: file:PATH, env:VARIABLE or keyring:NAME.")
@click.option("--new-key-file", metavar="PATH", help="Make a random key, and keep it in this file.")
@yes_option
@global_options
@click.pass_obj
def command(cli: CliContext, key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Encrypt the whole store. From then on the setting `key` has to name the key.

    A passphrase is a key, and so are 64 hex digits, which open faster. Without a key that is named here, the one of
    the setting is taken.
    """
    from nacre.cli.keying import check_no_mirror, check_opens, chosen_key, tell_copies, tell_setting
    from nacre.factory import is_encrypted, make_key_file, rekey_store, store_file

    settings = cli.settings()
    file = store_file(settings.store)
    if is_encrypted(settings.store):
        raise Refused(f"{file} is encrypted already; `nacre rekey` gives it another key.")
    check_opens(replace(settings, key=""))
    check_no_mirror(settings)
    setting = chosen_key(key, new_key_file, settings.key, "--key")
    if not yes:
        confirm(f"Encrypt {file}? Without the key nothing in it can ever be read again.")
    if new_key_file:
        make_key_file(new_key_file)
    rekey_store(settings.store, "", setting)
    say(f"Encrypted {file}.")
    tell_setting(setting, settings)
    tell_copies(plain=True)
