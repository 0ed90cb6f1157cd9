"""nacre show, list and stats."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Unpack

import click
from click.core import ParameterSource

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.journal import entry_record, entry_summary
from nacre.cli.lookup import find_memory_at
from nacre.cli.options import (
    ALL,
    TimeOptions,
    command,
    filter_options,
    form_option,
    given_options,
    limit_option,
    option,
    tag_suggestion,
    time_options,
)
from nacre.cli.ui.output import (
    Form,
    chosen_form,
    one_line,
    print_facts,
    print_items,
    print_record,
    printable,
    put,
    say,
    shortened,
    with_options,
    wrapped,
)
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import (
    TIMES,
    conflicting_ids,
    excerpt,
    is_current,
    marks_line,
    memory_columns,
    memory_record,
)
from nacre.cli.ui.times import age
from nacre.engine.spaces import Stats
from nacre.memory_store import MemoryStore
from nacre.model import Edge, Filter, JournalEntry, Memory
from nacre.model.instants import iso
from nacre.model.memory import ARCHIVED, CONFLICTS, MAY_REPLACE, TRASHED, short_id
from nacre.model.recollection import effective_from
from nacre.protocols import Order
from nacre.recall_options import Scope

LAST_ENTRIES = 5
MOST_LINKS = 10  # of one direction; `nacre graph neighbors` lists them all
SEPARATE_FIELDS = ("id", "text", "links", "superseded_by")  # these have lines of their own
LABEL = 16  # columns for the names of fields
HISTORY_INDENT = " " * 10  # below the id of an operation
ALWAYS_SHOWN = ("type", "importance", "status")


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """`successors` replaced the memory, the next one first; `near` are the memories that a link joins it to."""

    memory: Memory
    successors: list[Memory]
    near: Mapping[str, Memory]
    inward: list[Edge]
    history: list[JournalEntry]

    def waiting(self) -> list[str]:
        """The ids of memories that it conflicts with, until somebody decides."""
        noted = [link.to for link in self.memory.links if link.rel == CONFLICTS]
        noted += [edge.source for edge in self.inward if edge.rel == CONFLICTS]
        return [id for id in noted if id in self.near and is_current(self.near[id])] if is_current(self.memory) else []

    def may_replace(self) -> list[tuple[str, float]]:
        """The ids of memories that it may be a newer version of, until somebody decides, and how likely that is."""
        if not is_current(self.memory):
            return []
        links = ((each, self.memory.version_link(each)) for each in self.near.values() if is_current(each))
        return [
            (each.id, min(1.0, link.weight))
            for each, link in links
            if link is not None and not self.memory.is_settled_with(each)
        ]


@command("show ID", time_options, form_option("text", "json"))
def show_command(cli: CliContext, id: str, form: Form, **times: Unpack[TimeOptions]) -> None:
    """Show one memory in full, with its links and its history. The first characters of its ID suffice."""
    as_of = times["as_of"]
    with cli.open_with_personal() as store:
        memory = find_memory_at(store, id, **times)
        around = store.subgraph([memory.id], depth=1, as_of=as_of)
        inward = [edge for edge in around.edges if edge.target == memory.id]
        entries = store.journal(memory.id, until=as_of, limit=LAST_ENTRIES)
        details = MemoryDetails(memory, list(successors(store, memory, as_of)), around.nodes, inward, entries)
    record = {
        **memory_record(memory),
        "chain": [newer.id for newer in details.successors],
        "links_in": [edge._asdict() for edge in inward],
        "waits_for_review": details.waiting(),
        "journal": [entry_record(entry) for entry in entries],
    }
    print_record(record, memory_lines(details, cli.now()), form)


def successors(store: MemoryStore, memory: Memory, as_of: str | None) -> Iterator[Memory]:
    step = store.get(memory.superseded_by, as_of=as_of) if memory.superseded_by else None
    while step is not None:
        yield step
        step = store.get(step.superseded_by, as_of=as_of) if step.superseded_by else None


def memory_lines(details: MemoryDetails, now: float) -> Iterator[str]:
    memory = details.memory
    yield label_line("id", memory.id)
    for name in dict.fromkeys((*ALWAYS_SHOWN, *memory.to_dict())):
        if name not in SEPARATE_FIELDS:
            yield label_line(name.replace("_", " "), field_value(name, getattr(memory, name), now))
    for newer in details.successors:
        yield label_line("superseded by", f"{short_id(newer.id)}  {excerpt(newer)}")
    yield from link_lines(details)
    for id in details.waiting():
        yield label_line("waits", with_options(f"for a decision on {short_id(id)}; `nacre review` asks for it"))
    for id, likely in details.may_replace():
        other, own = short_id(id), short_id(memory.id)
        denied = f"`nacre graph unlink {own} {other} --relation {MAY_REPLACE}`"
        how = f"`nacre memory supersede {other} {own}` settles it, {denied} denies it"
        yield label_line("may replace", f"{other} ({likely:.0%} likely); {with_options(how)}")
    yield ""
    yield wrapped(printable(memory.text), sys.stdout)
    if details.history:
        yield ""
    for entry in details.history:
        done = entry.operation
        what = shortened(f"{age(done.at, now)}, {done.name} by {done.actor}: {entry_summary(entry)}", 100)
        yield wrapped(click.style(f"{short_id(done.batch)}  {what}", dim=True), sys.stdout, HISTORY_INDENT)


def link_lines(details: MemoryDetails) -> Iterator[str]:
    outward = [(f"{link.rel} →", link.to) for link in details.memory.links if link.rel != MAY_REPLACE]
    inward = [(f"{edge.rel} ←", edge.source) for edge in details.inward]
    for several in (outward, inward):
        for label, id in several[:MOST_LINKS]:
            linked = details.near.get(id)
            yield label_line(label, f"{short_id(id)}  {excerpt(linked) if linked else '(not in this space)'}")
        if len(several) > MOST_LINKS:
            listed = with_options(f"`nacre graph neighbors {short_id(details.memory.id)}` lists them all")
            yield label_line("", f"and {len(several) - MOST_LINKS:,} more; {listed}")


def field_value(name: str, value: object, now: float) -> str:
    if name in TIMES and isinstance(value, float):
        return f"{iso(value)} ({age(value, now)})"
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)  # as `nacre edit --metadata` takes it
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def label_line(name: str, value: str) -> str:
    line = click.style(f"{one_line(name):<{LABEL - 1}} ", fg="cyan") + one_line(value)
    return wrapped(line, sys.stdout, " " * LABEL)


ORDERS: dict[str, Order] = {
    "created": "newest",
    "oldest": "oldest",
    "importance": "importance",
    "confidence": "confidence",
    "updated": "updated",
    "accessed": "accessed",
}


BY_CREATION = ("created", "oldest")


class ListCommand(click.Command):
    """Says which command finds words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        words = super().parse_args(ctx, args)
        if words and not ctx.resilient_parsing:
            raise click.UsageError(
                f"`nacre list` takes no words; `nacre recall {shlex.quote(' '.join(words))}` finds memories, "
                f"`nacre list --tag {shlex.quote(words[0])}` those with this tag.",
                ctx,
            )
        return words


@command("list", form_option(), cls=ListCommand)
@limit_option(20)
@option("--cursor CURSOR", "Continue after an earlier list, which names it; the same filters.")
@filter_options
@option("--sort", "What comes first; of created, the newest.", choices=ORDERS,
        default="created")  # fmt: skip
@option("--trashed", "What is in the trash.")
@option("--archived", "What is in the archive.")
@option("--superseded", "What newer memories replaced.")
def list_command(
    cli: CliContext, limit: int, cursor: str | None, sort: str, trashed: bool, archived: bool, superseded: bool,
    form: Form, **scope: Unpack[Scope],
) -> None:  # fmt: skip
    """List the newest memories, or those you filter for."""
    if archived:
        scope["status"] = ARCHIVED
    if trashed:
        scope |= {"status": TRASHED, "include_superseded": True, "include_expired": True}
    if superseded:
        scope |= {"where": Filter.where(superseded_by__ne=""), "include_superseded": True}
    with cli.open_with_personal() as store:
        memories = store.list_recent(limit or ALL, order=ORDERS[sort], cursor=cursor or "", **scope)
        total = store.count(**scope)
        filters = given_options(leave_out=NOT_FILTERS)
        empty = f"Nothing matches{filters}." if filters else "No memories here; `nacre remember TEXT` stores one."
        empty = "" if cli.reported_empty or memories else empty + tag_suggestion(store, scope.get("all_tags"))
        drawn = chosen_form(form) in ("table", "markdown")
        conflicting = conflicting_ids(store) if drawn and memories else set()
    columns = memory_columns(
        lambda memory: memory, memories, two_spaces=store.beside is not None, conflicting=conflicting
    )
    print_items(memories, columns, memory_record, form, empty)
    if drawn:
        say(*order_line(memories, sort), *marks_line(memories, conflicting))
    limit_given = click.get_current_context().get_parameter_source("limit") is ParameterSource.COMMANDLINE
    if memories.cursor and (sys.stdout.isatty() or cursor is not None or not limit_given):
        say(f"{len(memories):,} of {total:,}; next: --cursor {memories.cursor} (-n 0 lists them all).")


@command("stats", form_option())
def stats_command(cli: CliContext, form: Form) -> None:
    """Count what is in the store, and on a terminal draw it: types, tags, and how many memories came each week."""
    with cli.open_with_personal() as store:
        counted = store.stats()
        others = 0 if store.beside is None else store.beside.count()
    known = {**asdict(counted), "bytes_on_disk": counted.bytes_on_disk or None}  # only admins of a server see it
    facts = dict(known)
    if chosen_form(form) == "table":
        print_facts({name: value for name, value in facts.items() if not isinstance(value, dict)}, form)
        draw_stats(counted)
    else:
        facts["growth"] = {f"week of {first}": count for first, count in counted.growth.items()}
        print_facts(facts, form, known)
    if store.beside is not None and others:
        there, remedy = store.beside.space, f"`nacre --space {shlex.quote(store.beside.space)} stats` counts them"
        say(f"This is the space {store.space!r}; {there!r} has {count_of(others)}, and {remedy}.")


def draw_stats(stats: Stats) -> None:
    from nacre.cli.ui.charts import bars, sparkline

    for title, counts in (("types", stats.by_type), ("tags", stats.top_tags)):
        if counts:
            put("\n".join(["", title, *bars(counts)]))
    if stats.growth:
        first = next(iter(stats.growth))
        older = stats.active - sum(stats.growth.values())
        left_out = f" ({older:,} older {'one is' if older == 1 else 'ones are'} not drawn)" if older > 0 else ""
        line = f"new memories each week, from the week of {first}{left_out}"
        put(f"\n{wrapped(line, sys.stdout)}\n  {sparkline(list(stats.growth.values()))}")


NOT_FILTERS = ("form", "limit", "sort", "cursor")


def order_line(memories: Sequence[Memory], sort: str) -> tuple[str, ...]:
    """Why the dates do not follow each other, where they do not: they are the times of which memories tell."""
    dates = [effective_from(memory) for memory in memories]
    if sort not in BY_CREATION or dates == sorted(dates, reverse=sort == "created"):
        return ()
    return ("Sorted by when each was created; a date is since when it holds, or when it happened.",)
