"""nacre rekey"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.options import global_options, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm


@click.command("rekey")
@click.option("--new-key", metavar="WHERE", help="The new key: file:PATH, env:VARIABLE or keyring:NAME.")
@click.option("--new-key-file", metavar="PATH", help="Make a random key, and keep it in this file.")
@yes_option
@global_options
@click.pass_obj
def command(cli: CliContext, new_key: str | None, new_key_file: str | None, yes: bool) -> None:
    """Give an encrypted store another key. The setting `key` names the one that it has."""
    from nacre.cli.keying import check_opens, chosen_key, tell_copies, tell_setting
    from nacre.factory import is_encrypted, make_key_file, rekey_store, store_file

    settings = cli.settings()
    file = store_file(settings.store)
    if not is_encrypted(settings.store):
        raise Refused(f"{file} is not encrypted; `nacre encrypt` gives it its first key.")
    check_opens(settings)
    setting = chosen_key(new_key, new_key_file, "", "--new-key")
    if not yes:
        confirm(f"Give {file} another key? The old one will no longer open it.")
    if new_key_file:
        make_key_file(new_key_file)
    rekey_store(settings.store, settings.key, setting)
    say(f"{file} has another key.")
    tell_setting(setting, settings)
    tell_copies(plain=False)
