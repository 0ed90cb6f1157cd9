"""nacre entities"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.options import command, form_option, global_options, why_option
from nacre.cli.ui.columns import memory_columns
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.records import memory_record
from nacre.model import Memory

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model.graph import Entity, EntityPair

ALL = 2**53
limit_option = click.option(
    "-n", "limit", type=click.IntRange(min=0), default=50, show_default=True, help="At most; 0 for all."
)


@click.group("entities", invoke_without_command=True)
@click.option("--suggest", is_flag=True, help="List the names that may be one instead, each pair with the reason.")
@limit_option
@form_option()
@global_options
@click.pass_context
def entities_command(ctx: click.Context, suggest: bool, limit: int, form: str | None) -> None:
    """List the people and things in memories, the most mentioned first, each with its other names."""
    if ctx.invoked_subcommand is not None:
        return
    cli: CliContext = ctx.obj
    with cli.open() as store:
        if suggest:
            list_suggestions(store, limit, form)
            return
        results = store.entities(limit or None)
    print_items(results, columns(), asdict, form)
    if not results:
        say("No memory here names anybody; `nacre remember TEXT --entity NAME` does.")


def list_suggestions(store: MemoryStore, limit: int, form: str | None) -> None:
    results = store.entity_suggestions(limit or None)
    print_items(results, pair_columns(), asdict, form)
    say("`nacre review --kind entity` decides them." if results else "No two names here look like one.")


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
@limit_option
@form_option()
def about(cli: CliContext, name: str, limit: int, form: str | None) -> None:
    """List the memories about NAME, by any of its names, newest first."""
    with cli.open() as store:
        known = store.resolve_entity(name)
        results = store.memories_about(name, limit or ALL)
    print_items(results, memory_columns(itself, cli.now()), memory_record, form)
    if not results:
        say(f"No memory names {known!r}; `nacre entities` lists whom they name, `nacre recall` searches their texts.")


def columns() -> list[Column[Entity]]:
    return [
        Column("name", lambda each: each.name, style="cyan"),
        Column("memories", lambda each: str(each.count)),
        Column("also", lambda each: ", ".join(each.aliases), wide=True),
    ]


def pair_columns() -> list[Column[EntityPair]]:
    return [
        Column("name", lambda pair: pair.a, style="cyan"),
        Column("other", lambda pair: pair.b, style="cyan"),
        Column("why", lambda pair: pair.reason, wide=True),
    ]


def itself(memory: Memory) -> Memory:
    return memory
