"""nacre link, unlink, relations and prune-links."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_memories, resolve_target
from nacre.cli.options import command, form_option, why_option, yes_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import DATA, Column, print_data, print_items, print_rows, printable, put, say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.model import Edge, Linked, Memory

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


@command("link")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--rel", default="related", show_default=True, metavar="NAME", help="How the two are related.")
@click.option("-w", "--weight", type=float, default=1.0, metavar="NUMBER", help="How strong the link is; 1 is plain.")
@why_option
@form_option("text", "tsv", "json")
def link_command(
    cli: CliContext, source: str, target: str, rel: str, weight: float, why: str, form: str | None
) -> None:
    """Link the memory SOURCE to TARGET, and print the link.

    TARGET need not be there yet, unless the setting `strict_links` asks for it. `nacre relations` lists the
    relations; a new word is learned, and waits in `nacre review` to be confirmed.
    """
    with cli.open() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        linked = store.link(memory.id, end, rel, weight=weight, why=why)
        other = store.get(end)
    show_link(memory, linked, other, form or ("text" if sys.stdout.isatty() else "tsv"))
    report_link(linked, other)


def show_link(memory: Memory, linked: Linked, other: Memory | None, form: str) -> None:
    link = linked.link
    if form in DATA:
        record = {"source": memory.id, "target": link.to, "rel": link.rel, "weight": link.weight, "new": linked.new}
        print_data(record, form)
    elif form == "tsv":
        print_rows([[memory.id, link.rel, link.to, f"{link.weight:g}"]])
    else:
        there = f"{short(link.to)} ({excerpt(other)})" if other else short(link.to)
        put(printable(f"{short(memory.id)} ({excerpt(memory)}) {link.rel} → {there}"))


def report_link(linked: Linked, other: Memory | None) -> None:
    if other is None:
        say(f"No memory {linked.link.to!r} is here yet; the link stays until it is.")
    if not linked.new:
        say("This link exists already.")
    say(*linked.notes)


@command("unlink")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--rel", metavar="NAME", help="Only the link of this relation; every one unless given.")
@why_option
def unlink_command(cli: CliContext, source: str, target: str, rel: str | None, why: str) -> None:
    """Remove the links that lead from SOURCE to TARGET."""
    with cli.open() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        gone = store.unlink(memory.id, end, rel, why=why)
    if not gone:
        kind = f" of the relation {rel!r}" if rel else ""
        raise NotFound(f"no link{kind} leads from {short(memory.id)} to {short(end)}.")
    what = count_of(gone, "link", "links")
    say(f"Removed {what} from {short(memory.id)} to {short(end)}; `nacre undo` brings back what went.")


@dataclass(frozen=True, slots=True)
class Relation:
    relation: str
    description: str
    waits_for_review: bool


@command("relations")
@click.option("--add", metavar="NAME", help="Teach the store a relation, or confirm one that waits for review.")
@click.option("--description", default="", metavar="TEXT", help="What the added relation means.")
@form_option()
def relations_command(cli: CliContext, add: str | None, description: str, form: str | None) -> None:
    """List the relations that links can have, with what they mean; or add one."""
    if description and add is None:
        raise click.UsageError("--description says what --add NAME means; give both.")
    with cli.open() if add is None else cli.open_or_make() as store:
        if add is not None:
            store.register_relation(add, description)
            say(f"The store knows the relation {add!r} now; `nacre undo` takes it back.")
            return
        waiting = {item.word for item in store.review(kinds="word", limit=None)}
        known = [Relation(name, meaning, name in waiting) for name, meaning in store.relations().items()]
    columns: list[Column[Relation]] = [
        Column("relation", lambda each: each.relation, style="cyan"),
        Column("waits", lambda each: "waits" if each.waits_for_review else "", only="tsv"),
        Column("meaning", lambda each: each.description, relation_meaning, wide=True, wraps=True),
    ]
    print_items(known, columns, asdict, form)


def relation_meaning(known: Relation) -> str:
    return known.description + (" (new; `nacre review` confirms it)" if known.waits_for_review else "")


@command("prune-links")
@click.option("--below", type=float, default=0.3, show_default=True, metavar="WEIGHT", help="Links lighter than this,")
@click.option(
    "--walks", type=click.IntRange(min=0), default=0, show_default=True, help="that led somewhere so often at most."
)
@click.option("--apply", "applied", is_flag=True, help="Take them away; without it they are only listed.")
@yes_option
@why_option
@form_option()
def prune_links_command(
    cli: CliContext, below: float, walks: int, applied: bool, yes: bool, why: str, form: str | None
) -> None:
    """List very weak links, and with --apply remove them.

    Links that mean something by themselves, such as supersedes, contradicts and derived_from, always stay.
    """
    with cli.open() as store:
        edges = store.weak_links(below=below, walks=walks)
        print_items(edges, weak_link_columns(store), Edge._asdict, form, "No link is that weak.")
        if edges and not applied:
            say(f"{count_of(len(edges), 'link', 'links')} would be removed; --apply does it.")
        elif edges:
            confirm(f"Remove {count_of(len(edges), 'link', 'links')}? `nacre undo` can bring them back.", yes=yes)
            gone = store.prune_links(edges, why=why)
            say(f"Removed {count_of(gone, 'link', 'links')}; `nacre undo` brings them back.")


def weak_link_columns(store: MemoryStore) -> list[Column[Edge]]:
    def text(id: str) -> str:
        memory = store.get(id)
        return excerpt(memory) if memory else "(not here)"

    return [
        Column("source", lambda edge: edge.source, lambda edge: short(edge.source), style="cyan"),
        Column("link", lambda edge: edge.rel, lambda edge: f"{edge.rel} →", style="magenta"),
        Column("target", lambda edge: edge.target, lambda edge: short(edge.target), style="cyan"),
        Column("weight", lambda edge: f"{edge.weight:g}", right=True),
        Column("walks", lambda edge: str(edge.walks), right=True),
        Column("between", lambda edge: f"{text(edge.source)} → {text(edge.target)}", wide=True, only="table"),
    ]
