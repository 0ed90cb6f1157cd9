"""nacre show"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memory_at
from nacre.cli.options import as_of_option, form_option, global_options, valid_at_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.conflicts import is_current
from nacre.cli.ui.output import DATA, one_line, print_data, printable, put, shortened
from nacre.cli.ui.records import TIMES, edge_record, entry_record, entry_summary, memory_record
from nacre.cli.ui.times import age
from nacre.engine.remember import CONFLICTS
from nacre.memory_store import MemoryStore
from nacre.model import Edge, JournalEntry, Memory
from nacre.model.instants import iso

LAST_ENTRIES = 5
MOST_TIES = 10  # of one direction; `nacre neighbors` lists them all
APART = ("id", "text", "links", "superseded_by")  # these have lines of their own
ALWAYS = ("type", "importance", "status")


@dataclass(frozen=True, slots=True)
class Shown:
    """`heirs` replaced the memory, the next one first; `near` are the memories that a tie joins it to."""

    memory: Memory
    successors: list[Memory]
    near: Mapping[str, Memory]
    inward: list[Edge]
    history: list[JournalEntry]

    def waiting(self) -> list[str]:
        """The ids of what it may not be true beside, until somebody decides."""
        noted = [link.to for link in self.memory.links if link.rel == CONFLICTS]
        noted += [edge.source for edge in self.inward if edge.rel == CONFLICTS]
        return [id for id in noted if id in self.near and is_current(self.near[id])] if is_current(self.memory) else []


@click.command("show")
@click.argument("id")
@as_of_option
@valid_at_option
@form_option("text", "json")
@global_options
@click.pass_obj
def command(cli: CliContext, id: str, as_of: float | None, valid_at: float | None, form: str | None) -> None:
    """Show one memory in full, with its ties and its history. The first characters of its ID suffice."""
    with cli.open() as store:
        shown = look_up(store, find_memory_at(store, id, as_of, valid_at), as_of)
    if form in DATA:
        print_data(record(shown), form)
    else:
        put("\n".join(lines(shown, cli.now())))


def look_up(store: MemoryStore, memory: Memory, as_of: float | None) -> Shown:
    around = store.subgraph([memory.id], depth=1, as_of=as_of)
    inward = [edge for edge in around.edges if edge.target == memory.id]
    heirs = list(heirs_of(store, memory, as_of))
    return Shown(memory, heirs, around.nodes, inward, store.journal(memory.id, until=as_of, limit=LAST_ENTRIES))


def heirs_of(store: MemoryStore, memory: Memory, as_of: float | None) -> Iterator[Memory]:
    step = store.get(memory.superseded_by, as_of=as_of) if memory.superseded_by else None
    while step is not None:
        yield step
        step = store.get(step.superseded_by, as_of=as_of) if step.superseded_by else None


def record(shown: Shown) -> dict[str, object]:
    return {
        **memory_record(shown.memory),
        "chain": [heir.id for heir in shown.successors],
        "links_in": [edge_record(edge) for edge in shown.inward],
        "waits_for_review": shown.waiting(),
        "journal": [entry_record(entry) for entry in shown.history],
    }


def lines(shown: Shown, now: float) -> Iterator[str]:
    memory = shown.memory
    yield label_line("id", memory.id)
    yield from (label_line(name, value) for name, value in fields(memory, now))
    for heir in shown.successors:
        yield label_line("superseded by", f"{short(heir.id)}  {excerpt(heir)}")
    yield from ties(shown)
    for id in shown.waiting():
        yield label_line("waits", f"for a decision on {short(id)}; `nacre review` asks for it")
    yield ""
    yield printable(memory.text)
    if shown.history:
        yield ""
    for entry in shown.history:
        yield click.style(f"{short(entry.operation.batch)}  {told(entry, now)}", dim=True)


def ties(shown: Shown) -> Iterator[str]:
    outward = [(f"{link.rel} →", link.to) for link in shown.memory.links]
    inward = [(f"{edge.rel} ←", edge.source) for edge in shown.inward]
    for several in (outward, inward):
        for tie, id in several[:MOST_TIES]:
            tied = shown.near.get(id)
            yield label_line(tie, f"{short(id)}  {excerpt(tied) if tied else '(not in this space)'}")
        if len(several) > MOST_TIES:
            yield label_line("", f"and {len(several) - MOST_TIES:,} more; `nacre neighbors` lists them all")


def fields(memory: Memory, now: float) -> Iterator[tuple[str, str]]:
    """What a reader always wants to know, and what else was set."""
    for name in dict.fromkeys((*ALWAYS, *memory.to_dict())):
        if name not in APART:
            yield name.replace("_", " "), written(name, getattr(memory, name), now)


def written(name: str, value: object, now: float) -> str:
    if name in TIMES and isinstance(value, float):
        return f"{iso(value)} ({age(value, now)})"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def label_line(name: str, value: str) -> str:
    return click.style(f"{one_line(name):<16}", fg="cyan") + one_line(value)


def told(entry: JournalEntry, now: float) -> str:
    return shortened(
        f"{age(entry.operation.at, now)}, {entry.operation.name} by {entry.operation.actor}: {entry_summary(entry)}",
        100,
    )
