"""nacre store migrate: a whole store to another file or server, with its history."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext, configure_logging, store_exists, store_not_found
from nacre.cli.options import command, form_option, option
from nacre.cli.ui.output import DATA, Form, print_data, say
from nacre.cli.ui.prompts import count_of, duration, progress_line
from nacre.factory import is_empty_file, is_encrypted, make_access
from nacre.settings import ADDRESS, IN_MEMORY, PERSONAL, PERSONAL_PREFIX, Settings

if TYPE_CHECKING:
    from nacre.transfer.migrate import Migrated


@command("migrate", form_option("text", "json"))
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@option("--from-key WHERE", "The key of FROM, if not that of the setting `key`: file:PATH, env:VARIABLE, keyring:NAME.")
@option("--to-key WHERE", "The key of TO, if it is a file; by default that of FROM. Empty: not encrypted.")
def migrate_command(
    cli: CliContext, source: str, target: str, from_key: str | None, to_key: str | None, form: Form
) -> None:
    """Copy the whole store, with its history, to another file or server.

    TO must be new or empty. Each is a file, a folder or postgresql://…

    All of it goes along: every space, memory, earlier state, link and term, the journal with its times and actors, use
    counts and vectors. `nacre undo` and `--as-of` work in TO as they do in FROM. At the end both are compared. FROM is
    only read, and can be used meanwhile; what is written to it is caught up with.

    After an interruption, run the same command again. Do not use TO before it is complete.

    \b
      nacre store migrate ~/memory.db postgresql://me@db.example/memory
      nacre store migrate plain.db secret.db --to-key file:secret.key
    """
    from nacre.transfer.migrate import migrate_store

    configure_logging(debug=cli.debug)
    settings = cli.settings()
    check_access(cli, settings)
    check_exists(settings, source)
    keys = keys_of(settings, source, target, from_key, to_key)
    with progress_line() as progress:
        done = migrate_store(source, target, settings, source_key=keys[0], target_key=keys[1], progress=progress)
    if form in DATA:
        print_data({**asdict(done), "elapsed": round(done.elapsed, 3)}, form)
    else:
        report(done, encrypted_before=bool(keys[0]), key=keys[1])


def check_access(cli: CliContext, settings: Settings) -> None:
    access = make_access(settings, cli.choose_space().space, settings.agent, settings.session, None)
    access.demand("move the store")


def check_exists(settings: Settings, source: str) -> None:
    if source != IN_MEMORY and not store_exists(replace(settings, store=source)) and not is_empty_file(source):
        raise store_not_found(source)


def keys_of(settings: Settings, source: str, target: str, from_key: str | None, to_key: str | None) -> tuple[str, str]:
    """The settings that name the keys; an encrypted store stays encrypted unless something else is said."""
    before = settings.key if from_key is None else from_key
    if from_key is None and (is_address(source) or source == IN_MEMORY or not is_encrypted(source)):
        before = ""
    after = (before or settings.key) if to_key is None else to_key
    return before, "" if is_address(target) else after


def is_address(place: str) -> bool:
    return ADDRESS.match(place) is not None


def report(done: Migrated, *, encrypted_before: bool, key: str) -> None:
    memories, entries = sum(space.memories for space in done.spaces), sum(space.entries for space in done.spaces)
    spaces = count_of(len(done.spaces), "space", "spaces")
    say(
        f"Moved {count_of(memories)} in {spaces}, with {count_of(entries, 'journal entry', 'journal entries')} and "
        f"{count_of(done.terms, 'term', 'terms')}, to {done.target} in {duration(done.elapsed)}. Both were read again "
        "and are equal.",
        *(f"  {space.name}: {count_of(space.memories)}, digest {space.digest}" for space in done.spaces),
    )
    if done.rounds > 1:
        say(f"{done.source} was written to meanwhile; {done.target} has that, too.")
    if encrypted_before and not key:
        say(f"{done.source} is encrypted, and {done.target} is not by Nacre: see to its protection.")
    if is_address(done.target) and any(space.name == PERSONAL and space.memories for space in done.spaces):
        say(
            f"On a server, everybody with a token for all spaces reads the space {PERSONAL}. Before you share it, give "
            f"that space to its owner: nacre --store {done.target} space rename {PERSONAL} {PERSONAL_PREFIX}USER"
        )
    say(f"{done.source} is unchanged. To use the other one: nacre config set store {done.target}")
