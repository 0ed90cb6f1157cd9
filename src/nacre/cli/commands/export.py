"""nacre export"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, print_data, say
from nacre.cli.ui.prompts import count_of, progress_line

if TYPE_CHECKING:
    from nacre.transfer.export import Choice

STREAM = "-"


class Chosen(TypedDict):
    types: tuple[str, ...]
    tags: tuple[str, ...]
    status: tuple[str, ...]
    since: str | None
    until: str | None
    superseded: bool
    archived: bool
    trashed: bool
    vectors: bool
    redact: bool


@click.command("export")
@click.argument("file", metavar="FILE|-")
@click.option("-t", "--type", "types", metavar="TYPE", multiple=True, help="Of this type; repeat for others.")
@click.option("-g", "--tag", "tags", metavar="TAG", multiple=True, help="With this tag; repeat for all of them.")
@click.option("--status", metavar="NAME", multiple=True, help="Of this status: long_term, archived, …; repeat.")
@click.option("--since", metavar="WHEN", help="Created since: 30m, 2h, 7d, 4w, or a date (UTC).")
@click.option("--until", metavar="WHEN", help="Created until: 7d, or a date, whose whole day counts.")
@click.option("--superseded/--no-superseded", default=True, help="Also what newer ones replaced (the default).")
@click.option("--archived/--no-archived", default=True, help="Also what is in the archive (the default).")
@click.option("--trashed/--no-trashed", default=False, help="Also what is in the trash (not by default).")
@click.option("--vectors/--no-vectors", default=True, help="With vectors, or smaller, to be computed again.")
@click.option("--redact/--no-redact", default=True, help="Without what looks like a secret, or as it is kept.")
@form_option("text", "json")
@global_options
@click.pass_obj
def command(cli: CliContext, file: str, form: str | None, **chosen: Unpack[Chosen]) -> None:
    """Write memories to FILE, oldest first: everything in the space but the trash, unless you narrow it.

    A name that ends in .ahkai gets AI-Houkai's form, every other our own, which keeps all that a memory has. To a file
    it is written whole or not at all; `-` is stdout.

    \b
      nacre export all.nacre
      nacre export lately.nacre --since 7d -t episodic --no-vectors
      nacre export - | ssh other nacre import - --yes
    """
    from nacre.transfer.export import export_archive

    if file == STREAM and sys.stdout.isatty():
        raise click.UsageError("A terminal cannot show what is packed; name a FILE.")
    if file == STREAM and form:
        raise click.UsageError("What was written cannot be told on stdout as well; name a FILE.")
    choice = choice_of(chosen, cli.now())
    with cli.open() as store, progress_line() as progress:
        out = sys.stdout.buffer if file == STREAM else Path(file)
        done = export_archive(store, out, choice, progress=progress)
    if form in DATA:
        print_data({**asdict(done), "path": str(done.path), "elapsed": round(done.elapsed, 3)}, form)
        return
    say(f"Wrote {count_of(done.count)} to {'stdout' if done.path is None else done.path}, {done.bytes:,} bytes.")
    for note in done.notes:
        say(note)


def choice_of(chosen: Chosen, now: float) -> Choice:
    from nacre.cli.ui.times import since, until
    from nacre.transfer.export import Choice

    return Choice(
        types=chosen["types"],
        tags=chosen["tags"],
        status=chosen["status"],
        since=since(chosen["since"], now) if chosen["since"] else None,
        until=until(chosen["until"], now) if chosen["until"] else None,
        include_superseded=chosen["superseded"],
        include_archived=chosen["archived"],
        include_trashed=chosen["trashed"],
        vectors=chosen["vectors"],
        redact=chosen["redact"],
    )
