"""nacre store: what is done to the store as a whole."""

from __future__ import annotations

import click

from nacre.cli.catalogue import GroupWithMembers


@click.group("store", cls=GroupWithMembers)
def store_command() -> None:
    """Back up, encrypt, index again, or move the whole store.

    \b
      nacre store backup create                        a checked copy beside the store
      nacre store encrypt                              asks for a passphrase
      nacre store migrate ~/memory.db postgresql://…   to a database, with the history
    """
