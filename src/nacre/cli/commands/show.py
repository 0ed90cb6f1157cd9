"""nacre show"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from nacre.cli.columns import excerpt, short, what
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options, form_option
from nacre.cli.output import print_json, put
from nacre.cli.printable import one_line, printable, shortened
from nacre.cli.records import TIMES, entry_record, memory_record
from nacre.cli.times import age
from nacre.model import JournalEntry, Memory
from nacre.model.instants import iso
from nacre.store import MemoryStore

LAST_ENTRIES = 5
APART = ("id", "text", "links", "superseded_by")  # these have lines of their own
ALWAYS = ("type", "importance", "status")


@dataclass(frozen=True, slots=True)
class Shown:
    """`heirs` replaced the memory, the next one first; `ties` are the memories that its links name."""

    memory: Memory
    heirs: list[Memory]
    ties: dict[str, Memory]
    history: list[JournalEntry]


@click.command("show")
@click.argument("id")
@form_option("text", "json")
@door_options
@click.pass_obj
def command(door: Door, id: str, form: str | None) -> None:
    """Show one memory in full, with its ties and its history. The first characters of its ID suffice."""
    with door.open() as store:
        shown = look_up(store, named(store, [id])[0])
    if form == "json":
        print_json(record(shown))
    else:
        put("\n".join(lines(shown, door.now())))


def look_up(store: MemoryStore, memory: Memory) -> Shown:
    linked = (store.get(link.to) for link in memory.links)
    ties = {each.id: each for each in linked if each is not None}
    return Shown(memory, list(heirs_of(store, memory)), ties, store.journal(memory.id, limit=LAST_ENTRIES))


def heirs_of(store: MemoryStore, memory: Memory) -> Iterator[Memory]:
    step = store.get(memory.superseded_by) if memory.superseded_by else None
    while step is not None:
        yield step
        step = store.get(step.superseded_by) if step.superseded_by else None


def record(shown: Shown) -> dict[str, object]:
    return {
        **memory_record(shown.memory),
        "chain": [heir.id for heir in shown.heirs],
        "journal": [entry_record(entry) for entry in shown.history],
    }


def lines(shown: Shown, now: float) -> Iterator[str]:
    memory = shown.memory
    yield labelled("id", memory.id)
    yield from (labelled(name, value) for name, value in fields(memory, now))
    for heir in shown.heirs:
        yield labelled("superseded by", f"{short(heir.id)}  {excerpt(heir)}")
    for link in memory.links:
        tied = shown.ties.get(link.to)
        yield labelled(link.rel, f"{short(link.to)}  {excerpt(tied) if tied else '(not in this space)'}")
    yield ""
    yield printable(memory.text)
    if shown.history:
        yield ""
    for entry in shown.history:
        yield click.style(f"{short(entry.act.batch)}  {told(entry, now)}", dim=True)


def fields(memory: Memory, now: float) -> Iterator[tuple[str, str]]:
    """What a reader always wants to know, and what else was set."""
    for name in dict.fromkeys((*ALWAYS, *memory.to_dict())):
        if name not in APART:
            yield name.replace("_", " "), written(name, getattr(memory, name), now)


def written(name: str, value: object, now: float) -> str:
    if name in TIMES and isinstance(value, float):
        return f"{iso(value)} ({age(value, now)})"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def labelled(name: str, value: str) -> str:
    return click.style(f"{one_line(name):<16}", fg="cyan") + one_line(value)


def told(entry: JournalEntry, now: float) -> str:
    return shortened(f"{age(entry.act.at, now)}, {entry.act.name} by {entry.act.actor}: {what(entry)}", 100)
