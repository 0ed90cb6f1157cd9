"""Which parts of a memory a list shows, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from nacre.cli.output import Column
from nacre.cli.printable import one_line, shortened
from nacre.cli.records import dated
from nacre.cli.times import age
from nacre.model import Hit, JournalEntry, Memory
from nacre.model.instants import iso
from nacre.model.memory import Json

T = TypeVar("T")

SHORT = 8  # characters of an id that a person reads and types
LONGEST_SHOWN = 400  # of a text, in a table; `nacre show` has all of it
ROOMY = 100  # columns of a terminal that has place for the tags too


def short(id: str) -> str:
    return id[:SHORT]


def headline(memory: Memory) -> str:
    return shortened(f"{memory.title}: {memory.text}" if memory.title else memory.text, LONGEST_SHOWN)


def excerpt(memory: Memory) -> str:
    return shortened(headline(memory))


def memory_columns(of: Callable[[T], Memory], now: float, *, wraps: bool = False) -> list[Column[T]]:
    return [
        Column("id", lambda item: of(item).id, lambda item: short(of(item).id), style="cyan"),
        Column("type", lambda item: of(item).type, lambda item: of(item).type, style="magenta"),
        Column("imp", lambda item: f"{of(item).importance:g}", lambda item: f"{of(item).importance:.2f}", right=True),
        Column("created", lambda item: iso(of(item).created_at), lambda item: age(of(item).created_at, now)),
        Column("tags", lambda item: ",".join(of(item).tags), lambda item: " ".join(of(item).tags), least_width=ROOMY),
        Column("text", lambda item: of(item).text, lambda item: headline(of(item)), wide=True, wraps=wraps),
    ]


def hit_columns(now: float, *, explain: bool) -> list[Column[Hit]]:
    id, *others, text = memory_columns(memory_of_hit, now, wraps=True)
    score: Column[Hit] = Column("score", lambda hit: f"{hit.score:.4f}", lambda hit: f"{hit.score:.2f}", right=True)
    why: Column[Hit] = Column("why", lambda hit: "; ".join(map(str, hit.why)))
    if explain:
        text = replace(text, brief=explained)
    return [id, score, *others, text, *([why] if explain else [])]


def explained(hit: Hit) -> str:
    return "\n".join([headline(hit.memory), *(f"  {reason}" for reason in hit.why)])


def memory_of_hit(hit: Hit) -> Memory:
    return hit.memory


def journal_columns(now: float) -> list[Column[JournalEntry]]:
    return [
        Column("batch", lambda entry: entry.act.batch, lambda entry: short(entry.act.batch), style="cyan"),
        Column("when", lambda entry: iso(entry.act.at), lambda entry: age(entry.act.at, now)),
        Column("actor", lambda entry: entry.act.actor, lambda entry: entry.act.actor),
        Column("act", lambda entry: entry.act.name, lambda entry: entry.act.name, style="magenta"),
        Column("memory", lambda entry: entry.memory_id, lambda entry: short(entry.memory_id)),
        Column("what", what, lambda entry: one_line(what(entry)), wide=True),
    ]


def what(entry: JournalEntry) -> str:
    """The text of a memory that came or went; of one that changed, what became of it."""
    whole = entry.after if entry.before is None else entry.before if entry.after is None else None
    if whole is not None:
        return str(whole.get("text", ""))
    changed = [f"{name}: {written(value)}" for name, value in dated(entry.after or {}).items() if name != "updated_at"]
    return (f"({entry.act.why}) " if entry.act.why else "") + "; ".join(changed)


def written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
