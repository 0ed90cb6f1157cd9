"""nacre conflicts"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.conflicts import both_texts
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.cli.ui.records import conflict_record
from nacre.model import Conflict


@click.command("conflicts")
@click.argument("id", required=False)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), metavar="0-1", help="How alike two texts are that say the same."
)
@click.option("--note", is_flag=True, help="Put them into the review queue.")
@why_option
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, id: str | None, threshold: float | None, note: bool, why: str, form: str | None) -> None:
    """Find memories that contradict, update or repeat each other; or the one with this ID. Worst first.

    Pairs that were decided before are passed over.
    """
    with cli.open_with_model() as store:
        asked = find_memories(store, [id])[0].id if id is not None else None
        with progress_line() as progress:
            found = store.find_conflicts(asked, threshold=threshold, progress=progress)
        noted = store.note_conflicts(found, why=why) if note and found else 0
    print_items(found, columns(), conflict_record, form)
    if not found:
        say("No conflicts found.")
    elif note and not noted:
        say("They wait already; `nacre review` settles them.")
    elif note:
        say(f"{count_of(noted, 'conflict waits', 'conflicts wait')} for a decision now; `nacre review` settles them.")
    else:
        say(f"{count_of(len(found), 'conflict', 'conflicts')}; --note puts them into the queue of `nacre review`.")


def columns() -> list[Column[Conflict]]:
    return [
        Column("kind", lambda each: each.kind, lambda each: each.kind, style="magenta"),
        Column("reason", lambda each: each.reason, lambda each: each.reason),
        Column("newer words", lambda each: each.words[0]),
        Column("older words", lambda each: each.words[1]),
        Column("words", None, words),
        Column("alike", lambda each: f"{each.similarity:.3f}", lambda each: f"{each.similarity:.2f}", right=True),
        Column("newer", lambda each: each.a.id),
        Column("older", lambda each: each.b.id),
        Column("newer text", lambda each: each.a.text),
        Column("older text", lambda each: each.b.text),
        Column("newer, older", None, both_texts, wide=True, wraps=True),
    ]


def words(conflict: Conflict) -> str:
    return "\n".join(conflict.words) if any(conflict.words) else ""
