"""nacre decrypt"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.options import global_options, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm


@click.command("decrypt")
@yes_option
@global_options
@click.pass_obj
def command(cli: CliContext, yes: bool) -> None:
    """Make an encrypted store readable without a key again. The setting `key` names the key that it has."""
    from nacre.cli.keying import check_opens, tell_copies
    from nacre.factory import is_encrypted, rekey_store, store_file

    settings = cli.settings()
    file = store_file(settings.store)
    if not is_encrypted(settings.store):
        raise Refused(f"{file} is not encrypted; there is nothing to decrypt.")
    check_opens(settings)
    if not yes:
        confirm(f"Decrypt {file}? Whoever can read the file can then read every memory.")
    rekey_store(settings.store, settings.key, "")
    say(f"Decrypted {file}. Now take `key` out of the settings.")
    tell_copies(plain=False)
