"""nacre relations"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import Column, print_items, say


@dataclass(frozen=True, slots=True)
class Relation:
    relation: str
    description: str
    waits_for_review: bool


@click.command("relations")
@click.option("--add", metavar="NAME", help="Teach the store a relation, or confirm one that waits for review.")
@click.option("--description", default="", metavar="TEXT", help="What the added relation means.")
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, add: str | None, description: str, form: str | None) -> None:
    """List the relations that ties can have, with what they mean; or add one."""
    if description and add is None:
        raise click.UsageError("--description says what --add NAME means; give both.")
    with cli.open() if add is None else cli.open_or_make() as store:
        if add is not None:
            store.register_relation(add, description)
            say(f"The store knows the relation {add!r} now; `nacre undo` takes it back.")
            return
        waiting = {item.word for item in store.review(kinds="word", limit=None)}
        known = [Relation(name, meaning, name in waiting) for name, meaning in store.relations().items()]
    print_items(known, columns(), asdict, form)


def columns() -> list[Column[Relation]]:
    return [
        Column("relation", lambda known: known.relation, lambda known: known.relation, style="cyan"),
        Column("waits", lambda known: "waits" if known.waits_for_review else ""),
        Column("meaning", lambda known: known.description, meaning, wide=True, wraps=True),
    ]


def meaning(known: Relation) -> str:
    return known.description + (" (new; `nacre review` confirms it)" if known.waits_for_review else "")
