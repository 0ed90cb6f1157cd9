"""nacre remember"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from nacre.cli.asking import counted, read_stdin, text_of
from nacre.cli.columns import short
from nacre.cli.door import Door
from nacre.cli.options import describing, door_options, given_only
from nacre.cli.output import put, say
from nacre.cli.progress import progress_line

if TYPE_CHECKING:
    from nacre.remember.check import Fields
    from nacre.store import MemoryStore


@click.command("remember")
@click.argument("words", nargs=-1, metavar="TEXT|-")
@click.option("--stdin", is_flag=True, help="Read the text from stdin, as - does.")
@click.option("--lines", is_flag=True, help="Each line on stdin is a memory of its own.")
@click.option("-g", "--tag", "tags", metavar="TAG", multiple=True, help="A tag; repeat for several.")
@describing
@click.option("--pin", "pinned", is_flag=True, default=None, help="Keep it from fading.")
@click.option("--id", metavar="ID", help="Your own id for it.")
@door_options
@click.pass_obj
def command(door: Door, /, words: tuple[str, ...], stdin: bool, lines: bool, **described: object) -> None:
    """Keep a text, or what comes on stdin, and print its id.

    \b
      nacre remember "The staging server is at 10.0.0.7" -g ops
      nacre remember - < notes.md
      grep TODO *.py | nacre remember --lines -t prospective
    """
    if not (words or stdin or lines):
        raise click.UsageError("Give the text to remember, or - to read it from stdin.")
    if lines and (words not in ((), ("-",)) or described["id"]):
        raise click.UsageError("--lines reads every text from stdin, and makes the ids itself.")
    known = door.settings()
    fields = {"type": known.default_type, "importance": known.default_importance, **given_only(described)}
    with door.open_with_model() as store:
        if lines:
            keep_lines(store, fields)
        else:
            keep(store, text_of(words, stdin=stdin), fields)


def keep(store: MemoryStore, text: str, fields: dict[str, object]) -> None:
    result = store.remember_result(text, **cast("Fields", fields))
    put(result.memory.id)
    for conflict in result.conflicts:
        if conflict.kind == "duplicate":
            say(f"The same text is already there: {short(conflict.b.id)}; `nacre undo` takes this one back.")
        else:
            say(f"This may contradict {short(conflict.b.id)} ({conflict.reason}).")
    for note in result.notes:
        say(note)


def keep_lines(store: MemoryStore, fields: dict[str, object]) -> None:
    texts = [line for line in read_stdin().split("\n") if line.strip()]
    with progress_line() as progress:
        kept = store.remember_many([{**fields, "text": text} for text in texts], progress=progress)
    for memory in kept:
        put(memory.id)
    say(f"Kept {counted(len(kept))}.")
    waiting = store.stats().waiting_for_model
    if waiting:
        say(f"{counted(waiting)} found by words alone until the model is there; `nacre model install` gets it.")
