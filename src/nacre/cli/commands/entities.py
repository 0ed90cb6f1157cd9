"""nacre entities"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.options import command, form_option, global_options, limit_option, why_option
from nacre.cli.ui.output import Column, Form, print_items, say
from nacre.cli.ui.records import memory_columns, memory_record

if TYPE_CHECKING:
    from nacre.model.graph import Entity, EntityPair

ALL = 2**53


@click.group("entities", invoke_without_command=True)
@click.option("--suggest", is_flag=True, help="List the names that may be one instead, each pair with the reason.")
@limit_option(50)
@form_option()
@global_options
@click.pass_context
def entities_command(ctx: click.Context, suggest: bool, limit: int, form: Form) -> None:
    """List the people and things in memories, the most mentioned first, each with its other names."""
    if ctx.invoked_subcommand is not None:
        return
    cli: CliContext = ctx.obj
    with cli.open() as store:
        if suggest:
            list_suggestions(store.entity_suggestions(limit or None), form)
            return
        results = store.entities(limit or None)
    columns: list[Column[Entity]] = [
        Column("name", lambda each: each.name, style="cyan"),
        Column("memories", lambda each: str(each.count)),
        Column("also", lambda each: ", ".join(each.aliases), wide=True),
    ]
    empty = "No memory here names anybody; `nacre remember TEXT --entity NAME` does."
    print_items(results, columns, asdict, form, empty)


def list_suggestions(pairs: list[EntityPair], form: Form) -> None:
    columns: list[Column[EntityPair]] = [
        Column("name", lambda pair: pair.a, style="cyan"),
        Column("other", lambda pair: pair.b, style="cyan"),
        Column("why", lambda pair: pair.reason, wide=True),
    ]
    print_items(pairs, columns, asdict, form)
    say("`nacre review --kind entity` decides them." if pairs else "No two names here look like one.")


@command("merge", entities_command)
@click.argument("into", metavar="NAME")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@why_option
def merge(cli: CliContext, into: str, others: tuple[str, ...], why: str) -> None:
    """Let the OTHER names mean the same as NAME, in one operation. The memories' own words stay as written."""
    with cli.open_or_make() as store:
        done = store.merge_entities(into, *others, why=why)
    say(f"All of them are {into!r} now; `nacre undo` takes it back." if done else f"They are {into!r} already.")


@command("unalias", entities_command)
@click.argument("name")
@why_option
def unalias(cli: CliContext, name: str, why: str) -> None:
    """Let a NAME that was merged with another be a name of its own again."""
    with cli.open() as store:
        former = store.resolve_entity(name)
        if not store.unalias(name, why=why):
            raise NotFound(f"{name!r} is nobody's alias; `nacre entities` lists the names.")
    say(f"{name!r} is not {former!r} any more; `nacre undo` takes it back.")


@command("about", entities_command)
@click.argument("name")
@limit_option(50)
@form_option()
def about(cli: CliContext, name: str, limit: int, form: Form) -> None:
    """List the memories about NAME, by any of its names, newest first."""
    with cli.open() as store:
        known = store.resolve_entity(name)
        results = store.memories_about(name, limit or ALL)
    empty = f"No memory names {known!r}; `nacre entities` lists whom they name, `nacre recall` searches their texts."
    print_items(results, memory_columns(lambda memory: memory, cli.now()), memory_record, form, empty)
